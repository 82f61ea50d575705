package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/meeting"
	"punctual/meeting/door"
)

// DoorPairing is a code that pairs a device with the door of a room.
type DoorPairing struct {
	Code      string    `json:"code" doc:"Code for POST /door/pair, valid for one device" example:"482913507266"`
	ExpiresAt time.Time `json:"expires_at"`
}

// DoorPair is the request of a device that has no credentials yet.
type DoorPair struct {
	Code string        `json:"code" doc:"Code returned by POST /rooms/{id}/door/pairing" example:"482913507266"`
	Name Field[string] `json:"name,omitempty" doc:"Name of the device, shown in the list of devices" example:"Tablet 7"`
}

// DoorToken is the credential of a device at a door.
type DoorToken struct {
	ID    int64    `json:"id" doc:"ID of the device"`
	Token string   `json:"token" doc:"Bearer token for the Authorization header; returned only once, valid until the device is removed"`
	Room  NamedRef `json:"room"`
}

// DoorDevice is paired with the door of a room.
type DoorDevice struct {
	ID         int64      `json:"id"`
	Name       string     `json:"name"`
	LastUsedAt *time.Time `json:"last_used_at" nullable:"true" doc:"When the device was last used, to the minute; null if never"`
	CreatedAt  time.Time  `json:"created_at"`
}

// Door is the state of a room for a device at its door.
type Door struct {
	Room    DoorRoom      `json:"room"`
	Now     time.Time     `json:"now" doc:"Current time of the server"`
	State   string        `json:"state" enum:"free,expected,in_use,closed" doc:"State of the room; expected if a meeting starts soon and check-in is open"`
	Until   *time.Time    `json:"until" nullable:"true" doc:"When the state is expected to change; null if not today, or if the room is closed for at least a week"`
	Current *DoorMeeting  `json:"current,omitempty" doc:"Current or expected meeting; omitted if there is none"`
	Day     DoorDay       `json:"day" doc:"Today in the room's time zone"`
	Today   []DoorMeeting `json:"today" nullable:"false" doc:"Meetings of today, sorted by start"`
	Closed  []DoorClosure `json:"closed" nullable:"false" doc:"Times within the next week at which the room cannot be booked, sorted by start; they may overlap"`
	Book    []int         `json:"book_minutes" nullable:"false" doc:"Durations in minutes for which the room can be booked now"`
	Choices []DoorChoice  `json:"book" nullable:"false" doc:"The same durations, each with the end of the meeting, aligned to the room's booking interval"`
	Code    DoorCode      `json:"door_code" doc:"Code to show as a QR code; opening it checks in to the meeting"`
	BookURL string        `json:"book_url" doc:"Page for booking the room on another device"`
}

// DoorDay is a day by the clock of a room.
type DoorDay struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

// DoorClosure is a time in which a room cannot be booked.
type DoorClosure struct {
	Start  time.Time  `json:"start"`
	End    *time.Time `json:"end" nullable:"true" doc:"End of the closure; null if it lasts at least a week"`
	Kind   string     `json:"kind" enum:"blackout,hours,inactive" doc:"Why the room is closed. hours: outside the opening hours. inactive: it takes no meetings"`
	Reason string     `json:"reason" doc:"Reason of the blackout"`
}

// DoorChoice is a duration to book for, or to extend by.
type DoorChoice struct {
	Minutes int       `json:"minutes" enum:"15,30,60"`
	End     time.Time `json:"end" doc:"When the meeting would end"`
}

// DoorRoom is the part of a room that its device shows.
type DoorRoom struct {
	ID       int64    `json:"id"`
	Name     string   `json:"name"`
	Floor    string   `json:"floor"`
	Capacity int      `json:"capacity" doc:"Number of seats; 0 if unknown"`
	Features []string `json:"features" nullable:"false"`
	Timezone string   `json:"timezone" doc:"Effective time zone"`
	Photo    *string  `json:"photo" doc:"Version of the photo, for v of /door/photo; null without one"`
}

