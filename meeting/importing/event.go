package importing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/itip"
	"punctual/meeting/recurrence"
	"punctual/meeting/series"
)

// Limits of texts, which are shortened to them: a booking would be refused.
const (
	maxDescription = 9_000
	maxAttendees   = 500
)

// one imports an event. Only a failure that concerns all events is an error.
func (r *run) one(ctx context.Context, t *task) error {
	err := r.event(ctx, t)
	if err == nil {
		return nil
	}
	if problem, ok := errors.AsType[*problemError](err); ok {
		t.item.Result, t.item.Reason, t.item.Message = problem.result, problem.reason, problem.message
		return nil
	}
	return r.refused(t, err)
}

// problemError is why an event is not imported.
type problemError struct {
	result          Result
	reason, message string
}

func (e *problemError) Error() string { return e.message }

func skip(reason, format string, args ...any) error {
	return &problemError{Skipped, reason, fmt.Sprintf(format, args...)}
}

func fail(reason, format string, args ...any) error {
	return &problemError{Failed, reason, fmt.Sprintf(format, args...)}
}

// refused notes why the booking was refused, or returns an error that is no refusal.
func (r *run) refused(t *task, err error) error {
	i := &t.item
	i.Result, i.Message = Failed, fault.Plain(err).Error()
	if r.options.OnConflict == meeting.SkipOnConflict {
		i.Result = Skipped
	}
	if conflict, ok := errors.AsType[*meeting.ConflictError](err); ok {
		i.Reason, i.Conflicts, i.Message = meeting.ReasonTaken, conflict.Conflicts, ""
	} else if dates, ok := errors.AsType[*meeting.SeriesConflictError](err); ok {
		i.Reason, i.Dates, i.Message = dates.Dates[0].Reason, dates.Dates, ""
	} else if policy, ok := errors.AsType[*meeting.PolicyError](err); ok {
		i.Reason, i.Message = policy.Violations[0].Code, messages(policy.Violations)
	} else if invalid, ok := errors.AsType[*meeting.InvalidError](err); ok {
		i.Result, i.Reason = Failed, invalid.Faults[0].Code
	} else if _, ok := errors.AsType[*meeting.StateError](err); ok {
		i.Result, i.Reason = Skipped, ReasonPast
	} else if errors.Is(err, meeting.ErrOriginTaken) {
		i.Result, i.Reason, i.Message = Unchanged, "", ""
	} else {
		return err
	}
	return nil
}

func messages(faults []meeting.Fault) string {
	texts := make([]string, len(faults))
	for i, f := range faults {
		texts[i] = f.Message
	}
	return strings.Join(texts, "; ")
}

func (r *run) event(ctx context.Context, t *task) error {
	o, head := t.object, t.object.Head()
	if faults := o.Faults(); len(faults) > 0 {
		t.item.Line = faults[0].Line
		return fail(ReasonInvalid, "%s", faults[0].Message)
	}
	origin := meeting.Origin{Kind: meeting.OriginImport, UID: o.UID, Organizer: strings.ToLower(head.Organizer.Email)}
	origin.Sequence, origin.Stamp = o.Newest()
	known := r.known[objectKey{origin.UID, origin.Organizer}]
	if known != nil {
		t.item.MeetingID, t.item.SeriesID = known.MeetingID, known.SeriesID
		if !newer(origin.Sequence, origin.Stamp, known.Origin) {
			t.item.Result = Unchanged
			return nil
		}
	}
	cancelled := head.Cancelled || t.method == "CANCEL"
	switch {
	case known == nil && r.own(o.UID):
		return skip(ReasonOwn, "the event is a meeting of this installation")
	case cancelled && known != nil:
		return r.cancel(ctx, t, known, origin)
	case cancelled:
		return skip(ReasonCancelled, "the event is cancelled")
	case head.Transparent && known == nil:
		return skip(ReasonTransparent, "the event takes no time")
	}
	b, err := r.booking(t, origin)
	if err != nil {
		return err
	}
	switch {
	case known == nil && r.options.DryRun:
		return r.preview(ctx, t, b)
	case known == nil:
		return r.create(ctx, t, b)
	case r.options.DryRun:
		t.item.Result = Updated
		return nil
	default:
		return r.update(ctx, t, b, known, origin)
	}
}

