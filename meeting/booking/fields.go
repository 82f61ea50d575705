package booking

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
)

// Limits of a request. They protect the server and are far above what people need.
const (
	maxDescription = 10_000
	MaxComment     = 1_000
	MaxRooms       = 50
	maxAttendees   = 500
	maxReminders   = 10
	maxOffset      = 366 * 24 * time.Hour
	MaxLength      = 366 * 24 * time.Hour // of a meeting, regardless of policies and overrides
)

// Fields are the requested fields of a meeting, for a booking or a change; nil: not requested.
// Locations of faults are those of the REST resource.
type Fields struct {
	Title       *string
	Description *string
	RoomIDs     *[]int64
	Start, End  *clock.Time // local times are in Timezone
	Timezone    *string     // IANA; empty: the first room's
	Attendees   *[]meeting.Person
	Reminders   *[]meeting.Reminder // empty: none
	// DefaultReminders requests the installation's reminders, now and when they change. It is the
	// default of a booking without Reminders.
	DefaultReminders bool
	Visibility       *meeting.Visibility
	TypeID           *int64            // 0: none
	Custom           *map[string]any   // values of custom fields by name, which join the others; nil clears one
	Organizer        *OrganizerRef     // for whom to book; nil: the user who books, or in a change as it is
	Override         *meeting.Override // from an admin; nil: none. Only its Reason is read
	Import           *meeting.Import   // an admin's: nil for none
	Unasked          bool              // nobody could be asked for required custom fields, as at a door

	// Adjust, unless nil, changes the terms of a new meeting that violate no rule, before it is saved.
	Adjust func(ctx context.Context, by meeting.Actor, t *meeting.Terms) error

	Faults []meeting.Fault // found while decoding; reported together with the others

	Kept    []meeting.FieldValue // values of custom fields that were checked before
	Preview bool                 // nothing is saved and nobody is notified, so people are not looked up
}

// roomIDs returns the rooms that the meeting will have: the requested ones, or its current ones.
func (f *Fields) roomIDs(base *meeting.Meeting) []int64 {
	switch {
	case f.RoomIDs != nil:
		return *f.RoomIDs
	case base != nil:
		return base.RoomIDs
	default:
		return nil
	}
}

// Known holds what the fields refer to, looked up in advance.
type Known struct {
	Rooms     []*meeting.Room           // of those ids that exist
	People    map[string]meeting.Person // users by lower-case email
	Timezone  string                    // of the installation
	Reminders []meeting.Reminder        // of the installation
	Type      *meeting.Type             // that the meeting will have; nil: none, or an unknown one
	Custom    []*meeting.CustomField    // all, in the order in which they are shown
	organizer meeting.Person            // that the fields name; without UserID: nobody, or an unknown user

	Starts map[int64]time.Time // local starts of the meetings of a series, by original start
}

// Preparation holds what a change of one meeting may refer to.
type Preparation struct {
	Known Known
	Rooms []*meeting.Room // of the decision, otherwise of the meeting; unknown ones are left out
	Plan  meeting.ApprovalPlan
	At    time.Time

	overQuota []meeting.Fault // by the new time or rooms, set if other rules are violated or overridden
}

// Terms applies the fields to base, nil for a new meeting, and returns all their faults.
func (f *Fields) Terms(base *meeting.Meeting, k Known) (meeting.Terms, error) {
	t := meeting.Terms{Placed: f.Start != nil || f.End != nil || f.RoomIDs != nil}
	var found fault.List
	if base != nil {
		t = meeting.Terms{
			Placed: t.Placed, Title: base.Title, Description: base.Description, Slot: base.Slot, Timezone: base.Timezone,
			Attendees: base.Attendees, Reminders: base.Reminders, DefaultReminders: base.DefaultReminders,
			Visibility: base.Visibility, Organizer: base.Organizer,
		}
	} else {
		t.Visibility = meeting.Public
		t.Reminders, t.DefaultReminders = k.Reminders, true
	}
	f.texts(&t, base == nil, &found)
	f.ResolveRooms(&t, base, k, &found)
	f.times(&t, base == nil, k, &found)
	if f.Attendees != nil {
		t.Attendees = f.attendees(base, k.People, &found)
		f.Import.Respond(t.Attendees)
	}
	t.Import = f.Import
	f.reminders(&t, k, &found)
	f.organizer(&t, k, &found)
	if f.Import != nil && base == nil {
		t.Organizer = f.Import.Organizer
	}
	f.meetingType(&t, base, k, &found)
	f.customFields(&t, base, k, &found)
	f.override(&found)
	return t, fault.Merge(f.Faults, found).Err()
}

