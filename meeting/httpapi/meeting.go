package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
)

// Meeting holds one or more rooms for a time.
type Meeting struct {
	ID               int64          `json:"id"`
	RoomIDs          []int64        `json:"room_ids" nullable:"false"`
	Rooms            []RoomRef      `json:"rooms" nullable:"false"`
	Title            string         `json:"title" doc:"Title; Busy if the meeting is private and you may not see it"`
	Description      string         `json:"description"`
	Start            time.Time      `json:"start"`
	End              time.Time      `json:"end"`
	Timezone         string         `json:"timezone" doc:"Time zone in which the times were entered, or that of the first room"`
	Organizer        Organizer      `json:"organizer" doc:"Organizer; empty if the meeting is private and you may not see it"`
	BookedBy         *Booker        `json:"booked_by" doc:"User who booked the meeting for the organizer, such as a delegate; null if the organizer did"`
	Attendees        []Attendee     `json:"attendees" nullable:"false"`
	Reminders        []Reminder     `json:"reminders" nullable:"false"`
	DefaultReminders bool           `json:"default_reminders" doc:"Whether the reminders follow the installation's defaults"`
	Visibility       string         `json:"visibility" enum:"public,private"`
	TypeID           *int64         `json:"type_id" doc:"Meeting type; null for an ordinary meeting"`
	Fields           map[string]any `json:"fields" nullable:"false" doc:"Values of custom fields by name: texts, numbers and booleans. Values for the organizer are left out unless you may change the meeting"`
	Status           string         `json:"status" enum:"pending,confirmed,in_progress,ended,rejected,cancelled,released" doc:"Current status"`
	Approval         Approval       `json:"approval"`
	PendingChange    *PendingChange `json:"pending_change" doc:"Requested new time or rooms, waiting for approval; until then the meeting keeps its own. null if no change is pending"`
	CheckIn          MeetingCheckIn `json:"check_in"`
	SeriesID         *int64         `json:"series_id"`
	OriginalStart    *time.Time     `json:"original_start" nullable:"true"`
	Origin           *MeetingOrigin `json:"origin,omitempty" doc:"Event of another calendar that the meeting comes from; only in responses to GET /meetings/{id}"`
	CheckedInAt      *time.Time     `json:"checked_in_at" nullable:"true"`
	StartedAt        *time.Time     `json:"started_at" nullable:"true" doc:"When the meeting was marked as started"`
	EndedAt          *time.Time     `json:"ended_at" nullable:"true" doc:"When the meeting was marked as ended"`
	ScheduleVersion  int64          `json:"schedule_version" doc:"Number that increases with every change of time or room"`
	Version          int64          `json:"version"`
	CreatedAt        time.Time      `json:"created_at"`
	UpdatedAt        time.Time      `json:"updated_at"`
	ChangeUntil      *time.Time     `json:"change_until,omitempty" doc:"Until when you can move or cancel the meeting; only in responses to GET /meetings/{id}, and omitted if no rule limits you"`
	UndoUntil        *time.Time     `json:"undo_until,omitempty" doc:"Until when you can undo the change that this answers with POST /meetings/{id}/undo; omitted if you cannot"`
}

// MeetingOrigin is the event of another calendar that a meeting comes from.
type MeetingOrigin struct {
	Kind      string `json:"kind" enum:"import,mail,caldav" doc:"mail and caldav: only the organizer's calendar changes time, title and attendees"`
	UID       string `json:"uid"`
	Organizer string `json:"organizer" doc:"Email address of the organizer in that calendar; empty if it has none"`
}

func originOf(o *meeting.Origin) *MeetingOrigin {
	if o == nil {
		return nil
	}
	return &MeetingOrigin{Kind: string(o.Kind), UID: o.UID, Organizer: o.Organizer}
}

// RoomRef names a room of a meeting.
type RoomRef struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// Organizer is who booked.
type Organizer struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
}

