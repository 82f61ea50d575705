package tests

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

type calendarImport struct {
	Counts map[string]int `json:"counts"`
	Items  []struct {
		Line      int    `json:"line"`
		Title     string `json:"title"`
		Result    string `json:"result"`
		Reason    string `json:"reason"`
		MeetingID int64  `json:"meeting_id"`
		Conflicts []struct {
			RoomID int64     `json:"room_id"`
			Start  time.Time `json:"start"`
		} `json:"conflicts"`
	} `json:"items"`
}

// TestImportCalendar: an admin imports a calendar by the API, looks first, and may repeat it.
func TestImportCalendar(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		admin := testenv.Server(t, on.Config).Admin(t)
		alice := admin.NewUser(t, "Alice", "member")
		room := admin.NewRoom(t, "Turing")
		start := time.Now().UTC().Add(48 * time.Hour).Truncate(time.Hour)
		event := func(uid, title, organizer string, at time.Time) string {
			return fmt.Sprintf("BEGIN:VEVENT\r\nUID:%s\r\nSUMMARY:%s\r\nORGANIZER:mailto:%s\r\nLOCATION:Turing\r\nDTSTART:%s\r\nDURATION:PT1H\r\nEND:VEVENT\r\n",
				uid, title, organizer, at.Format("20060102T150405Z"))
		}
		calendar := func(events ...string) string {
			return "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n" + strings.Join(events, "") + "END:VCALENDAR\r\n"
		}
		body := with{"ics": calendar(event("1", "Review", alice.User.Email, start), event("2", "Retro", "old@example.net", start.Add(2*time.Hour)), event("3", "Late", alice.User.Email, start))}
		changed := func(changes with) with {
			all := maps.Clone(body)
			maps.Copy(all, changes)
			return all
		}
		post := func(changes with) (got calendarImport) {
			t.Helper()
			admin.Want(t, http.StatusOK, http.MethodPost, "/imports/ics", changed(changes), &got)
			return got
		}
		results := func(r calendarImport) string {
			var texts []string
			for _, i := range r.Items {
				texts = append(texts, fmt.Sprintf("%d %s %s %s", i.Line, i.Title, i.Result, i.Reason))
			}
			return strings.Join(texts, "\n")
		}
		const first = "3 Review created \n11 Retro failed unknown_organizer\n19 Late failed room_conflict"
		if got := post(with{"dry_run": true}); results(got) != first || got.Counts["failed"] != 2 {
			t.Errorf("dry run:\n%s", results(got))
		}
		if ms := testenv.All[testenv.Meeting](t, alice, at("/meetings?room_id=%d", room.ID)); len(ms) != 0 {
			t.Errorf("a dry run booked %d meetings", len(ms))
		}
		got := post(nil)
		if results(got) != first || got.Items[2].Conflicts[0].RoomID != room.ID || !got.Items[2].Conflicts[0].Start.Equal(start) {
			t.Errorf("import:\n%+v", got)
		}
		if m := alice.Meeting(t, got.Items[0].MeetingID); m.Title != "Review" || m.Organizer.ID != alice.User.ID {
			t.Errorf("imported %+v", m)
		}
		const again = "3 Review unchanged \n11 Retro created \n19 Late skipped room_conflict"
		if got = post(with{"organizer_email": admin.User.Email, "on_conflict": "skip"}); results(got) != again {
			t.Errorf("once more:\n%s", results(got))
		}

		alice.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, "/imports/ics", body)
		for where, changes := range map[string]with{
			"body.ics":             {"ics": strings.TrimSuffix(body["ics"].(string), "END:VCALENDAR\r\n")},
			"body.room_id":         {"room_id": 999},
			"body.rooms.Conf A":    {"rooms": with{"Conf A": 999}},
			"body.organizer_email": {"organizer_email": "nobody@example.net"},
			"body.on_conflict":     {"on_conflict": "guess"},
			"body.from":            {"from": "tomorrow"},
		} {
			p := admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/imports/ics", changed(changes))
			if len(p.Errors) != 1 || p.Errors[0].Location != where {
				t.Errorf("%v: %+v, want a fault at %s", changes, p.Errors, where)
			}
		}
	})
}