func (f *Fields) texts(t *meeting.Terms, required bool, found *fault.List) {
	if f.Title != nil {
		t.Title = strings.TrimSpace(*f.Title)
		found.Name("title", t.Title, fault.MaxName)
	} else if required {
		found.Add("title", "required", "is required")
	}
	if f.Description != nil {
		t.Description = strings.ReplaceAll(*f.Description, "\r\n", "\n")
		found.Text("description", t.Description, maxDescription)
	}
	if f.Visibility != nil {
		t.Visibility = cmp.Or(*f.Visibility, meeting.Public)
		if t.Visibility != meeting.Public && t.Visibility != meeting.Private {
			found.Add("visibility", "unknown_value", "must be public or private")
		}
	}
}

func (f *Fields) override(found *fault.List) {
	if f.Override == nil {
		return
	}
	f.Override.Reason = strings.TrimSpace(f.Override.Reason)
	if f.Override.Reason == "" {
		found.Add("override.reason", "required", "is required: it is kept in the history")
	}
	found.Text("override.reason", f.Override.Reason, MaxComment)
}

// ResolveRooms sets the requested rooms, if any, and reports those that do not exist.
func (f *Fields) ResolveRooms(t *meeting.Terms, base *meeting.Meeting, k Known, found *fault.List) {
	want := f.roomIDs(base)
	switch {
	case f.RoomIDs == nil && base == nil:
		found.Add("room_ids", "required", "is required")
	case len(want) == 0:
		found.Add("room_ids", "too_few", "must have at least one room")
	case len(want) > MaxRooms:
		found.Add("room_ids", "too_many", "must have at most %d rooms", MaxRooms)
		return
	}
	for i, id := range want {
		at := slices.IndexFunc(k.Rooms, func(r *meeting.Room) bool { return r.ID == id })
		switch location := fault.Index("room_ids", i); {
		case at < 0:
			found.Add(location, "unknown_room", "room %d does not exist", id)
		case slices.Contains(want[:i], id):
			found.Add(location, "duplicate", "must not contain room %d twice", id)
		default:
			t.Rooms = append(t.Rooms, k.Rooms[at])
		}
	}
}

func (f *Fields) times(t *meeting.Terms, required bool, k Known, found *fault.List) {
	switch {
	case f.Timezone != nil && *f.Timezone != "":
		t.Timezone = *f.Timezone
	case len(t.Rooms) > 0 && (required || f.Timezone != nil):
		t.Timezone = t.Rooms[0].Zone
	}
	t.Timezone = cmp.Or(t.Timezone, k.Timezone)
	loc, err := ZoneOf(f.Timezone, t.Timezone)
	if err != nil {
		found.Add("timezone", "unknown_timezone", "%v", err)
		loc = time.UTC
	}
	start, end := clock.Moment{At: t.Slot.Start}, clock.Moment{At: t.Slot.End}
	okStart := ResolveTime(f.Start, &start, clock.Time.In, "start", required, loc, found)
	okEnd := ResolveTime(f.End, &end, clock.Time.EndIn, "end", required, loc, found)
	t.Slot, t.Given = clock.Slot{Start: start.At, End: end.At}, clock.Slot{Start: start.Wall, End: end.Wall}
	switch {
	case !okStart || !okEnd:
	case !t.Slot.Start.Before(t.Slot.End):
		found.Add("end", "not_after_start", "must be after start")
	case t.Slot.Duration() > MaxLength:
		found.Add("end", "too_long", "must be at most 366 days after start")
	}
}

// ResolveTime sets m to the requested time in loc, if any, and reports whether m then holds a valid
// one.
func ResolveTime(t *clock.Time, m *clock.Moment, in func(clock.Time, *time.Location) (clock.Moment, error), location string, required bool, loc *time.Location, found *fault.List) bool {
	if t == nil {
		if required {
			found.Add(location, "required", "is required")
		}
		return !required
	}
	moment, err := in(*t, loc)
	if err != nil {
		code := "invalid_time"
		if _, gap := err.(*clock.GapError); gap {
			code = "nonexistent_time"
		}
		found.Add(location, code, "%v", err)
		return false
	}
	*m = moment
	return true
}