// Booker is who booked for the organizer.
type Booker struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// Attendee is a person invited to a meeting.
type Attendee struct {
	UserID   *int64  `json:"user_id" doc:"User ID; null if the attendee is not a user of this installation"`
	Email    string  `json:"email" doc:"Email address; empty for a guest invited by phone number only"`
	Name     string  `json:"name"`
	Phone    string  `json:"phone" doc:"Phone number; empty unless it is yours, you are an admin, or you organize the meeting and it is a guest's"`
	Locale   string  `json:"locale"`
	Timezone string  `json:"timezone"`
	Response string  `json:"response" enum:"needs_action,accepted,declined,tentative" doc:"Response; resets to needs_action when the meeting moves"`
	Comment  *string `json:"comment" doc:"Comment on the response; null unless it is yours or you may change the meeting"`
}

// Reminder notifies the people of a meeting some time before its start or end.
type Reminder struct {
	Before   string   `json:"before" enum:"start,end"`
	Offset   string   `json:"offset" doc:"Duration in whole seconds, at most 366 days" example:"15m"`
	Channels []string `json:"channels" enum:"email,sms" nullable:"false"`
}

// Approval says whether approval is required, and the decisions so far.
type Approval struct {
	Required  bool       `json:"required"`
	Deadline  *time.Time `json:"deadline" nullable:"true" doc:"When the time-out ends or the meeting starts, whichever is earlier"`
	DecidedAt *time.Time `json:"decided_at" nullable:"true"`
	DecidedBy *int64     `json:"decided_by" doc:"ID of the user who decided; null if nobody has, or if the time-out decided"`
	Comment   *string    `json:"comment"`
	Reason    *string    `json:"reason" doc:"timeout if nobody decided in time"`

	DecidedFor []Approver `json:"decided_for" nullable:"false" doc:"Absent approvers for whom decided_by decided; empty if there were none"`

	Level       *int        `json:"level" doc:"Current approval level: 1 or 2; null if there is none"`
	Approvers   []Approver  `json:"approvers" nullable:"true" doc:"Users who are asked now, by name; empty if nobody is asked, null if this response does not include them"`
	Agreed      []Agreement `json:"agreed" nullable:"false" doc:"Approvals so far, with their level"`
	EscalatedAt *time.Time  `json:"escalated_at" nullable:"true" doc:"When further approvers were asked because nobody had decided"`
	OnTimeout   *string     `json:"on_timeout" enum:"reject,approve" doc:"What happens to the request at its deadline; null if nobody is asked"`
}

// Approver is a user who is asked to decide: an approver of a room, a deputy, or an admin.
type Approver struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// Agreement is the approval of one user at one level.
type Agreement struct {
	Level   int        `json:"level"`
	UserID  *int64     `json:"user_id"`
	Name    string     `json:"name"`
	At      time.Time  `json:"at"`
	Comment *string    `json:"comment"`
	RoomIDs []int64    `json:"room_ids" nullable:"false" doc:"Rooms that were approved; empty for all rooms that need approval"`
	For     []Approver `json:"for" nullable:"false" doc:"Absent approvers for whom the user decided; empty if there were none"`
}

// PendingChange is the requested move of a confirmed meeting, with the progress of its approval.
type PendingChange struct {
	Start       time.Time   `json:"start"`
	End         time.Time   `json:"end"`
	Timezone    string      `json:"timezone"`
	RoomIDs     []int64     `json:"room_ids" nullable:"false"`
	Rooms       []RoomRef   `json:"rooms" nullable:"false"`
	RequestedAt time.Time   `json:"asked_at"`
	Deadline    time.Time   `json:"deadline" doc:"When the time-out ends or the meeting starts at its old or new time, whichever is earliest"`
	OnTimeout   string      `json:"on_timeout" enum:"reject,approve"`
	Level       int         `json:"level" doc:"Current approval level: 1 or 2"`
	Approvers   []Approver  `json:"approvers" nullable:"true" doc:"Users who are asked now, by name; null if this response does not include them"`
	Agreed      []Agreement `json:"agreed" nullable:"false" doc:"Approvals so far, with their level"`
	EscalatedAt *time.Time  `json:"escalated_at" nullable:"true"`
}