// eventBooking is what an event asks for.
type eventBooking struct {
	dates  *itip.Dates
	fields series.Fields // of a meeting, if dates has no set
	slots  []clock.Slot
}

// booking works out rooms, times and people of an event.
func (r *run) booking(t *task, origin meeting.Origin) (*eventBooking, error) {
	head := t.object.Head()
	rooms, err := r.rooms.of(head)
	if err != nil {
		if r.options.RoomID == 0 {
			return nil, fail(ReasonNoRoom, "%v", err)
		}
		rooms = []int64{r.options.RoomID}
	}
	b := &eventBooking{}
	if b.dates, err = t.object.Dates(clock.ZoneOrUTC(r.rooms.byID[rooms[0]].Zone), r.horizon(rooms)); err != nil {
		return nil, fail(ReasonInvalid, "%v", err)
	}
	t.item.Start = b.dates.Slot.Start
	if err := r.leaveOutBefore(b); err != nil {
		return nil, err
	}
	organizer, replaced, err := r.organizerOf(head)
	if err != nil {
		return nil, err
	}
	f := FieldsOf(head)
	f.RoomIDs, f.Reminders = &rooms, &[]meeting.Reminder{}
	f.Import = &meeting.Import{
		Organizer: organizer, Origin: origin, Responses: Responses(head), People: r.users, Rooms: r.lookUpRooms(), OtherRoom: r.options.OnConflict == meeting.OtherRoom,
	}
	if replaced {
		*f.Description = strings.TrimSpace(*f.Description + "\n\nOrganizer: " + contact(head.Organizer))
	}
	if r.options.Override != "" {
		f.Override = &meeting.Override{Reason: r.options.Override}
	}
	b.fields = series.Fields{Fields: f, OnConflict: r.options.OnConflict}
	if b.dates.Set == nil {
		b.fields.Start, b.fields.End = new(clock.At(b.dates.Slot.Start)), new(clock.At(b.dates.Slot.End))
		if b.dates.Zone != "UTC" { // else the times are shown in the zone of the room
			b.fields.Timezone = &b.dates.Zone
		}
		return b, nil
	}
	r.setSeries(b)
	return b, nil
}

// setSeries sets the rule of a series, its first date, and the dates that differ.
func (r *run) setSeries(b *eventBooking) {
	SetDates(b.dates, &b.fields, func(e *itip.Event) booking.Fields { return r.differing(e, b.fields.Fields) })
}

// SetDates sets the rule of a series, its first date, and the dates that differ. differing returns the
// fields of such a date, without its time.
func SetDates(dates *itip.Dates, f *series.Fields, differing func(*itip.Event) booking.Fields) {
	set := dates.Set
	f.Timezone, f.Rule = &dates.Zone, new(set.Rule.String())
	f.Start, f.End = new(clock.Parse(set.Start.Format(clock.WallLayout))), new(clock.Parse(set.End.Format(clock.WallLayout)))
	f.ExDates, f.RDates = times(set.ExDates), times(set.RDates)
	f.Differing = map[time.Time]booking.Fields{}
	for _, d := range dates.Differs {
		own := booking.Fields{}
		if d.Event != nil {
			own = differing(d.Event)
		}
		own.Start, own.End = new(clock.At(d.Slot.Start)), new(clock.At(d.Slot.End))
		f.Differing[d.Wall] = own
	}
}

// differing are the fields of one date of a series.
func (r *run) differing(e *itip.Event, series booking.Fields) booking.Fields {
	f := FieldsOf(e)
	if e.Title == "" {
		f.Title = series.Title
	}
	if e.Description == "" {
		f.Description = series.Description
	}
	if len(e.Attendees) == 0 {
		f.Attendees = series.Attendees
	}
	if rooms, err := r.rooms.of(e); err == nil {
		f.RoomIDs = &rooms
	}
	return f
}

func times(ws []recurrence.WallTime) *[]clock.Time {
	ts := make([]clock.Time, len(ws))
	for i, w := range ws {
		ts[i] = clock.ParseDate(w.String())
	}
	return &ts
}