// DoorMeeting is the part of a meeting that anyone at the door may see.
type DoorMeeting struct {
	ID          int64        `json:"id"`
	Title       string       `json:"title" doc:"Title; Busy if the meeting is private"`
	Private     bool         `json:"private"`
	Organizer   string       `json:"organizer" doc:"Name of the organizer; empty if the meeting is private"`
	Start       time.Time    `json:"start"`
	End         time.Time    `json:"end"`
	EndedAt     *time.Time   `json:"ended_at" nullable:"true" doc:"When the meeting ended; null if it has not"`
	Status      string       `json:"status"`
	CheckedInAt *time.Time   `json:"checked_in_at" nullable:"true"`
	CheckInFrom time.Time    `json:"check_in_from" doc:"When check-in opens"`
	CheckInBy   *time.Time   `json:"check_in_by" nullable:"true" doc:"Deadline for checking in; null if no check-in is required"`
	May         []string     `json:"may" nullable:"false" doc:"What the device can do with the meeting now: check_in, end or extend"`
	Extend      []DoorChoice `json:"extend" nullable:"false" doc:"Possible extensions, within the room's policies and other bookings"`
}

// DoorBooking is a booking from now on.
type DoorBooking struct {
	Minutes int           `json:"minutes" enum:"15,30,60"`
	Title   Field[string] `json:"title,omitempty" doc:"Title; defaults to Booked at the door"`
}

// DoorExtension moves the end of a meeting.
type DoorExtension struct {
	Minutes int `json:"minutes" enum:"15,30,60"`
}

func (h *doorHandlers) registerDevices(api huma.API) {
	const tag = "Doors"
	register(api, creates(operation("create-door-code", http.MethodPost, "/rooms/{id}/door/pairing",
		"Create a code that pairs a device with the room; replaces an earlier code", tag)), h.pairing)
	register(api, operation("list-door-devices", http.MethodGet, "/rooms/{id}/door/devices", "List the door devices of a room", tag), h.devices)
	register(api, deletes(operation("delete-door-device", http.MethodDelete, "/rooms/{id}/door/devices/{device_id}",
		"Remove a door device and revoke its token", tag)), h.removeDevice)

	pair := operation("pair-door", http.MethodPost, "/door/pair", "Pair a door device with a room by its code", tag)
	pair.Security = []map[string][]string{{}}
	pair.Errors = []int{http.StatusUnprocessableEntity, http.StatusTooManyRequests}
	pair.Middlewares = huma.Middlewares{func(ctx huma.Context, next func(huma.Context)) {
		next(huma.WithValue(ctx, doorClient{}, h.clientIP(ctx)))
	}}
	register(api, pair, h.pair)

	register(api, operation("get-door", http.MethodGet, "/door", "Get what a door device shows", tag), h.showDoor)
	register(api, creates(operation("door-book", http.MethodPost, "/door/book", "Book the room from now and check in", tag)), h.book)
	photo := operation("get-door-photo", http.MethodGet, "/door/photo", "Get the photo of the room", tag)
	photo.Responses = pictureResponses()
	photo.Errors = append(photo.Errors, http.StatusNotFound)
	register(api, photo, h.photo)
	broken := deletes(operation("door-report-fault", http.MethodPost, "/door/faults", "Report a fault of the room", tag))
	broken.Errors = append(broken.Errors, http.StatusTooManyRequests)
	register(api, broken, h.reportFault)
	at := func(id, path, summary string) huma.Operation {
		return operation(id, http.MethodPost, "/door/meetings/{id}/"+path, summary, tag)
	}
	register(api, at("door-check-in", "check-in", "Check in to a meeting in the room"), h.checkIn)
	register(api, at("door-end", "end", "End the current meeting in the room"), h.end)
	register(api, at("door-extend", "extend", "Extend the current meeting in the room"), h.extend)
}

type doorClient struct{}