func meetingOf(m *meeting.Meeting) Meeting {
	return Meeting{
		ID: m.ID, RoomIDs: append([]int64{}, m.RoomIDs...), Rooms: roomRefs(m),
		Title: m.Title, Description: m.Description,
		Start: m.Slot.Start.UTC(), End: m.Slot.End.UTC(), Timezone: m.Timezone,
		Organizer:        Organizer{ID: m.Organizer.UserID, Name: m.Organizer.Name, Email: m.Organizer.Email},
		BookedBy:         bookedBy(m.BookedBy),
		Attendees:        list(m.Attendees, attendeeOf),
		Reminders:        list(m.Reminders, reminderOf),
		DefaultReminders: m.DefaultReminders,
		Visibility:       string(m.Visibility),
		TypeID:           number(m.TypeID),
		Fields:           fieldsOf(m.Custom),
		Status:           string(m.Status),
		Origin:           originOf(m.Origin),
		Approval:         approvalOf(m),
		PendingChange:    pendingChangeOf(m),
		SeriesID:         number(m.SeriesID),
		OriginalStart:    instant(m.OriginalStart),
		CheckIn:          checkInOf(m),
		CheckedInAt:      instant(m.CheckedInAt),
		StartedAt:        instant(m.StartedAt),
		EndedAt:          instant(m.EndedAt),
		ScheduleVersion:  m.ScheduleVersion,
		Version:          m.Version,
		CreatedAt:        m.CreatedAt.UTC(),
		UpdatedAt:        m.UpdatedAt.UTC(),
		ChangeUntil:      instant(m.ChangeUntil),
		UndoUntil:        undoUntil(m.Undoable),
	}
}

// bookedBy is null for meetings that their organizers booked.
func bookedBy(p meeting.Person) *Booker {
	if p.UserID == 0 {
		return nil
	}
	return &Booker{ID: p.UserID, Name: p.Name}
}

func undoUntil(u *meeting.Undoable) *time.Time {
	if u == nil {
		return nil
	}
	return instant(u.Until)
}

func roomRefs(m *meeting.Meeting) []RoomRef { return roomRefsOf(m.RoomIDs, m.RoomNames) }

func roomRefsOf(ids []int64, names []string) []RoomRef {
	refs := make([]RoomRef, len(ids))
	for i, id := range ids {
		refs[i] = RoomRef{ID: id}
		if i < len(names) {
			refs[i].Name = names[i]
		}
	}
	return refs
}

func attendeeOf(a meeting.Attendee) Attendee {
	return Attendee{
		UserID: number(a.UserID), Email: a.Email, Name: a.Name, Phone: a.Phone,
		Locale: a.Locale, Timezone: a.Timezone, Response: string(a.Response), Comment: text(a.Comment),
	}
}

func reminderOf(r meeting.Reminder) Reminder {
	return Reminder{
		Before: string(r.Before), Offset: duration(r.Offset),
		Channels: list(r.Channels, func(c meeting.Channel) string { return string(c) }),
	}
}

func approvalOf(m *meeting.Meeting) Approval {
	a := m.Approval
	w := Approval{
		Required: a.Required, Deadline: instant(a.Deadline), DecidedAt: instant(a.DecidedAt),
		DecidedBy: number(a.DecidedBy), Comment: text(a.Comment), Reason: text(a.Reason), Agreed: list(a.Agreed, agreementOf),
		DecidedFor: list(a.DecidedFor(), representedOf),
	}
	if r := m.Request; r != nil && r.Change == nil {
		w.Level, w.Agreed, w.EscalatedAt = &r.Level, list(r.Agreed, agreementOf), instant(r.EscalatedAt)
		w.OnTimeout, w.Approvers = text(outcomes[a.OnTimeout]), approversOf(r)
	}
	return w
}

// approversOf returns nil if the approvers were not looked up.
func approversOf(r *meeting.Request) []Approver {
	if r.Awaited == nil {
		return nil
	}
	return list(r.Awaited, func(d meeting.Decider) Approver { return Approver{ID: d.UserID, Name: d.Name} })
}