// leaveOutBefore leaves out dates before [Options.From].
func (r *run) leaveOutBefore(b *eventBooking) error {
	over := func(s clock.Slot) bool { return !s.End.After(r.options.From) }
	if b.dates.Set == nil {
		b.slots = []clock.Slot{b.dates.Slot}
		if over(b.dates.Slot) {
			return skip(ReasonBefore, "the event is over")
		}
		return nil
	}
	set := b.dates.Set
	var past []recurrence.WallTime
	for _, d := range set.Dates(recurrence.AllDates) {
		slot := d.Slot
		if i := slices.IndexFunc(b.dates.Differs, func(x itip.Differing) bool { return x.Wall.Equal(d.Wall) }); i >= 0 {
			slot = b.dates.Differs[i].Slot
		}
		if over(slot) {
			past = append(past, recurrence.WallTime{Time: d.Wall})
		} else {
			b.slots = append(b.slots, slot)
		}
	}
	if len(b.slots) == 0 {
		return skip(ReasonBefore, "the series is over")
	}
	set.ExDates = append(set.ExDates, past...)
	return nil
}

// horizon is how far ahead a series without an end is booked.
func (r *run) horizon(rooms []int64) time.Time {
	most := r.settings().Limits.MaxAdvance
	for _, id := range rooms {
		if m := r.rooms.byID[id].Policy.MaxAdvance; m > 0 && (most == 0 || m < most) {
			most = m
		}
	}
	return r.at.Add(cmp.Or(most, 365*24*time.Hour))
}

// organizerOf returns the organizer of an event, and whether it is another than the event's.
func (r *run) organizerOf(e *itip.Event) (p meeting.Person, replaced bool, err error) {
	if p, ok := r.users[strings.ToLower(e.Organizer.Email)]; ok {
		return p, false, nil
	}
	if r.organizer != nil {
		return *r.organizer, e.Organizer != itip.Person{}, nil
	}
	if e.Organizer.Email == "" {
		return p, false, fail(ReasonUnknownOrganizer, "the event has no organizer")
	}
	return p, false, fail(ReasonUnknownOrganizer, "%s is not a user", e.Organizer.Email)
}

func contact(p itip.Person) string {
	switch {
	case p.Name == "":
		return p.Email
	case p.Email == "":
		return p.Name
	default:
		return p.Name + " <" + p.Email + ">"
	}
}

// FieldsOf returns the texts and people of an event, as a meeting has them.
func FieldsOf(e *itip.Event) booking.Fields {
	visibility := meeting.Public
	if e.Private {
		visibility = meeting.Private
	}
	people := []meeting.Person{}
	seen := map[string]bool{fault.FoldEmail(e.Organizer.Email): true}
	for _, a := range e.Attendees {
		email := fault.FoldEmail(a.Email)
		if a.IsRoom() || seen[email] || !fault.IsEmail(email) || len(people) == maxAttendees {
			continue
		}
		seen[email] = true
		people = append(people, meeting.Person{Email: a.Email, Name: oneLine(a.Name)})
	}
	return booking.Fields{
		Title: new(title(e)), Description: new(shorten(fault.AsText(e.Description), maxDescription)), Attendees: &people, Visibility: &visibility,
	}
}

// Responses returns the responses of the attendees by email address, in lower case.
func Responses(e *itip.Event) map[string]meeting.Response {
	all := map[string]meeting.Response{}
	for _, a := range e.Attendees {
		switch a.Status {
		case "ACCEPTED":
			all[strings.ToLower(a.Email)] = meeting.Accepted
		case "DECLINED":
			all[strings.ToLower(a.Email)] = meeting.Declined
		case "TENTATIVE":
			all[strings.ToLower(a.Email)] = meeting.Tentative
		}
	}
	return all
}

// title of an event; a meeting must have one.
func title(e *itip.Event) string {
	if text := oneLine(e.Title); fault.Visible(text) {
		return text
	}
	return "(untitled)"
}

func oneLine(text string) string {
	return shorten(fault.AsLine(text, len(text)), fault.MaxName)
}

func shorten(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
