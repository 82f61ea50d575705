package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/importing"
	"punctual/meeting/importing/moving"
	"punctual/meeting/itip"
	"punctual/meeting/policy"
)

// importer imports calendars into a store.
type importer struct {
	*fixture
	meetings *services
	imports  *importing.Service
	options  importing.Options
}

// users are those of a fixture.
type users struct {
	nobody
	f *fixture
}

func (u users) ByEmail(_ context.Context, emails []string) (map[string]meeting.Person, error) {
	found := map[string]meeting.Person{}
	for _, a := range []meeting.Actor{u.f.admin, u.f.manager, u.f.anna, u.f.ben} {
		for _, email := range emails {
			if strings.EqualFold(email, a.Email) {
				found[strings.ToLower(email)] = meeting.Person{UserID: a.ID, Email: a.Email, Name: a.Name, Role: a.Role}
			}
		}
	}
	return found, nil
}

func newImporter(f *fixture) *importer {
	settings := func() meeting.Settings {
		return meeting.Settings{Timezone: "Europe/Berlin", Limits: policy.Limits{MaxOccurrences: 10, MaxDuration: 24 * time.Hour, MaxAdvance: 365 * 24 * time.Hour},
			Reminders: []meeting.Reminder{{Before: meeting.BeforeStart, Offset: 15 * time.Minute, Channels: []meeting.Channel{meeting.Email}}}}
	}
	clock := func() time.Time { return now }
	i := &importer{fixture: f}
	i.meetings = newServices(f.store, users{f: f}, nothing{}, settings, clock, slog.New(slog.DiscardHandler))
	i.imports = importing.NewService(i.meetings.Service, i.meetings.series, f.store, users{f: f}, settings, clock, func(uid string) bool { return strings.HasSuffix(uid, "@ours") }, 3)
	return i
}

// vevent is one event; its times are in UTC, days after now.
func vevent(uid string, day int, more ...string) string {
	start := now.AddDate(0, 0, day).Truncate(time.Hour)
	lines := append([]string{
		"BEGIN:VEVENT", "UID:" + uid, "SUMMARY:" + uid, "ORGANIZER:MAILTO:Anna@example.org", "LOCATION:Turing",
		"DTSTART:" + start.Format("20060102T150405Z"), "DTEND:" + start.Add(time.Hour).Format("20060102T150405Z"),
	}, more...)
	return strings.Join(append(lines, "END:VEVENT", ""), "\n")
}

func (i *importer) run(events ...string) []importing.Item {
	i.Helper()
	text := "BEGIN:VCALENDAR\n" + strings.Join(events, "") + "END:VCALENDAR\n"
	calendar, err := itip.Read(strings.NewReader(text), itip.ImportLimits)
	if err != nil {
		i.Fatal(err)
	}
	report, err := i.imports.Import(i.Context(), i.admin, []importing.Source{{Name: "a.ics", Calendar: calendar}}, i.options)
	if err != nil {
		i.Fatal(err)
	}
	return report.Items
}

