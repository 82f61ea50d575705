package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
)

// Wait is a person's place on the waiting list for rooms that are taken.
type Wait struct {
	ID         int64      `json:"id"`
	User       Organizer  `json:"user" doc:"User on the waiting list"`
	JoinedBy   *Booker    `json:"joined_by" doc:"Delegate who joined the waiting list for the user; null if the user did"`
	State      string     `json:"state" enum:"waiting,offered,booked,expired,withdrawn,refused"`
	Position   *int       `json:"position" doc:"Position on the waiting list, counted from 1, among entries that want any of the same rooms and time; null unless the state is waiting"`
	Meeting    Wish       `json:"meeting" doc:"Meeting to book when the rooms become free"`
	Until      *time.Time `json:"until" nullable:"true" doc:"When the user leaves the waiting list; null for the start of the meeting"`
	ExpiresAt  time.Time  `json:"expires_at" doc:"until or the start of the meeting, whichever is earlier"`
	OfferUntil *time.Time `json:"offer_until" nullable:"true" doc:"Deadline for accepting the offer; null if there has been none"`
	MeetingID  *int64     `json:"meeting_id" doc:"ID of the meeting that was booked"`
	Reason     *string    `json:"reason" doc:"Why the entry ended without a booking: start, until, offer, rules or inactive"`
	Detail     *string    `json:"detail" doc:"Policies that prevented the booking"`
	Version    int64      `json:"version"`
	CreatedAt  time.Time  `json:"created_at"`
	UpdatedAt  time.Time  `json:"updated_at"`
}

// Wish is the meeting that a person waits for.
type Wish struct {
	RoomIDs          []int64     `json:"room_ids" nullable:"false"`
	Rooms            []RoomRef   `json:"rooms" nullable:"false"`
	Title            string      `json:"title"`
	Description      string      `json:"description"`
	Start            time.Time   `json:"start"`
	End              time.Time   `json:"end"`
	Timezone         string      `json:"timezone"`
	Attendees        []WishGuest `json:"attendees" nullable:"false"`
	Reminders        []Reminder  `json:"reminders" nullable:"false"`
	DefaultReminders bool        `json:"default_reminders" doc:"Whether the meeting will use the installation's default reminders at the time of booking"`
	Visibility       string      `json:"visibility" enum:"public,private"`
}

// WishGuest is a person to invite.
type WishGuest struct {
	UserID *int64 `json:"user_id" doc:"User ID; null if the attendee is not a user of this installation"`
	Email  string `json:"email"`
	Name   string `json:"name"`
}

func waitOf(w *meeting.Wait) Wait {
	d := w.Wished
	return Wait{
		ID: w.ID, User: Organizer{ID: w.Person.UserID, Name: w.Person.Name, Email: w.Person.Email}, JoinedBy: bookedBy(w.JoinedBy), State: string(w.State),
		Position: orNil(w.Position),
		Meeting: Wish{
			RoomIDs: append([]int64{}, d.RoomIDs...), Rooms: roomRefsOf(d.RoomIDs, d.RoomNames), Title: d.Title, Description: d.Description,
			Start: d.Slot.Start.UTC(), End: d.Slot.End.UTC(), Timezone: d.Timezone,
			Attendees: list(d.Attendees, func(p meeting.Person) WishGuest {
				return WishGuest{UserID: number(p.UserID), Email: p.Email, Name: p.Name}
			}),
			Reminders: list(d.Reminders, reminderOf), DefaultReminders: d.DefaultReminders, Visibility: string(d.Visibility),
		},
		Until: instant(w.Until), ExpiresAt: w.Expires.UTC(), OfferUntil: instant(w.OfferUntil), MeetingID: number(w.MeetingID),
		Reason: text(w.Reason), Detail: text(w.Detail), Version: w.Version, CreatedAt: w.CreatedAt.UTC(), UpdatedAt: w.UpdatedAt.UTC(),
	}
}