// attendees returns the requested attendees, completed from the directory. An existing attendee
// keeps their response.
func (f *Fields) attendees(base *meeting.Meeting, people map[string]meeting.Person, found *fault.List) []meeting.Attendee {
	requested := *f.Attendees
	if len(requested) > maxAttendees {
		found.Add("attendees", "too_many", "must have at most %d people", maxAttendees)
		return nil
	}
	as := make([]meeting.Attendee, 0, len(requested))
	seen := make(map[string]bool, len(requested))
	for i, p := range requested {
		location := fault.Index("attendees", i)
		checkPerson(location, &p, found)
		key := p.Key()
		if seen[key] && key != "" {
			field := ".email"
			if p.Email == "" {
				field = ".phone"
			}
			found.Add(location+field, "duplicate", "must not invite %s twice", key)
		}
		seen[key] = true
		var user meeting.Person
		if p.Email != "" {
			user = people[key]
		}
		as = append(as, answered(base, complete(p, user)))
	}
	return as
}

// complete returns a requested person with the data of their user account, if there is one.
func complete(p, user meeting.Person) meeting.Person {
	return meeting.Person{
		UserID:   user.UserID,
		Email:    p.Email,
		Name:     cmp.Or(p.Name, user.Name),
		Phone:    cmp.Or(p.Phone, user.Phone),
		Locale:   cmp.Or(p.Locale, user.Locale),
		Timezone: cmp.Or(p.Timezone, user.Timezone),
	}
}

// answered returns the person with their response to the meeting before the change.
func answered(base *meeting.Meeting, p meeting.Person) meeting.Attendee {
	if base != nil {
		for _, a := range base.Attendees {
			if a.Key() == p.Key() {
				a.Person = p
				return a
			}
		}
	}
	return meeting.Attendee{Person: p, Response: meeting.NeedsAction}
}

// checkPerson normalizes an invited person and reports faults.
func checkPerson(location string, p *meeting.Person, found *fault.List) {
	if p.Email = strings.TrimSpace(p.Email); p.Email != "" {
		p.Email = found.Email(location+".email", p.Email)
	} else if strings.Trim(p.Phone, " -()./") == "" {
		found.Add(location+".email", "required", "is required unless there is a phone number")
	}
	p.Name = strings.TrimSpace(p.Name)
	found.Line(location+".name", p.Name, fault.MaxName)
	p.Phone = found.Phone(location+".phone", p.Phone)
	if p.Locale != "" {
		p.Locale = found.Locale(location+".locale", p.Locale)
	}
	if p.Timezone != "" {
		found.Zone(location+".timezone", p.Timezone)
	}
}

func (f *Fields) reminders(t *meeting.Terms, k Known, found *fault.List) {
	switch {
	case f.DefaultReminders:
		t.Reminders, t.DefaultReminders = k.Reminders, true
	case f.Reminders != nil:
		t.Reminders, t.DefaultReminders = *f.Reminders, false
		checkReminders(found, "reminders", t.Reminders)
	}
}

func checkReminders(found *fault.List, location string, rs []meeting.Reminder) {
	if len(rs) > maxReminders {
		found.Add(location, "too_many", "must have at most %d reminders", maxReminders)
		return
	}
	for i, r := range rs {
		location := fault.Index(location, i)
		if r.Before != meeting.BeforeStart && r.Before != meeting.BeforeEnd {
			found.Add(location+".before", "unknown_value", "must be start or end")
		}
		found.WholeSeconds(location+".offset", r.Offset, maxOffset)
		checkChannels(found, location+".channels", r.Channels)
		same := func(o meeting.Reminder) bool { return o.Before == r.Before && o.Offset == r.Offset }
		if slices.ContainsFunc(rs[:i], same) {
			found.Add(location, "duplicate", "must not repeat the time of another reminder; list both channels in one")
		}
	}
}

func checkChannels(found *fault.List, location string, cs []meeting.Channel) {
	if len(cs) == 0 {
		found.Add(location, "too_few", "must have at least one channel")
	}
	for i, c := range cs {
		if c != meeting.Email && c != meeting.SMS {
			found.Add(fault.Index(location, i), "unknown_value", "must be email or sms")
		} else if slices.Contains(cs[:i], c) {
			found.Add(fault.Index(location, i), "duplicate", "must not be a duplicate")
		}
	}
}

// ZoneOf loads the zone for local times of a request: the requested one, or else the one in force.
func ZoneOf(named *string, inForce string) (*time.Location, error) {
	if named != nil && *named != "" {
		return fault.Zone(*named)
	}
	return fault.StoredZone(inForce)
}