// results are what became of each event, with the reasons.
func results(items []importing.Item) string {
	var out []string
	for _, i := range items {
		text := i.UID + " " + string(i.Result)
		if i.Reason != "" {
			text += " " + i.Reason
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func (i *importer) want(want string, events ...string) []importing.Item {
	i.Helper()
	items := i.run(events...)
	if diff := cmp.Diff(want, results(items)); diff != "" {
		i.Errorf("%s%+v", diff, items)
	}
	return items
}

func TestImport_once(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		i := newImporter(f)
		other := vevent("other", 2, "LOCATION:hopper,  TURING", "CLASS:PRIVATE", "ATTENDEE;PARTSTAT=ACCEPTED;CN=Ben:mailto:ben@example.org",
			"ATTENDEE;CUTYPE=ROOM:mailto:somewhere@example.org", "ATTENDEE:invalid:nomail", "ATTENDEE:MAILTO:anna@example.org")
		all := []string{
			vevent("plain", 1, "SEQUENCE:1"), other, vevent("past", -20), vevent("cancelled", 1, "STATUS:CANCELLED"), vevent("free", 1, "TRANSP:TRANSPARENT"),
			vevent("elsewhere", 3, "LOCATION:Moon"), vevent("unknown", 4, "ORGANIZER:mailto:nobody@example.org"), vevent("broken", 5, "DTEND;TZID=Moon:20270101T090000"),
			vevent("taken", 1, "DESCRIPTION:at the same time as plain"),
		}
		i.options.DryRun = true
		const outcome = "plain created, other created, past created, cancelled skipped cancelled, free skipped transparent, elsewhere failed unknown_room, " +
			"unknown failed unknown_organizer, broken failed invalid, taken failed room_conflict"
		i.want(outcome, all...)
		if n := f.count("meetings"); n != 0 {
			t.Fatalf("a dry run booked %d meetings", n)
		}
		i.options.DryRun = false
		items := i.want(outcome, all...)
		if n := f.count("told"); n != 0 {
			t.Errorf("%d people were notified", n)
		}
		if c := items[8].Conflicts; len(c) != 1 || c[0].RoomID != f.turing.ID || items[8].Line <= items[7].Line || items[8].File != "a.ics" {
			t.Errorf("%+v", items[8])
		}
		private := f.read(items[1].MeetingID)
		if private.Visibility != meeting.Private || len(private.RoomIDs) != 2 || private.Organizer.UserID != f.anna.ID || len(private.Attendees) != 1 ||
			private.Attendees[0].Response != meeting.Accepted || len(private.Reminders) != 0 || private.Status != meeting.Confirmed {
			t.Errorf("%+v", private)
		}
		if past := f.read(items[2].MeetingID); past.Status != meeting.Ended || !past.EndedAt.Equal(past.Slot.End) {
			t.Errorf("%+v", past)
		}
		seen, err := i.meetings.Meeting(t.Context(), f.anna, items[1].MeetingID)
		if err != nil || seen.Origin == nil || seen.Origin.UID != "other" || seen.Origin.Organizer != "anna@example.org" || seen.Origin.Kind != meeting.OriginImport {
			t.Errorf("%+v, %v", seen.Origin, err)
		}
		if stranger, err := i.meetings.Meeting(t.Context(), f.manager, items[1].MeetingID); err != nil || stranger.Origin != nil {
			t.Errorf("a stranger sees the origin %+v of a private meeting, %v", stranger.Origin, err)
		}
		i.want("plain unchanged, other unchanged, past unchanged, cancelled skipped cancelled, free skipped transparent, elsewhere failed unknown_room, "+
			"unknown failed unknown_organizer, broken failed invalid, taken failed room_conflict", all...)

		i.options.RoomID, i.options.OrganizerEmail = f.wide.ID, f.ben.Email
		items = i.want("elsewhere created, unknown created", all[5], all[6])
		if m := f.read(items[1].MeetingID); m.Organizer.UserID != f.ben.ID || !strings.Contains(m.Description, "nobody@example.org") {
			t.Errorf("%+v", m)
		}
	})
}

// Of two calendars that have the same event in different rooms, one books it.
func TestImport_sameEventTwice(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		i := newImporter(f)
		var both []importing.Source
		for _, room := range []string{"Turing", "Hopper"} {
			calendar, err := itip.Read(strings.NewReader("BEGIN:VCALENDAR\n"+vevent("same", 1, "LOCATION:"+room)+"END:VCALENDAR\n"), itip.ImportLimits)
			if err != nil {
				t.Fatal(err)
			}
			both = append(both, importing.Source{Calendar: calendar})
		}
		report, err := i.imports.Import(t.Context(), i.admin, both, i.options)
		if err != nil || report.Count(importing.Created) != 1 || report.Count(importing.Unchanged) != 1 {
			t.Errorf("%+v, %v", report, err)
		}
		for table, want := range map[string]int64{"meetings": 1, "occupancies": 1, "calendar_objects": 1} {
			if n := f.count(table); n != want {
				t.Errorf("%d %s", n, table)
			}
		}
	})
}