func agreementOf(a meeting.Agreement) Agreement {
	return Agreement{Level: a.Level, UserID: number(a.UserID), Name: a.Name, At: a.At.UTC(), Comment: text(a.Comment), RoomIDs: append([]int64{}, a.RoomIDs...), For: list(a.For, representedOf)}
}

func representedOf(p meeting.Represented) Approver { return Approver{ID: p.ID, Name: p.Name} }

func pendingChangeOf(m *meeting.Meeting) *PendingChange {
	r := m.Request
	if r == nil || r.Change == nil {
		return nil
	}
	c := r.Change
	return &PendingChange{
		Start: c.Slot.Start.UTC(), End: c.Slot.End.UTC(), Timezone: c.Timezone,
		RoomIDs: append([]int64{}, c.RoomIDs...), Rooms: roomRefsOf(c.RoomIDs, c.RoomNames),
		RequestedAt: r.RequestedAt.UTC(), Deadline: r.Deadline.UTC(), OnTimeout: outcomes[m.Approval.OnTimeout],
		Level: r.Level, Approvers: approversOf(r), Agreed: list(r.Agreed, agreementOf), EscalatedAt: instant(r.EscalatedAt),
	}
}

// MeetingPatch changes a meeting. Fields that are left out stay unchanged.
type MeetingPatch struct {
	RoomIDs        Field[[]int64]         `json:"room_ids,omitempty" maximum:"9007199254740991" doc:"1 to 50 room IDs; either all rooms are booked or none"`
	Title          Field[string]          `json:"title,omitempty" doc:"1 to 200 characters"`
	Description    Field[string]          `json:"description,omitempty" doc:"At most 10,000 characters"`
	Start          Field[string]          `json:"start,omitempty" doc:"RFC 3339 time with an offset, or local time in timezone" example:"2027-02-10T09:00:00Z"`
	End            Field[string]          `json:"end,omitempty" doc:"RFC 3339 time with an offset, or local time in timezone" example:"2027-02-10T10:00:00Z"`
	Timezone       Field[string]          `json:"timezone,omitempty" doc:"IANA time zone name for local times; null for the first room's time zone" example:"Europe/Berlin"`
	Attendees      Field[[]AttendeeInput] `json:"attendees,omitempty" doc:"At most 500 attendees"`
	Reminders      Field[[]ReminderInput] `json:"reminders,omitempty" doc:"At most 10 reminders; empty for none, null for the installation's defaults"`
	Visibility     Field[string]          `json:"visibility,omitempty" enum:"public,private"`
	TypeID         Field[int64]           `json:"type_id,omitempty" doc:"Active meeting type; null for an ordinary meeting"`
	Fields         Field[map[string]any]  `json:"fields,omitempty" doc:"Values of custom fields by name; null clears one, and fields that are left out keep theirs. Required fields of the rooms must have values"`
	OrganizerID    Field[int64]           `json:"organizer_id,omitempty" doc:"User for whom the meeting is booked: for delegates of the user, admins, and managers who approve all of its rooms. Defaults to you"`
	OrganizerEmail Field[string]          `json:"organizer_email,omitempty" doc:"Email address of that user, instead of organizer_id"`
	Override       *OverrideInput         `json:"override,omitempty" doc:"Overrides room policies, but never other meetings; admins only"`
}

// OverrideInput lets a booking violate room policies.
type OverrideInput struct {
	Reason string `json:"reason" doc:"Stored in the history with the policies that were overridden; at most 1,000 characters"`
}

// AttendeeInput invites a person. Fields that are left out are taken from the user with that
// address.
type AttendeeInput struct {
	Email    string  `json:"email,omitempty" doc:"Email address; optional if there is a phone number" example:"name@example.org"`
	Name     string  `json:"name,omitempty"`
	Phone    string  `json:"phone,omitempty" doc:"Phone number in E.164 format. A guest without an email address is notified by SMS" example:"+4930123456"`
	Locale   string  `json:"locale,omitempty" example:"en"`
	Timezone string  `json:"timezone,omitempty" example:"Europe/Berlin"`
	Response string  `json:"response,omitempty" doc:"Ignored: only the attendee can respond"`
	Comment  *string `json:"comment,omitempty" doc:"Ignored: only the attendee can comment"`
	UserID   *int64  `json:"user_id,omitempty" doc:"Ignored: determined by the email address"`
}

