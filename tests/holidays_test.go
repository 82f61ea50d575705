package tests

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

type holidaysAnswer struct {
	ID, Version          int64
	Days, Added, Removed []struct{ UID, First, Last, Name string }
	LeftOut              []struct {
		Line   int
		Reason string
	} `json:"left_out"`
	Affected []testenv.Meeting
}

// dayEvent is an event of whole days.
func dayEvent(uid string, first time.Time, days int, name string, more ...string) string {
	lines := append([]string{"BEGIN:VEVENT", "UID:" + uid, "DTSTAMP:20260101T000000Z", "DTSTART;VALUE=DATE:" + first.Format("20060102"),
		"DTEND;VALUE=DATE:" + first.AddDate(0, 0, days).Format("20060102"), "SUMMARY:" + name, "TRANSP:TRANSPARENT"}, more...)
	return strings.Join(append(lines, "END:VEVENT"), "\r\n") + "\r\n"
}

func calendarOf(events ...string) string {
	return "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\n" + strings.Join(events, "") + "END:VCALENDAR\r\n"
}

// TestHolidays: the days of a calendar close sites in their zone, like blackouts, and follow its next
// upload.
func TestHolidays(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice := admin.NewUser(t, "Alice", "member")
		var tokyo, berlin struct{ ID int64 }
		admin.Want(t, http.StatusCreated, http.MethodPost, "/sites", with{"name": "Tokyo", "timezone": "Asia/Tokyo"}, &tokyo)
		admin.Want(t, http.StatusCreated, http.MethodPost, "/sites", with{"name": "Berlin", "timezone": "Europe/Berlin"}, &berlin)
		east, west, alone := admin.NewRoom(t, "East", with{"site_id": tokyo.ID}), admin.NewRoom(t, "West", with{"site_id": berlin.ID}), admin.NewRoom(t, "Alone")
		day := inSeconds(0).UTC().Truncate(24*time.Hour).AddDate(0, 0, 30)
		inTokyo := day.Add(-9 * time.Hour) // its midnight there
		before := alice.Book(t, testenv.Booking(day.Add(3*time.Hour), day.Add(4*time.Hour), []int64{east.ID}))

		ics := calendarOf(
			dayEvent("a@example.org", day, 1, "Founding day"),
			dayEvent("b@example.org", day.AddDate(0, 0, 9), 2, "Summer party"),
			dayEvent("old@example.org", day.AddDate(-1, 0, 0), 1, "Past"),
			"BEGIN:VEVENT\r\nUID:c\r\nDTSTAMP:20260101T000000Z\r\nDTSTART:20300101T100000Z\r\nDTEND:20300101T110000Z\r\nSUMMARY:Timed\r\nEND:VEVENT\r\n")
		alice.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, "/holidays", with{"name": "Mine", "ics": ics})
		if p := admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/holidays", with{"name": "Bad", "ics": "nothing", "site_ids": []int64{4711}}); len(p.Errors) != 2 {
			t.Errorf("faults %+v", p.Errors)
		}
		var seen holidaysAnswer
		admin.Want(t, http.StatusOK, http.MethodPost, "/holidays/preview", with{"ics": ics, "site_ids": []int64{tokyo.ID}}, &seen)
		if len(seen.Added) != 2 || len(seen.LeftOut) != 1 || seen.LeftOut[0].Reason != "not_whole_days" || len(seen.Affected) != 1 || seen.Affected[0].ID != before.ID {
			t.Errorf("preview %+v", seen)
		}
		alice.Book(t, testenv.Booking(inTokyo.Add(time.Hour), inTokyo.Add(2*time.Hour), []int64{east.ID})) // nothing is closed yet

		var made holidaysAnswer
		admin.Want(t, http.StatusCreated, http.MethodPost, "/holidays", with{"name": "Japan", "ics": ics, "site_ids": []int64{tokyo.ID}}, &made)
		if len(made.Affected) != 2 {
			t.Errorf("affected %+v", made.Affected)
		}
		refused := func(room testenv.Room, from time.Time) bool {
			t.Helper()
			res := alice.Do(t, http.MethodPost, "/meetings", testenv.Booking(from, from.Add(time.Minute), []int64{room.ID}))
			if res.Status == http.StatusUnprocessableEntity && strings.Contains(string(res.Body), "blackout") {
				return true
			}
			if res.Status != http.StatusCreated {
				t.Errorf("status %d: %s", res.Status, res.Body)
			}
			return false
		}
		check := func(what string, got, want bool) {
			t.Helper()
			if got != want {
				t.Errorf("%s: refused is %t, want %t", what, got, want)
			}
		}
		check("the last minute before it", refused(east, inTokyo.Add(-time.Minute)), false)
		check("its first minute", refused(east, inTokyo), true)
		check("its last minute", refused(east, inTokyo.Add(24*time.Hour-time.Minute)), true)
		check("after it", refused(east, inTokyo.Add(24*time.Hour)), false)
		check("the second day of the party", refused(east, inTokyo.AddDate(0, 0, 10).Add(time.Hour)), true)
		check("another site", refused(west, day.Add(5*time.Hour)), false)

		var series struct {
			Meetings []testenv.Meeting
			Skipped  []struct{ Reason string }
		}
		from := day.AddDate(0, 0, 8).Add(2 * time.Hour)
		alice.Want(t, http.StatusCreated, http.MethodPost, "/series", testenv.Booking(from, from.Add(time.Hour), []int64{east.ID},
			with{"timezone": "Asia/Tokyo", "rrule": "FREQ=DAILY;COUNT=4", "on_conflict": "skip"}), &series)
		if len(series.Meetings) != 2 || len(series.Skipped) != 2 {
			t.Errorf("a series over the party: %+v", series)
		}

		blackouts := testenv.All[struct {
			ID         int64
			Reason     string
			CalendarID *int64 `json:"calendar_id"`
		}](t, alice, at("/blackouts?room_id=%d", east.ID))
		if len(blackouts) != 2 || blackouts[0].Reason != "Founding day" || blackouts[0].CalendarID == nil || *blackouts[0].CalendarID != made.ID {
			t.Fatalf("blackouts %+v", blackouts)
		}
		admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodDelete, at("/blackouts/%d", blackouts[0].ID), nil)
		admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPatch, at("/blackouts/%d", blackouts[0].ID), with{"reason": "Other"})

		// The next upload: one day has moved, one is gone, one is new, and all places are closed.
		var changed holidaysAnswer
		admin.Want(t, http.StatusOK, http.MethodPatch, at("/holidays/%d", made.ID), with{"site_ids": []int64{},
			"ics": calendarOf(dayEvent("a@example.org", day.AddDate(0, 0, 1), 1, "Founding day"), dayEvent("d@example.org", day.AddDate(0, 0, 20), 1, "New", "RRULE:FREQ=YEARLY"))}, &changed)
		if len(changed.Days) != 4 || len(changed.Added) != 4 || len(changed.Removed) != 2 {
			t.Errorf("the next upload: %+v", changed)
		}
		check("the day before, opened", refused(east, inTokyo.Add(2*time.Hour)), false)
		check("the new day", refused(east, inTokyo.AddDate(0, 0, 1)), true)
		check("another site now", refused(west, day.AddDate(0, 0, 1).Add(12*time.Hour)), true)
		check("a room without a site", refused(alone, day.AddDate(0, 0, 1)), true)
		later := admin.NewRoom(t, "Later")
		check("a new room", refused(later, day.AddDate(0, 0, 1)), true)
		admin.Want(t, http.StatusOK, http.MethodPatch, at("/rooms/%d", later.ID), with{"site_id": tokyo.ID}, nil)
		check("a room that joined a site: the day of its old zone", refused(later, inTokyo.AddDate(0, 0, 2).Add(time.Hour)), false)
		admin.Want(t, http.StatusOK, http.MethodPatch, at("/sites/%d", tokyo.ID), with{"timezone": "UTC"}, nil)
		check("the zone of the site changed", refused(later, day.AddDate(0, 0, 2).Add(-time.Minute)), true)
		var osaka struct{ ID int64 }
		admin.Want(t, http.StatusCreated, http.MethodPost, "/sites", with{"name": "Osaka", "timezone": "Asia/Tokyo"}, &osaka)
		check("a new site", refused(admin.NewRoom(t, "South", with{"site_id": osaka.ID}), inTokyo.AddDate(0, 0, 1)), true)

		admin.Want(t, http.StatusNoContent, http.MethodDelete, at("/holidays/%d", made.ID), nil, nil)
		check("deleted", refused(alone, day.AddDate(0, 0, 1).Add(time.Hour)), false)
		if all := testenv.All[struct{ ID int64 }](t, admin, "/blackouts"); len(all) != 0 {
			t.Errorf("%d blackouts are left", len(all))
		}
		if actions := fmt.Sprint(testenv.All[struct{ Action string }](t, admin, "/audit?limit=100")); !strings.Contains(actions, "holidays.created") || !strings.Contains(actions, "holidays.deleted") {
			t.Errorf("audit: %s", actions)
		}
	})
}
