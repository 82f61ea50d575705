package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/meeting"
)

// DoorPairing is a code by which a device is paired with the door of a room.
type DoorPairing struct {
	Code      string    `json:"code" doc:"For POST /door/pair; good for one device" example:"482913507266"`
	ExpiresAt time.Time `json:"expires_at"`
}

// DoorPair is the request of a device that has no credentials yet.
type DoorPair struct {
	Code string        `json:"code" doc:"Of POST /rooms/{id}/door/pairing" example:"482913507266"`
	Name Field[string] `json:"name,omitempty" doc:"Of the device, for those who look at the list" example:"Tablet 7"`
}

// DoorToken is what a device at a door signs in with.
type DoorToken struct {
	ID    int64    `json:"id" doc:"Of the device"`
	Token string   `json:"token" doc:"For the header Authorization: Bearer; shown only once, valid until the device is removed"`
	Room  NamedRef `json:"room"`
}

// DoorDevice is paired with the door of a room.
type DoorDevice struct {
	ID         int64      `json:"id"`
	Name       string     `json:"name"`
	LastUsedAt *time.Time `json:"last_used_at" nullable:"true" doc:"To the minute; null: never"`
	CreatedAt  time.Time  `json:"created_at"`
}

// Door is a room as a device at its door shows it.
type Door struct {
	Room    DoorRoom      `json:"room"`
	Now     time.Time     `json:"now" doc:"By the server's clock"`
	State   string        `json:"state" enum:"free,expected,in_use,closed" doc:"expected: a meeting begins soon, people may check in"`
	Until   *time.Time    `json:"until" nullable:"true" doc:"When the state ends, as things are; null: not today, or if it is closed not within a week"`
	Current *DoorMeeting  `json:"current,omitempty" doc:"The meeting that takes place or is expected; left out: none"`
	Day     DoorDay       `json:"day" doc:"Today in the room's zone; later days are not included"`
	Today   []DoorMeeting `json:"today" nullable:"false" doc:"By start"`
	Closed  []DoorClosure `json:"closed" nullable:"false" doc:"When the room cannot be booked, today and the week after it, by start; they may overlap"`
	Book    []int         `json:"book_minutes" nullable:"false" doc:"For how long one may book now"`
	Choices []DoorChoice  `json:"book" nullable:"false" doc:"The same, with when it would end: on the grid of the room"`
	Code    DoorCode      `json:"door_code" doc:"To show as a QR code: whoever opens it checks in"`
	BookURL string        `json:"book_url" doc:"Where people book the room on a device of their own"`
}

// DoorDay is a day by the clock of a room.
type DoorDay struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

// DoorClosure is a time in which a room cannot be booked.
type DoorClosure struct {
	Start  time.Time  `json:"start"`
	End    *time.Time `json:"end" nullable:"true" doc:"null: not within a week"`
	Kind   string     `json:"kind" enum:"blackout,hours,inactive" doc:"hours: outside of its opening hours; inactive: it takes no meetings"`
	Reason string     `json:"reason" doc:"Of a blackout"`
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
	Capacity int      `json:"capacity" doc:"0: unknown"`
	Features []string `json:"features" nullable:"false"`
	Timezone string   `json:"timezone" doc:"In force"`
}

// DoorMeeting is the part of a meeting that anyone at the door may see.
type DoorMeeting struct {
	ID          int64        `json:"id"`
	Title       string       `json:"title" doc:"Busy, if the meeting is private"`
	Private     bool         `json:"private"`
	Organizer   string       `json:"organizer" doc:"Their name; empty, if the meeting is private"`
	Start       time.Time    `json:"start"`
	End         time.Time    `json:"end"`
	EndedAt     *time.Time   `json:"ended_at" nullable:"true" doc:"null: it goes on, or is to come"`
	Status      string       `json:"status"`
	CheckedInAt *time.Time   `json:"checked_in_at" nullable:"true"`
	CheckInFrom time.Time    `json:"check_in_from" doc:"From when one may check in"`
	CheckInBy   *time.Time   `json:"check_in_by" nullable:"true" doc:"Until when somebody must check in; null: nobody has to"`
	May         []string     `json:"may" nullable:"false" doc:"What may be done to it here and now: check_in, end, extend"`
	Extend      []DoorChoice `json:"extend" nullable:"false" doc:"By how much it may be extended now, as far as rules and bookings allow"`
}

// DoorBooking is a booking from now on.
type DoorBooking struct {
	Minutes int           `json:"minutes" enum:"15,30,60"`
	Title   Field[string] `json:"title,omitempty" doc:"Booked at the door, if it is left out"`
}

// DoorExtension moves the end of a meeting.
type DoorExtension struct {
	Minutes int `json:"minutes" enum:"15,30,60"`
}