func TestImport_newerVersions(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		i := newImporter(f)
		first := i.run(vevent("a", 1, "SEQUENCE:2", "DTSTAMP:20260101T000000Z"))[0]
		i.want("a unchanged", vevent("a", 5, "SEQUENCE:1", "DTSTAMP:20260105T000000Z"))
		i.want("a unchanged", vevent("a", 1, "SEQUENCE:2", "DTSTAMP:20260102T000000Z")) // nothing differs
		i.want("a updated", vevent("a", 2, "SEQUENCE:3", "SUMMARY:Moved"))
		if m := f.read(first.MeetingID); m.Title != "Moved" || !m.Slot.Start.Equal(now.AddDate(0, 0, 2).Truncate(time.Hour)) {
			t.Errorf("%+v", m)
		}
		i.want("a created", vevent("a", 3, "ORGANIZER:mailto:ben@example.org")) // another organizer cannot touch it
		f.book(clock.Slot{Start: now.AddDate(0, 0, 4).Truncate(time.Hour), End: now.AddDate(0, 0, 4).Add(time.Hour)}, f.turing)
		i.want("a failed room_conflict", vevent("a", 4, "SEQUENCE:4"))
		i.want("a cancelled", vevent("a", 2, "SEQUENCE:5", "STATUS:CANCELLED"))
		if m := f.read(first.MeetingID); m.Status != meeting.Cancelled {
			t.Errorf("is %s", m.Status)
		}
		i.want("a unchanged", vevent("a", 2, "SEQUENCE:5", "STATUS:CANCELLED"))
		if n := f.count("told"); n != 0 {
			t.Errorf("%d people were notified", n)
		}
	})
}

func TestImport_series(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		i := newImporter(f)
		start := now.AddDate(0, 0, 1).Truncate(time.Hour)
		day := func(n int) string { return start.AddDate(0, 0, n).Format("20060102T150405Z") }
		series := func(sequence string, more ...string) string {
			return vevent("s", 1, append([]string{"SEQUENCE:" + sequence, "RRULE:FREQ=DAILY;COUNT=5", "EXDATE:" + day(1)}, more...)...)
		}
		moved := vevent("s", 3, "RECURRENCE-ID:"+day(2), "SUMMARY:Moved", "LOCATION:Hopper", "DTSTART:"+day(10), "DTEND:"+start.AddDate(0, 0, 10).Add(2*time.Hour).Format("20060102T150405Z"))
		f.book(clock.Slot{Start: start.AddDate(0, 0, 4), End: start.AddDate(0, 0, 4).Add(time.Hour)}, f.turing)
		i.want("s failed room_conflict", series("1"), moved)

		i.options.OnConflict = meeting.SkipOnConflict
		made := i.want("s created", series("1"), moved)[0]
		if made.SeriesID == 0 || len(made.Dates) != 1 || !made.Dates[0].OriginalStart.Equal(start.AddDate(0, 0, 4)) {
			t.Fatalf("%+v", made)
		}
		dates := func() string {
			ms, err := f.store.SeriesMeetings(t.Context(), made.SeriesID)
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for _, m := range ms {
				if !m.Status.Over() {
					out = append(out, fmt.Sprintf("%d %s %s %s", int(m.Slot.Start.Sub(start).Hours()/24), m.Title, m.RoomNames[0], m.Slot.Duration()))
				}
			}
			return strings.Join(out, ", ")
		}
		if diff := cmp.Diff("0 s Turing 1h0m0s, 3 s Turing 1h0m0s, 10 Moved Hopper 2h0m0s", dates()); diff != "" {
			t.Error(diff)
		}
		i.want("s unchanged", series("1"), moved)
		i.want("s updated", series("2", "SUMMARY:Renamed"), moved)
		if got := dates(); !strings.Contains(got, "Renamed") || !strings.Contains(got, "Moved") {
			t.Error(got)
		}
		i.want("s updated", vevent("s", 1, "SEQUENCE:3")) // no longer a series
		if got := dates(); got != "" {
			t.Errorf("still has %s", got)
		}
		if n := f.count("told"); n != 0 {
			t.Errorf("%d people were notified", n)
		}
	})
}

// A series without an end is booked as far ahead as rooms can be, however many dates that makes.
func TestImport_endless(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		i := newImporter(f)
		made := i.want("e created", vevent("e", -20, "RRULE:FREQ=WEEKLY"))[0]
		ms, err := f.store.SeriesMeetings(t.Context(), made.SeriesID)
		if err != nil {
			t.Fatal(err)
		}
		if last := ms[len(ms)-1].Slot.Start; len(ms) != 56 || last.After(now.AddDate(1, 0, 0)) || last.Before(now.AddDate(1, 0, -7)) {
			t.Errorf("%d dates up to %v", len(ms), last)
		}
		if ms[0].Status != meeting.Ended || ms[10].Status != meeting.Confirmed {
			t.Errorf("the first is %s, a later one %s", ms[0].Status, ms[10].Status)
		}
		i.options.From = now
		made = i.want("f created", vevent("f", -20, "RRULE:FREQ=WEEKLY;COUNT=5", "LOCATION:Hopper"))[0]
		if ms, err = f.store.SeriesMeetings(t.Context(), made.SeriesID); err != nil || len(ms) != 2 {
			t.Errorf("%d dates, %v", len(ms), err)
		}
		i.want("g skipped before_from", vevent("g", -2))
		i.want("meeting-1@ours skipped own", vevent("meeting-1@ours", 40)) // an export that is read back
	})
}