// ReminderInput is a requested reminder.
type ReminderInput struct {
	Before   string   `json:"before" enum:"start,end"`
	Offset   string   `json:"offset" doc:"Duration in whole seconds, at most 366 days" example:"15m"`
	Channels []string `json:"channels" enum:"email,sms" nullable:"false"`
}

// MeetingInput is a new meeting.
type MeetingInput MeetingPatch

// TransformSchema names what a new meeting must have.
func (MeetingInput) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = []string{"room_ids", "title", "start", "end"}
	return s
}

// BookingInput is a new meeting, or an entry on the waiting list for it.
type BookingInput struct {
	MeetingInput
	Wait  Field[bool]   `json:"wait,omitempty" doc:"Whether to join the waiting list if a room is taken; the response is then 202 with the waiting list entry"`
	Until Field[string] `json:"until,omitempty" doc:"When to leave the waiting list; only with wait. Defaults to the start of the meeting if omitted or null" example:"2027-02-09T18:00:00Z"`
}

// TransformSchema names what a new meeting must have.
func (BookingInput) TransformSchema(r huma.Registry, s *huma.Schema) *huma.Schema {
	return MeetingInput{}.TransformSchema(r, s)
}

func (p MeetingPatch) fields(faults []meeting.Fault) booking.Fields {
	d := decoder{faults: faults}
	f := booking.Fields{
		Title: p.Title.ptr(), Description: p.Description.ptr(), RoomIDs: p.RoomIDs.ptr(),
		Start: mapField(p.Start, clock.Parse), End: mapField(p.End, clock.Parse), Timezone: p.Timezone.ptr(),
		Attendees:        mapField(p.Attendees, persons),
		Reminders:        mapField(p.Reminders, d.reminders),
		DefaultReminders: p.Reminders.Null,
		Visibility:       mapField(p.Visibility, func(s string) meeting.Visibility { return meeting.Visibility(s) }),
	}
	if p.Override != nil {
		f.Override = &meeting.Override{Reason: p.Override.Reason}
	}
	f.Organizer, f.TypeID = p.organizer(&d), p.TypeID.ptr()
	f.Custom = p.Fields.ptr()
	f.Faults = d.faults
	return f
}

// organizer is nil if the patch names none. null means the same.
func (p MeetingPatch) organizer(d *decoder) *booking.OrganizerRef {
	switch id, email := p.OrganizerID.Value, strings.TrimSpace(p.OrganizerEmail.Value); {
	case id != 0 && email != "":
		d.add("organizer_email", "contradiction", "must not be set together with organizer_id")
		return nil
	case id != 0 || email != "":
		return &booking.OrganizerRef{UserID: id, Email: email}
	default:
		return nil
	}
}

func persons(as []AttendeeInput) []meeting.Person {
	return list(as, func(a AttendeeInput) meeting.Person {
		return meeting.Person{Email: a.Email, Name: a.Name, Phone: a.Phone, Locale: a.Locale, Timezone: a.Timezone}
	})
}

func (d *decoder) reminders(in []ReminderInput) []meeting.Reminder {
	rs := make([]meeting.Reminder, len(in))
	for i, r := range in {
		location := fault.Index("reminders", i) + ".offset"
		rs[i] = meeting.Reminder{
			Before:   meeting.Anchor(r.Before),
			Offset:   d.duration(location, r.Offset),
			Channels: list(r.Channels, func(c string) meeting.Channel { return meeting.Channel(c) }),
		}
		if r.Offset == "" {
			d.add(location, "required", "is required")
		}
	}
	return rs
}

