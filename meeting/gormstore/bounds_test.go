package gormstore_test

import (
	"fmt"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/finding"
)

// crowded makes 20,010 meetings on one day: 2,001 in each of ten rooms, one minute each. They were
// ended as they began, so that many may share a minute.
func (f *fixture) crowded() (total int) {
	f.Helper()
	const each = 2001
	start := "CAST(? AS timestamptz) + interval '1 minute' * (n.i % 1400)"
	end := "CAST(? AS timestamptz) + interval '1 minute' * (n.i % 1400 + 1)"
	if f.db.Dialect == "sqlite" {
		start, end = "? + 60000000 * (n.i % 1400)", "? + 60000000 * (n.i % 1400 + 1)"
	}
	for i := range 10 {
		room := f.room("Crowded " + strconv.Itoa(i))
		day := now.Truncate(24 * time.Hour)
		f.sql(`INSERT INTO meetings (title, starts_at, ends_at, timezone, organizer_id, status, visibility, ended_at, created_at, updated_at)
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
			SELECT 'Stand-up', `+start+`, `+end+`, 'UTC', ?, 'ended', 'private', `+start+`, ?, ? FROM n`, each, day, day, f.anna.ID, day, now, now)
		f.sql(`INSERT INTO meeting_rooms (meeting_id, room_id, position) SELECT id, ?, 0 FROM meetings WHERE id NOT IN (SELECT meeting_id FROM meeting_rooms)`, room.ID)
	}
	return 10 * each
}

// A page costs no more than its bounds allow, says where to go on, and pages together miss nothing.
func TestBounds_pagesEndEarly(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		total := f.crowded()
		f.sql("UPDATE meetings SET title = 'Rare' WHERE id = (SELECT id FROM meetings ORDER BY starts_at DESC, id DESC LIMIT 1)")
		// Too short for the index of words.
		page, next, err := f.store.ListMeetings(t.Context(), meeting.MeetingQuery{Text: "ra"}, meeting.Page{Limit: 10})
		if err != nil || len(page) != 0 || next == "" {
			t.Errorf("a search beyond the bound of a page: %d, %q, %v", len(page), next, err)
		}
		if found := f.all(meeting.MeetingQuery{Text: "ra"}, 10); len(found) != 1 {
			t.Errorf("a search of all pages found %d", len(found))
		}
		page, _, err = f.store.ListMeetings(t.Context(), meeting.MeetingQuery{Text: "rare"}, meeting.Page{Limit: 10})
		if err != nil || len(page) != 1 {
			t.Errorf("a search for a rare word: %d, %v", len(page), err)
		}

		settings := meeting.Settings{Timezone: "UTC"}
		service := f.finding(people{f}, settings, func() time.Time { return now })
		day := now.Truncate(24 * time.Hour)
		q := finding.GridQuery{Span: clock.Slot{Start: day, End: day.AddDate(0, 0, 1)}}
		seen, rooms := map[meeting.ID]bool{}, 0
		for p := (meeting.Page{Limit: 500}); ; {
			g, next, err := service.Grid(t.Context(), f.anna, q, p)
			if err != nil {
				t.Fatal(err)
			}
			if len(g.Meetings) > 5000 {
				t.Errorf("a page of the grid has %d meetings", len(g.Meetings))
			}
			rooms += len(g.Rooms)
			for _, m := range g.Meetings {
				seen[m.ID] = true
			}
			if p.Cursor = next; next == "" {
				break
			}
		}
		if rooms != 13 || len(seen) != total {
			t.Errorf("the grid has %d rooms and %d meetings, want 13 and %d", rooms, len(seen), total)
		}

		// 60 meetings of 400 attendees.
		f.sql("DELETE FROM meetings WHERE id NOT IN (SELECT id FROM meetings ORDER BY starts_at, id LIMIT 60)")
		f.sql(`INSERT INTO attendees (meeting_id, position, email, response)
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
			SELECT m.id, n.i, 'guest' || n.i || '@example.net', 'needs_action' FROM meetings m, n`)
		for _, limit := range []int{1, 20, 21, 59, 60, 61, 500} {
			seen := map[meeting.ID]bool{}
			for p := (meeting.Page{Limit: limit}); ; {
				page, next, err := f.store.ListMeetings(t.Context(), meeting.MeetingQuery{}, p)
				if err != nil {
					t.Fatal(err)
				}
				if len(page) > 25 { // 25 * 400 attendees
					t.Errorf("limit %d: a page has %d meetings of 400 attendees", limit, len(page))
				}
				for _, m := range page {
					seen[m.ID] = len(m.Attendees) == 400
				}
				if p.Cursor = next; next == "" {
					break
				}
			}
			if len(seen) != 60 {
				t.Errorf("limit %d: %d meetings", limit, len(seen))
			}
		}
	})
}

// A room that is taken often within the span is given its first reasons, and the number of the others.
func TestBounds_reasons(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		for i := range 25 {
			start := now.Add(time.Duration(i+1) * time.Hour)
			f.book(clock.Slot{Start: start, End: start.Add(time.Minute)}, f.turing)
		}
		settings := meeting.Settings{Timezone: "UTC"}
		service := f.finding(people{f}, settings, func() time.Time { return now })
		ask := func(days int) ([]finding.Availability, error) {
			found, _, err := service.Availability(t.Context(), f.anna, finding.AvailabilityQuery{
				Need: finding.Need{RoomIDs: []int64{f.turing.ID}}, Slot: clock.Slot{Start: now, End: now.AddDate(0, 0, days)},
			}, meeting.Page{})
			return found, err
		}
		found, err := ask(31)
		if err != nil || len(found) != 1 || len(found[0].Reasons) != 20 || found[0].MoreReasons != 5 {
			t.Errorf("%s, %v", fmt.Sprintf("%+v", found), err)
		}
		if _, err := ask(32); err == nil {
			t.Error("more than 31 days are accepted")
		}
	})
}

// finding returns the service that finds rooms.
func (f *fixture) finding(d booking.Directory, settings meeting.Settings, now func() time.Time) *finding.Service {
	inForce := func() meeting.Settings { return settings }
	return finding.NewService(f.store, newServices(f.store, d, nothing{}, inForce, now, slog.New(slog.DiscardHandler)), inForce, now)
}
