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
				found[strings.ToLower(email)] = meeting.Person{UserID: a.ID, Email: a.Email, Name: a.Name}
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