func (h *doorHandlers) pairing(ctx context.Context, in *Target) (*struct {
	CacheControl string `header:"Cache-Control"`
	Body         DoorPairing
}, error) {
	room, err := h.pairable(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	c, err := h.accounts.NewDoorCode(ctx, room.ID, room.Name)
	if err != nil {
		return nil, err
	}
	return &struct {
		CacheControl string `header:"Cache-Control"`
		Body         DoorPairing
	}{"no-store", DoorPairing{c.Code, c.ExpiresAt}}, nil
}

// pairable returns the room if the caller may pair devices with its door.
func (h *doorHandlers) pairable(ctx context.Context, roomID int64) (*meeting.Room, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return h.door.MayPair(ctx, by, roomID)
}

type devicesInput struct {
	Target
	Paging
}

func (h *doorHandlers) devices(ctx context.Context, in *devicesInput) (*listOutput[DoorDevice], error) {
	if _, err := h.pairable(ctx, in.ID); err != nil {
		return nil, err
	}
	tokens, next, err := h.accounts.DoorDevices(ctx, in.ID, account.Page{Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return nil, err
	}
	return listed(tokens, next, func(t *account.Token) DoorDevice {
		return DoorDevice{ID: t.ID, Name: t.Name, LastUsedAt: instant(t.LastUsedAt), CreatedAt: t.CreatedAt}
	}), nil
}

type deviceInput struct {
	Target
	DeviceID int64 `path:"device_id"`
}

func (h *doorHandlers) removeDevice(ctx context.Context, in *deviceInput) (*struct{}, error) {
	if _, err := h.pairable(ctx, in.ID); err != nil {
		return nil, err
	}
	return nil, h.accounts.DeleteDoorDevice(ctx, in.ID, in.DeviceID)
}

type doorTokenOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         DoorToken
}

func (h *doorHandlers) pair(ctx context.Context, in *struct{ Body Body[DoorPair] }) (*doorTokenOutput, error) {
	body, faults := in.Body.read(h.registry)
	if len(faults) > 0 {
		return nil, &meeting.InvalidError{Faults: faults}
	}
	client, _ := ctx.Value(doorClient{}).(string)
	roomID, t, secret, err := h.accounts.PairDoor(ctx, body.Code, body.Name.Value, client)
	if err != nil {
		return nil, err
	}
	room, err := h.svc.Room(ctx, roomID)
	if err != nil {
		return nil, err
	}
	return &doorTokenOutput{"no-store", DoorToken{ID: t.ID, Token: secret, Room: NamedRef{room.ID, room.Name}}}, nil
}

// device returns the device at a door that sent the request, and its room.
func (h *doorHandlers) device(ctx context.Context) (by meeting.Actor, roomID int64, err error) {
	p, ok := account.FromContext(ctx)
	if !ok || !p.AtDoor() {
		return by, 0, account.ErrForbidden
	}
	by, err = actorOf(ctx)
	by.AtRoom = p.Door()
	return by, p.Door(), err
}

type doorOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         Door
}

func (h *doorHandlers) showDoor(ctx context.Context, _ *struct{}) (*doorOutput, error) {
	by, roomID, err := h.device(ctx)
	if err != nil {
		return nil, err
	}
	d, err := h.door.Door(ctx, by, roomID)
	if err != nil {
		return nil, err
	}
	return &doorOutput{"no-store", h.view(d)}, nil
}

func (h *doorHandlers) view(d *door.Door) Door {
	r := d.Room
	v := Door{
		Room: DoorRoom{ID: r.ID, Name: r.Name, Floor: r.Floor, Capacity: r.Capacity, Features: append([]string{}, r.Features...), Timezone: r.Zone, Photo: text(r.Photo)},
		Now:  d.At.UTC(), State: string(d.State), Until: instant(d.Until), Day: DoorDay{d.Day.Start.UTC(), d.Day.End.UTC()},
		Today: list(d.Today, doorMeetingOf), Closed: list(d.Closed, doorClosureOf), Code: h.codeOf(r), BookURL: h.links.BookURL(r.ID),
		Choices: list(d.Book, doorChoiceOf), Book: list(d.Book, func(c door.Choice) int { return int(c.Length / time.Minute) }),
	}
	for i := range v.Today {
		if d.Current != nil && v.Today[i].ID == d.Current.ID {
			v.Current = &v.Today[i]
		}
	}
	return v
}