// orNil returns null for 0.
func orNil(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// WaitInput is a request to join the waiting list: a meeting, and how long to wait for it.
type WaitInput struct {
	RoomIDs     Field[[]int64]         `json:"room_ids,omitempty" maximum:"9007199254740991" doc:"1 to 50 room IDs; either all rooms are booked or none"`
	Title       Field[string]          `json:"title,omitempty" doc:"1 to 200 characters"`
	Description Field[string]          `json:"description,omitempty" doc:"At most 10,000 characters"`
	Start       Field[string]          `json:"start,omitempty" doc:"RFC 3339 time with an offset, or local time in timezone" example:"2027-02-10T09:00:00Z"`
	End         Field[string]          `json:"end,omitempty" doc:"RFC 3339 time with an offset, or local time in timezone" example:"2027-02-10T10:00:00Z"`
	Timezone    Field[string]          `json:"timezone,omitempty" doc:"IANA time zone name for local times; null for the first room's time zone" example:"Europe/Berlin"`
	Attendees   Field[[]AttendeeInput] `json:"attendees,omitempty" doc:"At most 500 attendees, who are invited once the meeting is booked"`
	Reminders   Field[[]ReminderInput] `json:"reminders,omitempty" doc:"At most 10 reminders; empty for none, null for the installation's defaults"`
	Visibility  Field[string]          `json:"visibility,omitempty" enum:"public,private"`
	Fields      Field[map[string]any]  `json:"fields,omitempty" doc:"Values of custom fields by name"`

	OrganizerID    Field[int64]  `json:"organizer_id,omitempty" doc:"User who joins the waiting list: you, or a user whose delegate you are. Defaults to you"`
	OrganizerEmail Field[string] `json:"organizer_email,omitempty" doc:"Email address of that user, instead of organizer_id"`

	Until Field[string] `json:"until,omitempty" doc:"When to leave the waiting list; defaults to the start of the meeting if omitted or null" example:"2027-02-09T18:00:00Z"`
}

// TransformSchema names what a new wait must have.
func (WaitInput) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = []string{"room_ids", "title", "start", "end"}
	return s
}

func (in WaitInput) patch() MeetingPatch {
	return MeetingPatch{
		RoomIDs: in.RoomIDs, Title: in.Title, Description: in.Description, Start: in.Start, End: in.End, Timezone: in.Timezone,
		Attendees: in.Attendees, Reminders: in.Reminders, Visibility: in.Visibility, Fields: in.Fields,
		OrganizerID: in.OrganizerID, OrganizerEmail: in.OrganizerEmail,
	}
}

func (h *handlers) registerWaitlist(api huma.API) {
	const tag = "Waiting list"
	register(api, operation("list-waitlist", http.MethodGet, "/waitlist", "List my waiting list entries or those of a user whose delegate I am; admins list those of all users", tag), h.listWaits)
	register(api, creates(operation("join-waitlist", http.MethodPost, "/waitlist", "Join the waiting list for rooms that are taken", tag)), h.join)
	register(api, operation("get-wait", http.MethodGet, "/waitlist/{id}", "Get a waiting list entry", tag), h.wait)
	register(api, deletes(operation("leave-waitlist", http.MethodDelete, "/waitlist/{id}", "Leave the waiting list", tag)), h.leave)
	register(api, operation("accept-offer", http.MethodPost, "/waitlist/{id}/accept", "Accept an offer and book the meeting", tag), h.accept)
	register(api, operation("decline-offer", http.MethodPost, "/waitlist/{id}/decline", "Decline an offer, which then goes to the next user on the waiting list", tag), h.decline)
}

