package caldav

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/importing"
	"punctual/meeting/itip"
	"punctual/meeting/recurrence"
	"punctual/meeting/series"
)

// upload is an event that a program stores.
type upload struct {
	*request
	sent   string     // as it came
	text   *component // as it is kept, if that is edited
	edited bool
	object *itip.Object
	mailed map[string]int64 // rooms by the mail addresses that it invites
	sites  map[string]int64 // sites by mail addresses that stand for any room
	rooms  []int64          // that it invites and leaves to the server
	own    bool             // the user organizes it

	declined   []int64                // rooms of the event that could not be booked
	declinedOn map[*component][]int64 // those of a date that differs
	tried      []int64                // rooms that stood for any room of a site
}

// limits of an event.
var limits = itip.Limits{Size: MaxBody, Events: 400, Components: 2_000, Depth: 8, Line: 64 << 10, Properties: 2_000}

// put stores an event. It books the invited rooms, changes the event's meeting, or stores the event as it
// is.
func (r *request) put() error {
	if r.place.kind != object || r.place.room {
		return &davError{status: http.StatusForbidden, condition: "need-privileges"}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var u *upload
	created := false
	err = r.Store.Atomically(r.ctx(), func(ctx context.Context) error {
		u = &upload{request: r.within(ctx)}
		if err := u.read(body); err != nil {
			return err
		}
		created, err = u.store()
		return err
	})
	if err != nil {
		return err
	}
	u.request = r
	return u.answer(created)
}

// store books, changes or keeps the event, and reports whether it is new.
func (u *upload) store() (created bool, err error) {
	existing, shown, err := u.conditions()
	if err != nil {
		return false, err
	}
	stored, target, err := u.target(existing)
	if err != nil {
		return false, err
	}
	if existing == nil && target != (Member{}) {
		err := u.render(u.ctx(), u.collection(), []Member{target}, nil, func(_ Member, text string) error { shown = text; return nil })
		if err != nil {
			return false, err
		}
	}
	if err := u.chooseRooms(target); err != nil {
		return false, err
	}
	switch {
	case target != (Member{}):
		target, err = u.change(target, shown)
	case u.own && len(u.rooms) > 0 && !u.object.Head().Cancelled && u.Settings().Schedule:
		target, err = u.book()
	}
	if err != nil {
		return false, u.refused(err)
	}
	if u.own && (target != (Member{}) || len(u.declined) > 0) {
		u.answerForRooms()
	}
	stored.MeetingID, stored.SeriesID, stored.ICS, stored.UpdatedAt = target.MeetingID, target.SeriesID, u.sent, u.Now()
	if u.edited {
		stored.ICS = u.text.String()
	}
	if len(stored.ICS) > MaxBody { // with what the server added
		return false, precondition("max-resource-size", "must not exceed "+strconv.Itoa(MaxBody)+" bytes with the answers of its rooms")
	}
	stored.Start, stored.End = u.span()
	return existing == nil, u.Store.SaveObject(u.ctx(), stored)
}

// answer reports that the event is stored.
func (u *upload) answer(created bool) error {
	o, err := u.request.object(u.place.name)
	if errors.Is(err, meeting.ErrNotFound) { // it is over, or the user declined
		u.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err != nil {
		return err
	}
	text, err := u.request.text(o)
	if err != nil {
		return err
	}
	u.Header().Set("Schedule-Tag", scheduleTag(text))
	if text == u.sent { // otherwise the program must read what the server wrote
		u.Header().Set("ETag", o.ETag)
	}
	status := http.StatusNoContent
	if created {
		u.Header().Set("Location", u.place.path())
		status = http.StatusCreated
	}
	u.WriteHeader(status)
	return nil
}

// scheduleTag of an object stays the same when only responses change (RFC 6638, 3.2.10).
func scheduleTag(text string) string {
	var b strings.Builder
	for l := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n ", ""), "\r\n") {
		if !strings.HasPrefix(l, "ATTENDEE") {
			b.WriteString(l + "\r\n")
		}
	}
	return etag(b.String())
}

// conditions returns the requested object and its current text, or nil if there is none. It checks the
// conditional headers.
func (r *request) conditions() (existing *Change, text string, err error) {
	existing, err = r.object(r.place.name)
	tag, schedule := "", ""
	switch {
	case errors.Is(err, meeting.ErrNotFound):
		existing = nil
	case err != nil:
		return nil, "", err
	default:
		if text, err = r.text(existing); err != nil {
			return nil, "", err
		}
		tag, schedule = existing.ETag, scheduleTag(text)
	}
	none, match, byTag := r.sent("If-None-Match"), r.sent("If-Match"), r.sent("If-Schedule-Tag-Match")
	if none != "" && matches(none, tag) || match != "" && !matches(match, tag) || byTag != "" && !matches(byTag, schedule) {
		return nil, "", &davError{status: http.StatusPreconditionFailed, detail: "the event changed meanwhile"}
	}
	return existing, text, nil
}

// read reads and checks the event.
func (u *upload) read(body []byte) error {
	if kind := u.request.sent("Content-Type"); kind != "" && !strings.HasPrefix(strings.ToLower(kind), "text/calendar") {
		return precondition("supported-calendar-data", "Content-Type: must be text/calendar")
	}
	if u.sent = string(body); strings.Contains(u.sent, "\x00") || !utf8.ValidString(u.sent) {
		return precondition("valid-calendar-data", "must be UTF-8 without null characters")
	}
	calendar, err := itip.Read(bytes.NewReader(body), limits)
	if err != nil {
		return precondition("valid-calendar-data", err.Error())
	}
	if u.text, err = parseICS(u.sent); err != nil {
		return precondition("valid-calendar-data", err.Error())
	}
	switch {
	case len(calendar.Objects) == 0:
		return precondition("supported-calendar-component", "must have a VEVENT")
	case len(calendar.Objects) > 1:
		return precondition("valid-calendar-object-resource", "must have events of one UID")
	case calendar.Method != "":
		return precondition("valid-calendar-object-resource", "METHOD: must not be there")
	}
	u.object = calendar.Objects[0]
	for _, ev := range u.text.kidsNamed("VEVENT") {
		if uid, _ := ev.first("UID"); len(uid.value) > itip.MaxUID {
			return precondition("valid-calendar-object-resource", "UID: must have at most "+strconv.Itoa(itip.MaxUID)+" bytes")
		}
	}
	if faults := u.object.Faults(); len(faults) > 0 {
		return precondition("valid-calendar-data", "line "+strconv.Itoa(faults[0].Line)+": "+faults[0].Message)
	}
	for _, ev := range u.text.kidsNamed("VEVENT") { // calcurse leaves them out
		if _, ok := ev.first("UID"); !ok {
			ev.lines, u.edited = append(ev.lines, line{name: "UID", value: u.object.UID}), true
		}
		if _, ok := ev.first("DTSTAMP"); !ok {
			ev.lines, u.edited = append(ev.lines, line{name: "DTSTAMP", value: u.Now().UTC().Format(utcForm)}), true
		}
	}
	if err := u.findMailed(u.object); err != nil {
		return err
	}
	organizer := u.object.Head().Organizer.Email
	u.own = organizer == "" || strings.EqualFold(organizer, u.by.Email)
	u.findRooms()
	return nil
}

// findRooms notes which rooms the event invites.
func (u *upload) findRooms() {
	u.rooms = nil
	for _, ev := range u.text.kidsNamed("VEVENT") {
		for i := range ev.lines {
			if id := u.invites(ev.lines[i]); id != 0 && !slices.Contains(u.rooms, id) {
				u.rooms = append(u.rooms, id)
			}
		}
	}
}

// findMailed looks up the rooms whose mail addresses the events invite.
func (u *upload) findMailed(o *itip.Object) error {
	if u.mailed == nil {
		u.mailed, u.sites = map[string]int64{}, map[string]int64{}
	}
	for _, e := range o.Events() {
		for _, a := range e.Attendees {
			address := emailOf(a.Email)
			if _, known := u.mailed[address]; known {
				continue
			}
			room, site, err := u.byAddress(address)
			if err != nil {
				return err
			}
			u.mailed[address] = room
			if site != 0 {
				u.sites[address] = site
			}
		}
	}
	return nil
}

// byAddress returns the room or the site with a mail address; both are 0 if there is none.
func (r *request) byAddress(address string) (room, site int64, err error) {
	local, domain, _ := strings.Cut(emailOf(address), "@")
	if domain == "" || !strings.EqualFold(domain, r.Settings().Mailroom) {
		return 0, 0, nil
	}
	return r.Store.ByAddress(r.ctx(), local)
}

// emailOf returns the address of a calendar user in lower case, without mailto.
func emailOf(address string) string {
	return strings.TrimPrefix(strings.ToLower(strings.TrimSpace(address)), "mailto:")
}

// roomOf returns the room with a calendar address or a mail address; 0: none.
func (u *upload) roomOf(address string) int64 {
	return cmp.Or(u.Server.roomOf(address), u.mailed[emailOf(address)])
}

// invites returns the room that an ATTENDEE invites and leaves to the server; 0: none.
func (u *upload) invites(l line) int64 {
	if agent := strings.ToUpper(l.param("SCHEDULE-AGENT")); l.name != "ATTENDEE" || agent != "" && agent != "SERVER" {
		return 0
	}
	return u.roomOf(l.value)
}

// roomOf returns the room with a calendar address; 0: none.
func (s *Server) roomOf(address string) int64 {
	if p := parsePath(pathOf(address)); p.kind == roomPrincipal {
		return p.id
	}
	local, ok := strings.CutSuffix(emailOf(address), "@"+s.Settings().Domain)
	number, isRoom := strings.CutPrefix(local, "room-")
	id, err := strconv.ParseInt(number, 10, 64)
	if !ok || !isRoom || err != nil {
		return 0
	}
	return id
}

// target returns what is stored under the name, or a new object, and the meeting or series that it
// shows.
func (u *upload) target(existing *Change) (*Stored, Member, error) {
	all, err := u.Store.Objects(u.ctx(), u.by.ID)
	if err != nil {
		return nil, Member{}, err
	}
	stored := &Stored{UserID: u.by.ID, Name: u.place.name, UID: u.object.UID, CreatedAt: u.Now()}
	for _, o := range all {
		switch {
		case o.Name == u.place.name && o.UID != u.object.UID && existing != nil:
			return nil, Member{}, precondition("no-uid-conflict", "UID: must stay "+o.UID)
		case o.Name == u.place.name:
			o.UID, stored = u.object.UID, o
		case o.UID == u.object.UID:
			at := u.place.with(object, o.Name).path()
			return nil, Member{}, &davError{status: http.StatusForbidden, condition: "no-uid-conflict", space: calNS, content: href(at)}
		}
	}
	if existing == nil {
		target, err := u.byMail()
		return stored, target, err
	}
	target := memberOf(existing.Object)
	if target.ObjectID != 0 {
		return stored, Member{}, nil
	}
	if stored.ID == 0 {
		e, err := u.entry(u.ctx(), u.collection(), target)
		if err != nil {
			return nil, Member{}, err
		}
		if e == nil {
			return nil, Member{}, ErrChanged
		}
		uid := e.UID
		if uid == "" {
			uid = u.Calendars.UID(target.MeetingID, target.SeriesID)
		}
		if uid != u.object.UID {
			return nil, Member{}, precondition("no-uid-conflict", "UID: must stay "+uid)
		}
	}
	return stored, target, nil
}

// byMail returns what invitations by mail booked for a new event before its program stored it here. It is the
// program's from then on, which goes on notifying the attendees.
func (u *upload) byMail() (Member, error) {
	if !u.own || len(u.rooms) == 0 || !u.Settings().Schedule {
		return Member{}, nil
	}
	return u.Store.Adopt(u.ctx(), u.object.UID, u.by.Email)
}

// span is when an event without a meeting takes place. One with a rule has no end here: its last date
// does not matter much.
func (u *upload) span() (start, end time.Time) {
	head := u.object.Head()
	start, end = head.Start.In(time.UTC), head.End.In(time.UTC)
	for _, e := range u.object.Overrides {
		start, end = clock.Earlier(start, e.Start.In(time.UTC)), clock.Later(end, e.End.In(time.UTC))
	}
	if len(head.Rules)+len(head.RDates) > 0 {
		end = time.Time{}
	}
	return start.Add(-24 * time.Hour), laterBy(end, 24*time.Hour) // floating times may be anywhere
}

func laterBy(t time.Time, d time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(d)
}

// refused returns the response to a change that the rules refuse.
func (u *upload) refused(err error) error {
	if text, ok := refusal(err); ok {
		return precondition("allowed-organizer-scheduling-object-change", text)
	}
	return err
}

// refusal explains why a booking or a change was refused; false: it was not, something failed.
func refusal(err error) (string, bool) {
	if _, ok := errors.AsType[*meeting.ConflictError](err); ok {
		return "the room is taken", true
	}
	if e, ok := errors.AsType[*meeting.SeriesConflictError](err); ok {
		return e.Error(), true
	}
	if e, ok := errors.AsType[*meeting.PolicyError](err); ok {
		var texts []string
		for _, v := range e.Violations {
			texts = append(texts, strings.TrimSpace(v.Location+" "+v.Message))
		}
		return strings.Join(texts, "; "), true
	}
	if _, ok := errors.AsType[*meeting.InvalidError](err); ok {
		return fault.Plain(err).Error(), true
	}
	if e, ok := errors.AsType[*meeting.StateError](err); ok {
		return e.Error(), true
	}
	if e, ok := errors.AsType[*meeting.ForeignError](err); ok {
		return e.Error(), true
	}
	return "", false
}

// refusedRooms returns the rooms that a refusal is about; nil if it is not about single rooms.
func refusedRooms(err error) (rooms []int64) {
	var conflicts []meeting.Occupancy
	var violations []meeting.Fault
	if e, ok := errors.AsType[*meeting.ConflictError](err); ok {
		conflicts = e.Conflicts
	}
	if e, ok := errors.AsType[*meeting.PolicyError](err); ok {
		violations = e.Violations
	}
	if e, ok := errors.AsType[*meeting.SeriesConflictError](err); ok {
		for _, d := range e.Dates {
			conflicts, violations = append(conflicts, d.Conflicts...), append(violations, d.Violations...)
		}
	}
	for _, c := range conflicts {
		rooms = append(rooms, c.RoomID)
	}
	for _, v := range violations {
		if v.Figures.RoomID == 0 {
			return nil
		}
		rooms = append(rooms, v.Figures.RoomID)
	}
	slices.Sort(rooms)
	return slices.Compact(rooms)
}

// fields of an event are its texts and people, without rooms and the user.
func (u *upload) fields(e *itip.Event) booking.Fields {
	f := importing.FieldsOf(e)
	people := slices.DeleteFunc(*f.Attendees, func(p meeting.Person) bool {
		return u.roomOf(p.Email) != 0 || strings.EqualFold(p.Email, u.by.Email)
	})
	f.Attendees = &people
	return f
}

// dates of the event. Floating times and days count in the zone of the first room.
func (u *upload) dates(rooms []int64) (*itip.Dates, error) {
	zone := time.UTC
	if len(rooms) > 0 {
		room, err := u.Meetings.Room(u.ctx(), rooms[0])
		if err != nil {
			return nil, err
		}
		zone = clock.ZoneOrUTC(room.Zone)
	}
	d, err := u.object.Dates(zone, u.Now().AddDate(1, 0, 0))
	if err != nil {
		return nil, precondition("valid-calendar-data", err.Error())
	}
	return d, nil
}

// book books the rooms of a new event. Rooms that cannot be booked decline. If all decline, the event is
// stored and books nothing.
func (u *upload) book() (Member, error) {
	found, err := u.Store.Rooms(u.ctx(), u.rooms)
	if err != nil {
		return Member{}, err
	}
	found = u.by.VisibleRooms(found)
	rooms := slices.DeleteFunc(slices.Clone(u.rooms), func(id int64) bool {
		return !slices.ContainsFunc(found, func(r *meeting.Room) bool { return r.ID == id })
	})
	if len(rooms) == 0 {
		u.declined = u.rooms
		return Member{}, nil
	}
	dates, err := u.dates(rooms)
	if err != nil {
		return Member{}, err
	}
	f := series.Fields{Fields: u.fields(u.object.Head()), OnConflict: meeting.FailOnConflict}
	f.RoomIDs = &rooms
	var target Member
	if dates.Set == nil {
		f.Start, f.End = new(clock.At(dates.Slot.Start)), new(clock.At(dates.Slot.End))
		if dates.Zone != "UTC" {
			f.Timezone = &dates.Zone
		}
	} else {
		u.recurring(&f, dates)
	}
	declined, err := u.inRooms(nil, rooms, true, &f.Fields, func() error {
		if dates.Set == nil {
			m, err := u.Meetings.Book(u.ctx(), u.by, f.Fields)
			if err == nil {
				target.MeetingID = m.ID
			}
			return err
		}
		return u.tolerating(&f, dates, func() error {
			made, err := u.Series.Book(u.ctx(), u.by, f)
			if err == nil {
				target.SeriesID = made.Series.ID
			}
			return err
		})
	})
	u.declined = append(without(u.rooms, rooms), declined...)
	switch _, ok := refusal(err); {
	case ok:
		u.findRooms()
		u.declined, err = u.rooms, nil
	case err == nil && target.SeriesID != 0:
		err = u.changeDates(target.SeriesID, nil)
	}
	return target, err
}

// recurring sets the rule of a series, its first date and its dates. An event that takes place once is a series of one
// date.
func (u *upload) recurring(f *series.Fields, d *itip.Dates) {
	set := d.Set
	if set == nil {
		zone := clock.ZoneOrUTC(d.Zone)
		set = &recurrence.Set{Start: clock.Wall(d.Slot.Start, zone), End: clock.Wall(d.Slot.End, zone), Rule: once}
	}
	f.Timezone, f.Rule = &d.Zone, new(set.Rule.String())
	f.Start, f.End = new(clock.Parse(set.Start.Format(clock.WallLayout))), new(clock.Parse(set.End.Format(clock.WallLayout)))
	ex, extra := make([]clock.Time, len(set.ExDates)), make([]clock.Time, len(set.RDates))
	for i, w := range set.ExDates {
		ex[i] = clock.ParseDate(w.String())
	}
	for i, w := range set.RDates {
		extra[i] = clock.ParseDate(w.String())
	}
	f.ExDates, f.RDates = &ex, &extra
}

var once, _ = recurrence.ParseRule("FREQ=DAILY;COUNT=1")