func (h *doorHandlers) registerDevices(api huma.API) {
	const tag = "Doors"
	register(api, creates(operation("create-door-code", http.MethodPost, "/rooms/{id}/door/pairing",
		"A code that pairs a device with the room's door, in place of an earlier one", tag)), h.pairing)
	register(api, operation("list-door-devices", http.MethodGet, "/rooms/{id}/door/devices", "The devices at the room's door", tag), h.devices)
	register(api, deletes(operation("delete-door-device", http.MethodDelete, "/rooms/{id}/door/devices/{device_id}",
		"Remove a device from the room's door; its token ends at once", tag)), h.removeDevice)

	pair := operation("pair-door", http.MethodPost, "/door/pair", "Become the device at a room's door, by a code", tag)
	pair.Security = []map[string][]string{{}}
	pair.Errors = []int{http.StatusUnprocessableEntity, http.StatusTooManyRequests}
	pair.Middlewares = huma.Middlewares{func(ctx huma.Context, next func(huma.Context)) {
		next(huma.WithValue(ctx, doorClient{}, h.clientIP(ctx)))
	}}
	register(api, pair, h.pair)

	register(api, operation("get-door", http.MethodGet, "/door", "What the device at a door shows", tag), h.door)
	register(api, creates(operation("door-book", http.MethodPost, "/door/book", "Book the room from now on, and check in", tag)), h.book)
	at := func(id, path, summary string) huma.Operation {
		return operation(id, http.MethodPost, "/door/meetings/{id}/"+path, summary, tag)
	}
	register(api, at("door-check-in", "check-in", "Say that the people of a meeting in the room came"), h.checkIn)
	register(api, at("door-end", "end", "End a meeting that takes place in the room"), h.end)
	register(api, at("door-extend", "extend", "Move the end of a meeting that takes place in the room"), h.extend)
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

// pairable is the room, if the caller may have devices at its door.
func (h *doorHandlers) pairable(ctx context.Context, roomID int64) (*meeting.Room, error) {
	by, err := asking(ctx)
	if err != nil {
		return nil, err
	}
	return h.svc.MayPairDoor(ctx, by, roomID)
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

// standing is the device that asks, and its room.
func (h *doorHandlers) standing(ctx context.Context) (by meeting.Actor, roomID int64, err error) {
	p, ok := account.FromContext(ctx)
	if !ok || !p.AtDoor() {
		return by, 0, account.ErrForbidden
	}
	by, err = asking(ctx)
	return by, p.Door(), err
}

type doorOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         Door
}

func (h *doorHandlers) door(ctx context.Context, _ *struct{}) (*doorOutput, error) {
	by, roomID, err := h.standing(ctx)
	if err != nil {
		return nil, err
	}
	d, err := h.svc.Door(ctx, by, roomID)
	if err != nil {
		return nil, err
	}
	return &doorOutput{"no-store", h.view(d)}, nil
}

func (h *doorHandlers) view(d *meeting.Door) Door {
	r := d.Room
	v := Door{
		Room: DoorRoom{ID: r.ID, Name: r.Name, Floor: r.Floor, Capacity: r.Capacity, Features: append([]string{}, r.Features...), Timezone: r.Zone},
		Now:  d.At.UTC(), State: string(d.State), Until: instant(d.Until), Day: DoorDay{d.Day.Start.UTC(), d.Day.End.UTC()},
		Today: list(d.Today, doorMeetingOf), Closed: list(d.Closed, doorClosureOf), Code: h.codeOf(r), BookURL: h.links.BookURL(r.ID),
		Choices: list(d.Book, doorChoiceOf), Book: list(d.Book, func(c meeting.DoorChoice) int { return int(c.Length / time.Minute) }),
	}
	for i := range v.Today {
		if d.Current != nil && v.Today[i].ID == d.Current.ID {
			v.Current = &v.Today[i]
		}
	}
	return v
}

func doorMeetingOf(m meeting.DoorMeeting) DoorMeeting {
	return DoorMeeting{
		ID: m.ID, Title: m.Title, Organizer: m.Organizer.Name, Start: m.Slot.Start.UTC(), End: m.Slot.End.UTC(), Status: string(m.Status),
		Private: m.Visibility == meeting.Private, EndedAt: instant(m.EndedAt),
		CheckedInAt: instant(m.CheckedInAt), CheckInFrom: m.CheckInOpens().UTC(), CheckInBy: instant(m.CheckIn.Until),
		May: append([]string{}, m.May...), Extend: list(m.Extend, doorChoiceOf),
	}
}

func doorChoiceOf(c meeting.DoorChoice) DoorChoice {
	return DoorChoice{Minutes: int(c.Length / time.Minute), End: c.End.UTC()}
}

func doorClosureOf(c meeting.Closure) DoorClosure {
	return DoorClosure{Start: c.Slot.Start.UTC(), End: instant(c.Slot.End), Kind: string(c.Kind), Reason: c.Reason}
}

func (h *doorHandlers) book(ctx context.Context, in *struct{ Body Body[DoorBooking] }) (*doorOutput, error) {
	by, roomID, err := h.standing(ctx)
	if err != nil {
		return nil, err
	}
	body, faults := in.Body.read(h.registry)
	if len(faults) > 0 {
		return nil, &meeting.InvalidError{Faults: faults}
	}
	if _, err := h.svc.BookAtDoor(ctx, by, roomID, time.Duration(body.Minutes)*time.Minute, body.Title.Value); err != nil {
		return nil, err
	}
	return h.door(ctx, nil)
}

func (h *doorHandlers) checkIn(ctx context.Context, in *Target) (*doorOutput, error) {
	return h.act(ctx, func(roomID int64) error { return h.svc.CheckInAtDoor(ctx, roomID, in.ID) })
}

func (h *doorHandlers) end(ctx context.Context, in *Target) (*doorOutput, error) {
	return h.act(ctx, func(roomID int64) error { return h.svc.EndAtDoor(ctx, roomID, in.ID) })
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
		return h.svc.ExtendAtDoor(ctx, roomID, in.ID, time.Duration(body.Minutes)*time.Minute)
	})
}

// act does something at the door and returns what the device must show afterward.
func (h *doorHandlers) act(ctx context.Context, do func(roomID int64) error) (*doorOutput, error) {
	_, roomID, err := h.standing(ctx)
	if err != nil {
		return nil, err
	}
	if err := do(roomID); err != nil {
		return nil, err
	}
	return h.door(ctx, nil)
}