// waits adds the waiting list response to an operation that books.
func (h *handlers) waits(op huma.Operation) huma.Operation {
	answer := func(t reflect.Type, description string) *huma.Response {
		schema := h.registry.Schema(t, true, "")
		return &huma.Response{Description: description, Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
	}
	op.Responses = map[string]*huma.Response{
		"201": answer(reflect.TypeFor[Meeting](), "Booked"),
		"202": answer(reflect.TypeFor[Wait](), "The room is taken and wait was set: the waiting list entry"),
	}
	return op
}

type listWaitsInput struct {
	Paging
	RoomID int64    `query:"room_id"`
	UserID int64    `query:"user_id" doc:"Entries of this user, for admins and delegates of the user; other users see their own"`
	State  []string `query:"state,explode" doc:"Entries in any of these states; repeat the parameter or separate values with commas"`
}

// Resolve implements [huma.Resolver].
func (in *listWaitsInput) Resolve(huma.Context) []error {
	_, err := in.query()
	return resolved(err)
}

func (in *listWaitsInput) query() (meeting.WaitQuery, error) {
	var d decoder
	q := meeting.WaitQuery{RoomID: in.RoomID, UserID: in.UserID}
	for _, s := range commas(in.State) {
		state := meeting.WaitState(s)
		if !state.Valid() {
			d.add("state", "unknown_value", "must be one of waiting, offered, booked, expired, withdrawn, refused")
			break
		}
		if !slices.Contains(q.States, state) { // the schema limits their number
			q.States = append(q.States, state)
		}
	}
	return q, d.err()
}

func (h *handlers) listWaits(ctx context.Context, in *listWaitsInput) (*listOutput[Wait], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	q, err := in.query()
	if err != nil {
		return nil, err
	}
	ws, next, err := h.waitlist.Waits(ctx, by, q, in.page())
	if err != nil {
		return nil, err
	}
	return listed(ws, next, waitOf), nil
}

func (h *handlers) join(ctx context.Context, in *struct{ Body Body[WaitInput] }) (*made[Wait], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	input, faults := in.Body.read(h.registry)
	w, err := h.waitlist.Join(ctx, by, input.patch().fields(faults), timeOf(input.Until.Value))
	if err != nil {
		return nil, err
	}
	return &made[Wait]{ETag: etag(w.Version), Location: h.locate("waitlist", w.ID), Body: waitOf(w)}, nil
}

// booked is the response to a booking: a meeting, or a waiting list entry.
type booked struct {
	Status   int
	ETag     string `header:"ETag" doc:"Version of the entry, for If-Match"`
	Location string `header:"Location"`
	Body     any
}

func (h *handlers) bookOrWait(ctx context.Context, by meeting.Actor, f booking.Fields, until *clock.Time) (*booked, error) {
	m, w, err := h.waitlist.BookOrWait(ctx, by, f, until)
	switch {
	case err != nil:
		return nil, err
	case w != nil:
		return &booked{http.StatusAccepted, etag(w.Version), h.locate("waitlist", w.ID), waitOf(w)}, nil
	default:
		return &booked{http.StatusCreated, etag(m.Version), h.locate("meetings", m.ID), meetingOf(m)}, nil
	}
}

func (h *handlers) wait(ctx context.Context, in *Target) (*one[Wait], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return waitAnswer(h.waitlist.WaitOf(ctx, by, in.ID))
}

func (h *handlers) leave(ctx context.Context, in *guardedInput) (*struct{}, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return nil, h.waitlist.Leave(ctx, by, in.ID, in.version())
}

func (h *handlers) accept(ctx context.Context, in *guardedInput) (*one[Wait], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return waitAnswer(h.waitlist.Accept(ctx, by, in.ID, in.version()))
}

func (h *handlers) decline(ctx context.Context, in *guardedInput) (*one[Wait], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return waitAnswer(h.waitlist.Decline(ctx, by, in.ID, in.version()))
}

func waitAnswer(w *meeting.Wait, err error) (*one[Wait], error) {
	if err != nil {
		return nil, err
	}
	return &one[Wait]{ETag: etag(w.Version), Body: waitOf(w)}, nil
}

// wants reports whether to join the waiting list if a room is taken.
func (p BookingInput) wants() bool { return p.Wait.Set && p.Wait.Value }

// fields returns the fields of the meeting and how long to wait for it.
func (p BookingInput) fields(faults []meeting.Fault) (booking.Fields, *clock.Time) {
	f := MeetingPatch(p.MeetingInput).fields(faults)
	if p.Until.Set && !p.wants() {
		f.Faults = append(f.Faults, meeting.Fault{Location: "until", Code: "not_allowed", Message: "must not be set unless wait is true"})
	}
	return f, timeOf(p.Until.Value)
}