func TestImport_policies(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		i := newImporter(f)
		f.room("Early", func(r *meeting.Room) {
			r.Policy.MaxDuration, r.Approval.Required = 30*time.Minute, true
		})
		early := vevent("early", 1, "LOCATION:Early")
		i.want("early failed max_duration", early)
		i.options.OnConflict = meeting.OtherRoom
		f.book(clock.Slot{Start: now.AddDate(0, 0, 2).Truncate(time.Hour), End: now.AddDate(0, 0, 2).Add(time.Hour)}, f.turing)
		other := i.want("b created", vevent("b", 2))[0]
		if m := f.read(other.MeetingID); m.RoomIDs[0] == f.turing.ID {
			t.Errorf("in rooms %v", m.RoomIDs)
		}
		i.options.Override = "moved from the old system"
		made := i.want("early created", early)[0]
		if m := f.read(made.MeetingID); m.Status != meeting.Confirmed {
			t.Errorf("is %s", m.Status)
		}
	})
}

func TestImport_onlyAdmins(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		i := newImporter(f)
		for _, by := range []meeting.Actor{f.anna, f.manager} {
			if _, err := i.imports.Import(t.Context(), by, nil, importing.Options{}); !errors.Is(err, meeting.ErrForbidden) {
				t.Errorf("%s: %v", by.Role, err)
			}
			forged := booking.Fields{Import: &meeting.Import{Organizer: meeting.Person{UserID: f.ben.ID}}}
			if _, err := i.meetings.Book(t.Context(), by, forged); !errors.Is(err, meeting.ErrForbidden) {
				t.Errorf("%s: %v", by.Role, err)
			}
		}
	})
}

// If what an event has become is refused, the meeting stays what it was.
func TestImport_refusedUpdate(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		i := newImporter(f)
		f.book(clock.Slot{Start: now.AddDate(0, 0, 3).Truncate(time.Hour), End: now.AddDate(0, 0, 3).Truncate(time.Hour).Add(time.Hour)}, f.turing)
		first := i.want("a created", vevent("a", 1, "SEQUENCE:1"))[0]
		daily := []string{"SEQUENCE:2", "RRULE:FREQ=DAILY;COUNT=4"}
		for range 2 {
			item := i.want("a failed room_conflict", vevent("a", 1, daily...))[0]
			if m := f.read(first.MeetingID); m.Status != meeting.Confirmed || item.MeetingID != m.ID || item.SeriesID != 0 {
				t.Fatalf("is %s, reported %+v", m.Status, item)
			}
		}
		daily[1] = "RRULE:FREQ=DAILY;COUNT=2"
		series := i.want("a updated", vevent("a", 1, daily...))[0]
		if m := f.read(first.MeetingID); m.Status != meeting.Cancelled || series.MeetingID != 0 || series.SeriesID == 0 {
			t.Errorf("is %s, reported %+v", m.Status, series)
		}
		// And back: the only date is taken.
		if item := i.want("a failed room_conflict", vevent("a", 3, "SEQUENCE:3"))[0]; item.SeriesID != series.SeriesID || item.MeetingID != 0 {
			t.Errorf("%+v", item)
		}
		var left int64
		if err := f.db.Gorm.WithContext(t.Context()).Table("meetings").Where("series_id = ? AND status = 'confirmed'", series.SeriesID).Count(&left).Error; err != nil || left != 2 {
			t.Errorf("%d dates are left, %v", left, err)
		}
		i.want("a updated", vevent("a", 4, "SEQUENCE:4"))
	})
}

// movedPeople are users of the fixture by their addresses, and others who are added.
type movedPeople struct{ f *fixture }