func doorMeetingOf(m door.Meeting) DoorMeeting {
	return DoorMeeting{
		ID: m.ID, Title: m.Title, Organizer: m.Organizer.Name, Start: m.Slot.Start.UTC(), End: m.Slot.End.UTC(), Status: string(m.Status),
		Private: m.Visibility == meeting.Private, EndedAt: instant(m.EndedAt),
		CheckedInAt: instant(m.CheckedInAt), CheckInFrom: m.CheckInOpens().UTC(), CheckInBy: instant(m.CheckIn.Until),
		May: append([]string{}, m.May...), Extend: list(m.Extend, doorChoiceOf),
	}
}

func doorChoiceOf(c door.Choice) DoorChoice {
	return DoorChoice{Minutes: int(c.Length / time.Minute), End: c.End.UTC()}
}

func doorClosureOf(c door.Closure) DoorClosure {
	return DoorClosure{Start: c.Slot.Start.UTC(), End: instant(c.Slot.End), Kind: string(c.Kind), Reason: c.Reason}
}

func (h *doorHandlers) book(ctx context.Context, in *struct{ Body Body[DoorBooking] }) (*doorOutput, error) {
	by, roomID, err := h.device(ctx)
	if err != nil {
		return nil, err
	}
	body, faults := in.Body.read(h.registry)
	if len(faults) > 0 {
		return nil, &meeting.InvalidError{Faults: faults}
	}
	if _, err := h.door.Book(ctx, by, roomID, time.Duration(body.Minutes)*time.Minute, body.Title.Value); err != nil {
		return nil, err
	}
	return h.showDoor(ctx, nil)
}

func (h *doorHandlers) checkIn(ctx context.Context, in *Target) (*doorOutput, error) {
	return h.act(ctx, func(roomID int64) error { return h.door.CheckIn(ctx, roomID, in.ID) })
}

func (h *doorHandlers) end(ctx context.Context, in *Target) (*doorOutput, error) {
	return h.act(ctx, func(roomID int64) error { return h.door.End(ctx, roomID, in.ID) })
}

type doorExtendInput struct {
	Target
	Body Body[DoorExtension]
}

func (h *doorHandlers) extend(ctx context.Context, in *doorExtendInput) (*doorOutput, error) {
	body, faults := in.Body.read(h.registry)
	if len(faults) > 0 {
		return nil, &meeting.InvalidError{Faults: faults}
	}
	return h.act(ctx, func(roomID int64) error {
		return h.door.Extend(ctx, roomID, in.ID, time.Duration(body.Minutes)*time.Minute)
	})
}

// act runs an action at the door and returns the new state.
func (h *doorHandlers) act(ctx context.Context, do func(roomID int64) error) (*doorOutput, error) {
	_, roomID, err := h.device(ctx)
	if err != nil {
		return nil, err
	}
	if err := do(roomID); err != nil {
		return nil, err
	}
	return h.showDoor(ctx, nil)
}

type doorPhotoInput struct {
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of the previous response; the response is 304 if nothing has changed"`
	Version     string `query:"v" maxLength:"64" doc:"Version of the photo, as the room has it"`
}

func (h *doorHandlers) photo(ctx context.Context, in *doorPhotoInput) (*photoOutput, error) {
	by, roomID, err := h.device(ctx)
	if err != nil {
		return nil, err
	}
	picture, version, err := h.places.RoomPhoto(ctx, by, roomID, false)
	if err != nil {
		return nil, err
	}
	return pictured(picture, "image/jpeg", version, version, in.Version, in.IfNoneMatch), nil
}