func (h *handlers) registerMeetings(api huma.API) {
	const tag = "Meetings"
	register(api, heavy(operation("list-meetings", http.MethodGet, "/meetings", "List meetings by start", tag)), h.listMeetings)
	register(api, h.waits(creates(operation("create-meeting", http.MethodPost, "/meetings", "Book a meeting; it is confirmed, or pending until approved", tag))), h.createMeeting)
	register(api, operation("get-meeting", http.MethodGet, "/meetings/{id}", "Get a meeting", tag), h.meeting)
	register(api, operation("update-meeting", http.MethodPatch, "/meetings/{id}", "Change a meeting; a new time or room is checked like a new booking", tag), h.updateMeeting)
	register(api, operation("cancel-meeting", http.MethodPost, "/meetings/{id}/cancel", "Cancel a meeting", tag), h.cancelMeeting)
	register(api, operation("undo-meeting", http.MethodPost, "/meetings/{id}/undo", "Undo your latest change of a meeting, without notifying anyone", tag), h.undoMeeting)
	register(api, operation("approve-meeting", http.MethodPost, "/meetings/{id}/approve", "Approve a request", tag), h.approveMeeting)
	register(api, operation("reject-meeting", http.MethodPost, "/meetings/{id}/reject", "Reject a request", tag), h.rejectMeeting)
	h.registerCheckIn(api, tag)
	register(api, operation("meeting-history", http.MethodGet, "/meetings/{id}/history", "List the history of a meeting, oldest first", tag), h.history)
	register(api, operation("meeting-notifications", http.MethodGet, "/meetings/{id}/notifications", "List the notifications about a meeting and their delivery state", tag), h.notifications)
}

type listMeetingsInput struct {
	Paging
	From      string   `query:"from" doc:"Meetings that end after this time" example:"2027-02-10T00:00:00Z"`
	To        string   `query:"to" doc:"Meetings that start before this time" example:"2027-02-17T00:00:00Z"`
	RoomID    int64    `query:"room_id"`
	SiteID    int64    `query:"site_id"`
	SeriesID  int64    `query:"series_id"`
	TypeID    int64    `query:"type_id" doc:"Only meetings of this type"`
	Organizer string   `query:"organizer" doc:"me, or a user ID"`
	Attendee  string   `query:"attendee" doc:"me for meetings that you attend"`
	Status    []string `query:"status,explode" doc:"Meetings with any of these statuses; repeat the parameter or separate values with commas"`
	Q         string   `query:"q" maxLength:"200" doc:"Text in the title, the description or the values of custom fields that you may see, ignoring case and accents"`
	Awaiting  string   `query:"awaiting" doc:"me for requests that you can decide now, including changes of confirmed meetings"`
}

// Resolve implements [huma.Resolver]. It reports all faults of the query at once.
func (in *listMeetingsInput) Resolve(huma.Context) []error {
	_, err := in.query(meeting.Actor{}, provisionalZone(in.rooms()...))
	return resolved(err)
}

// rooms that the query names.
func (in *listMeetingsInput) rooms() []int64 { return named(in.RoomID) }

func (in *listMeetingsInput) query(by meeting.Actor, zone *time.Location) (meeting.MeetingQuery, error) {
	d := decoder{zone: zone}
	q := meeting.MeetingQuery{
		From: d.instant("from", in.From), To: d.end("to", in.To),
		RoomID: in.RoomID, SiteID: in.SiteID, SeriesID: in.SeriesID, TypeID: in.TypeID, Text: in.Q,
	}
	if !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To) {
		d.add("to", "invalid_span", "must be after from")
	}
	switch in.Organizer {
	case "":
	case "me":
		q.OrganizerID = by.ID
	default:
		id, err := strconv.ParseInt(in.Organizer, 10, 64)
		if err != nil || id <= 0 {
			d.add("organizer", "unknown_value", "must be me or the id of a user")
		}
		q.OrganizerID = id
	}
	switch in.Attendee {
	case "":
	case "me":
		q.AttendeeEmail = by.Email
	default:
		d.add("attendee", "unknown_value", "must be me")
	}
	switch in.Awaiting {
	case "":
	case "me":
		q.Awaiting = true
	default:
		d.add("awaiting", "unknown_value", "must be me")
	}
	for _, s := range commas(in.Status) {
		status := meeting.Status(s)
		if !status.Valid() {
			d.add("status", "unknown_value", "must be one of pending, confirmed, in_progress, ended, rejected, cancelled, released")
			break
		}
		if !slices.Contains(q.Statuses, status) { // the schema limits their number
			q.Statuses = append(q.Statuses, status)
		}
	}
	return q, d.err()
}