func (p movedPeople) Ensure(ctx context.Context, people []moving.Person, dryRun bool) (map[string]meeting.Person, int, map[string]error, error) {
	users, created := map[string]meeting.Person{}, 0
	for _, one := range people {
		var id int64
		if err := p.f.db.Gorm.WithContext(ctx).Table("users").Select("id").Where("email = ?", one.Email).Scan(&id).Error; err != nil {
			return nil, 0, nil, err
		}
		if id == 0 {
			if created++; dryRun {
				continue
			}
			if err := p.f.db.Gorm.WithContext(ctx).Exec("INSERT INTO users (email, name, role, phone, locale, timezone, version, created_at, updated_at) VALUES (?, ?, 'member', '', '', '', 1, ?, ?)",
				one.Email, one.Name, now, now).Error; err != nil {
				return nil, 0, nil, err
			}
			if err := p.f.db.Gorm.WithContext(ctx).Table("users").Select("id").Where("email = ?", one.Email).Scan(&id).Error; err != nil {
				return nil, 0, nil, err
			}
		}
		users[one.Email] = meeting.Person{UserID: id, Email: one.Email, Name: one.Name}
	}
	return users, created, nil, nil
}

// With fail, an import that meets a meeting of this installation writes nothing, and a dry run says so before.
func TestMoving_fail(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		i := newImporter(f)
		s := moving.NewService(i.meetings.Service, i.meetings.approval, i.meetings.series, i.meetings.places, f.store, movedPeople{f}, func() time.Time { return now })
		at := func(id int64, room string, days int) moving.Booking {
			start := now.AddDate(0, 0, days).Truncate(time.Hour)
			return moving.Booking{
				Content: moving.Content{Title: fmt.Sprint("Booking ", id), Rooms: []string{room}, Organizer: "cleo"}, ID: id, Ref: fmt.Sprint("entry ", id), UID: fmt.Sprintf("%d@there", id),
				Slot: clock.Slot{Start: start, End: start.Add(time.Hour)}, Zone: "Europe/Berlin",
			}
		}
		data := &moving.Data{
			Program: "MRBS", People: []moving.Person{{Key: "cleo", Name: "Cleo", Email: "cleo@example.org"}},
			Rooms:    []moving.Room{{Key: "t", Name: "Turing"}, {Key: "n", Name: "New"}},
			Bookings: []moving.Booking{at(1, "n", 1), at(2, "t", 2), at(3, "t", 3)},
		}
		here := f.book(data.Bookings[1].Slot, f.turing)
		before := fmt.Sprint(f.count("users"), f.count("rooms"), f.count("meetings"))
		for _, dry := range []bool{true, false} {
			_, err := s.Move(t.Context(), f.admin, data, moving.Options{OnConflict: moving.Fail, DryRun: dry})
			if conflicts, ok := errors.AsType[*moving.ConflictsError](err); !ok || conflicts.N != 1 {
				t.Errorf("dry %v: %v", dry, err)
			}
			if after := fmt.Sprint(f.count("users"), f.count("rooms"), f.count("meetings")); after != before {
				t.Errorf("dry %v: users, rooms and meetings were %s and are %s", dry, before, after)
			}
		}
		report, err := s.Move(t.Context(), f.admin, data, moving.Options{DryRun: true})
		if err != nil || report.Counts["meetings"][moving.Created] != 2 || report.Counts["meetings"][moving.Taken] != 1 || len(report.Problems) != 1 || report.Problems[0].Room != "Turing" {
			t.Errorf("a dry run that keeps: %+v, %v", report, err)
		}
		if _, err := i.meetings.Cancel(t.Context(), f.admin, here.ID, nil, ""); err != nil {
			t.Fatal(err)
		}
		report, err = s.Move(t.Context(), f.admin, data, moving.Options{OnConflict: moving.Fail})
		if err != nil || report.Counts["meetings"][moving.Created] != 3 || f.count("meetings") != 4 {
			t.Errorf("%+v, %v", report, err)
		}
		// A change there that finds its room taken here is a conflict, too.
		data.Bookings[2] = at(3, "t", 5)
		f.book(data.Bookings[2].Slot, f.turing)
		data.Bookings = append(data.Bookings, at(4, "n", 4))
		if _, err := s.Move(t.Context(), f.admin, data, moving.Options{OnConflict: moving.Fail}); !errors.As(err, new(*moving.ConflictsError)) || f.count("meetings") != 5 {
			t.Errorf("%v, %d meetings", err, f.count("meetings"))
		}
	})
}