func (h *handlers) listMeetings(ctx context.Context, in *listMeetingsInput) (*listOutput[Meeting], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	zone, err := h.queryZone(ctx, in.rooms(), in.From, in.To)
	if err != nil {
		return nil, err
	}
	q, err := in.query(by, zone)
	if err != nil {
		return nil, err
	}
	ms, next, err := h.svc.Meetings(ctx, by, q, in.page())
	if err != nil {
		return nil, err
	}
	return listed(ms, next, meetingOf), nil
}

func (h *handlers) createMeeting(ctx context.Context, in *struct{ Body Body[BookingInput] }) (*booked, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	input, faults := in.Body.read(h.registry)
	f, until := input.fields(faults)
	if input.wants() {
		return h.bookOrWait(ctx, by, f, until)
	}
	m, err := h.svc.Book(ctx, by, f)
	if err != nil {
		return nil, err
	}
	return &booked{http.StatusCreated, etag(m.Version), h.locate("meetings", m.ID), meetingOf(m)}, nil
}

func (h *handlers) meeting(ctx context.Context, in *Target) (*one[Meeting], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return answer(h.svc.Meeting(ctx, by, in.ID))
}

type updateMeetingInput struct {
	Target
	Guard
	Body Body[MeetingPatch]
}

func (h *handlers) updateMeeting(ctx context.Context, in *updateMeetingInput) (*one[Meeting], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	patch, faults := in.Body.read(h.registry)
	return answer(h.svc.Update(ctx, by, in.ID, in.version(), patch.fields(faults)))
}

// Reason of a cancellation.
type Reason struct {
	Reason string `json:"reason,omitempty" doc:"Sent to the attendees; at most 1,000 characters"`
}

// Comment on a decision.
type Comment struct {
	Comment string `json:"comment,omitempty" doc:"Sent to the organizer; at most 1,000 characters"`
}

type cancelInput struct {
	Target
	Guard
	Body *Body[Reason]
}

func (h *handlers) cancelMeeting(ctx context.Context, in *cancelInput) (*one[Meeting], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	said, err := optional(h.registry, in.Body)
	if err != nil {
		return nil, err
	}
	return answer(h.svc.Cancel(ctx, by, in.ID, in.version(), said.Reason))
}

// undoMeeting takes no body: it undoes the latest change.
func (h *handlers) undoMeeting(ctx context.Context, in *guardedInput) (*one[Meeting], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return answer(h.svc.Undo(ctx, by, in.ID, in.version()))
}

type decideInput struct {
	Target
	Guard
	Body *Body[Comment]
}

func (h *handlers) approveMeeting(ctx context.Context, in *decideInput) (*one[Meeting], error) {
	return h.decide(ctx, in, h.approval.Approve)
}

func (h *handlers) rejectMeeting(ctx context.Context, in *decideInput) (*one[Meeting], error) {
	return h.decide(ctx, in, h.approval.Reject)
}

type decision func(ctx context.Context, by meeting.Actor, id meeting.ID, ifMatch *int64, comment string) (*meeting.Meeting, error)

func (h *handlers) decide(ctx context.Context, in *decideInput, how decision) (*one[Meeting], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	said, err := optional(h.registry, in.Body)
	if err != nil {
		return nil, err
	}
	return answer(how(ctx, by, in.ID, in.version(), said.Comment))
}

func answer(m *meeting.Meeting, err error) (*one[Meeting], error) {
	if err != nil {
		return nil, err
	}
	return &one[Meeting]{ETag: etag(m.Version), Body: meetingOf(m)}, nil
}

// optional returns an optional body, which only its schema checks.
func optional[T any](r huma.Registry, b *Body[T]) (T, error) {
	var none T
	if b == nil {
		return none, nil
	}
	v, faults := b.read(r)
	return v, (&decoder{faults: faults}).err()
}
