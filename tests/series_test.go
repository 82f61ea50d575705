package tests

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/tests/testenv"
)

// seriesAnswer is what a change of a series answers.
type seriesAnswer struct {
	Series struct {
		ID         int64  `json:"id"`
		PreviousID int64  `json:"previous_id"`
		RRule      string `json:"rrule"`
		DTStart    string `json:"dtstart"`
		Version    int64  `json:"version"`
		Title      string `json:"title"`
	} `json:"series"`
	Previous *struct {
		ID    int64  `json:"id"`
		RRule string `json:"rrule"`
	} `json:"previous"`
	Meetings  []seriesMeeting `json:"meetings"`
	Skipped   []skippedDate   `json:"skipped"`
	Saved     bool            `json:"saved"`
	UndoUntil *time.Time      `json:"undo_until"`
}

type seriesMeeting struct {
	testenv.Meeting
	SeriesID      int64     `json:"series_id"`
	OriginalStart time.Time `json:"original_start"`
}

type skippedDate struct {
	OriginalStart time.Time `json:"original_start"`
	Reason        string    `json:"reason"`
	Conflicts     []struct {
		RoomID int64     `json:"room_id"`
		Start  time.Time `json:"start"`
	} `json:"conflicts"`
}

// monday is the first of the coming weeks at nine in Berlin, some weeks ahead.
func monday(weeks int) time.Time {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	d := time.Now().In(berlin)
	d = time.Date(d.Year(), d.Month(), d.Day()+(8-int(d.Weekday()))%7+7*weeks, 9, 0, 0, 0, berlin)
	return d
}

const wall = "2006-01-02T15:04:05"

// weekly is a series of an hour on Mondays at nine.
func weekly(first time.Time, count int, room int64, more ...with) with {
	body := with{
		"title": "Weekly", "room_ids": []int64{room}, "timezone": "Europe/Berlin",
		"start": first.Format(wall), "end": first.Add(time.Hour).Format(wall), "rrule": fmt.Sprintf("FREQ=WEEKLY;COUNT=%d", count),
	}
	for _, m := range more {
		maps.Copy(body, m)
	}
	return body
}

func starts(ms []seriesMeeting) (all []time.Time) {
	for _, m := range ms {
		all = append(all, m.Start)
	}
	return all
}

// of a series are all its meetings.
func ofSeries(t *testing.T, c *testenv.Client, id int64) []seriesMeeting {
	t.Helper()
	return testenv.All[seriesMeeting](t, c, at("/meetings?series_id=%d&limit=500", id))
}

func statuses(ms []seriesMeeting) (all []string) {
	for _, m := range ms {
		all = append(all, m.Status)
	}
	return all
}

// stored is what a preview could add to: meetings and what is told of them, whatever becomes of
// mails that are on their way.
func stored(t *testing.T, admin *testenv.Client) string {
	t.Helper()
	type id struct {
		ID int64 `json:"id"`
	}
	meetings := testenv.All[seriesMeeting](t, admin, "/meetings?limit=500")
	return fmt.Sprintf("%+v %v", meetings, len(testenv.All[id](t, admin, "/notifications?limit=500")))
}

// TestSeries_onConflict: a preview tells exactly what is saved, whatever is to become of the
// dates that cannot be, and writes nothing.
func TestSeries_onConflict(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		admin := testenv.Server(t, on.Config).Admin(t)
		alice := admin.NewUser(t, "Alice", "member")
		site := struct {
			ID int64 `json:"id"`
		}{}
		admin.Want(t, http.StatusCreated, http.MethodPost, "/sites", with{"name": "Berlin", "timezone": "Europe/Berlin"}, &site)
		at9 := with{"site_id": site.ID, "capacity": 8}
		wanted := admin.NewRoom(t, "Wanted", at9)
		admin.NewRoom(t, "Small", with{"site_id": site.ID, "capacity": 4})
		admin.NewRoom(t, "Huge", with{"site_id": site.ID, "capacity": 80})
		other := admin.NewRoom(t, "Other", with{"site_id": site.ID, "capacity": 10})
		admin.NewRoom(t, "Elsewhere", with{"capacity": 8})

		first := monday(2)
		second, third := first.AddDate(0, 0, 7), first.AddDate(0, 0, 14)
		alice.Book(t, testenv.Booking(second, second.Add(30*time.Minute), []int64{wanted.ID}))
		people := with{"attendees": []with{{"email": "guest@example.org"}}}
		both := func(body with, status int) (preview, saved seriesAnswer) {
			t.Helper()
			before := stored(t, admin)
			alice.Want(t, http.StatusOK, http.MethodPost, "/series/preview", body, &preview)
			if d := cmp.Diff(before, stored(t, admin)); d != "" {
				t.Errorf("a preview wrote: %s", d)
			}
			if status == http.StatusCreated {
				alice.Want(t, status, http.MethodPost, "/series", body, &saved)
				if d := cmp.Diff(starts(preview.Meetings), starts(saved.Meetings)); d != "" || !preview.Saved {
					t.Errorf("preview and series: %s", d)
				}
				if d := cmp.Diff(preview.Skipped, saved.Skipped); d != "" {
					t.Errorf("skipped: %s", d)
				}
			}
			return preview, saved
		}

		fail := weekly(first, 3, wanted.ID, people)
		preview, _ := both(fail, 0)
		if preview.Saved || len(preview.Meetings) != 2 || len(preview.Skipped) != 1 || preview.Skipped[0].Reason != "room_conflict" {
			t.Errorf("preview of a series with a conflict: %+v", preview)
		}
		p := struct {
			Conflicts []struct {
				RoomID        int64     `json:"room_id"`
				OriginalStart time.Time `json:"original_start"`
			} `json:"conflicts"`
		}{}
		alice.WantProblem(t, http.StatusConflict, "room_conflict", http.MethodPost, "/series", fail)
		if err := alice.Do(t, http.MethodPost, "/series", fail).Decode(&p); err != nil || len(p.Conflicts) != 1 || !p.Conflicts[0].OriginalStart.Equal(second) || p.Conflicts[0].RoomID != wanted.ID {
			t.Errorf("conflicts %+v, %v", p, err)
		}

		_, skipped := both(weekly(first, 3, wanted.ID, people, with{"on_conflict": "skip"}), http.StatusCreated)
		if d := cmp.Diff([]time.Time{first.UTC(), third.UTC()}, starts(skipped.Meetings)); d != "" || len(skipped.Skipped) != 1 || !skipped.Skipped[0].OriginalStart.Equal(second) {
			t.Errorf("skipped: %+v %s", skipped, d)
		}
		eventually(t, time.Now().Add(slack), "one invitation", func() bool { return len(mail.Where("guest@example.org", "invitation")) == 1 })
		ics := mail.Where("guest@example.org", "invitation")[0].Part("text/calendar")
		for _, want := range []string{fmt.Sprintf("UID:series-%d@", skipped.Series.ID), "RRULE:FREQ=WEEKLY;COUNT=3", "EXDATE;TZID=Europe/Berlin:" + second.Format("20060102T150405")} {
			if !strings.Contains(ics, want) {
				t.Errorf("the invitation has no %q:\n%s", want, ics)
			}
		}

		_, moved := both(weekly(first, 3, wanted.ID, with{"on_conflict": "other_room"}), http.StatusCreated)
		for _, m := range moved.Meetings {
			if !slices.Equal(m.RoomIDs, []int64{other.ID}) || m.SeriesID != moved.Series.ID || !m.OriginalStart.Equal(m.Start) {
				t.Errorf("in other rooms: %+v", m.Meeting)
			}
		}
		var none seriesAnswer // the huge room is left
		alice.Want(t, http.StatusCreated, http.MethodPost, "/series", weekly(first, 3, wanted.ID, with{"on_conflict": "other_room"}), nil)
		alice.Want(t, http.StatusOK, http.MethodPost, "/series/preview", weekly(first, 3, wanted.ID, with{"on_conflict": "other_room"}), &none)
		if none.Saved || len(none.Skipped) != 3 {
			t.Errorf("with no room left: %+v", none)
		}
		time.Sleep(500 * time.Millisecond) // for what must not come
		if n := len(mail.Where("guest@example.org", "invitation")); n != 1 {
			t.Errorf("%d invitations, want one for the series", n)
		}
		wantNothingTwice(t, mail)
	})
}

// TestSeries_edits: scopes, exceptions and cancelled dates.
func TestSeries_edits(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		admin := testenv.Server(t, on.Config).Admin(t)
		alice := admin.NewUser(t, "Alice", "member")
		bob := admin.NewUser(t, "Bob", "member")
		room := admin.NewRoom(t, "Turing")
		first := monday(2)
		day := func(n int) time.Time { return first.AddDate(0, 0, 7*n) }
		var made seriesAnswer
		guest := with{"attendees": []with{{"email": "guest@example.org"}}}
		alice.Want(t, http.StatusCreated, http.MethodPost, "/series", weekly(first, 6, room.ID, guest), &made)
		path := at("/series/%d", made.Series.ID)
		one := func(n int) string { return at("/meetings/%d", made.Meetings[n].ID) }

		// One date is moved, another cancelled.
		late := day(1).Add(6 * time.Hour)
		alice.Want(t, http.StatusOK, http.MethodPatch, one(1), with{"start": late.Format(time.RFC3339), "end": late.Add(time.Hour).Format(time.RFC3339)}, nil)
		alice.Want(t, http.StatusOK, http.MethodPost, one(2)+"/cancel", with{}, nil)
		eventually(t, time.Now().Add(slack), "the guest hears of both dates", func() bool { // before a change of the series supersedes what is not sent
			return len(mail.Where("guest@example.org", "change")) == 1 && len(mail.Where("guest@example.org", "cancellation")) == 1
		})
		if ics := mail.Where("guest@example.org", "change")[0].Part("text/calendar"); !strings.Contains(ics, "RECURRENCE-ID;TZID=Europe/Berlin:"+day(1).Format("20060102T150405")) {
			t.Errorf("the mail of the moved date: %s", ics)
		}

		// All: an hour later and with another title.
		bob.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPatch, path, with{"title": "Mine"})
		alice.WantProblem(t, http.StatusPreconditionFailed, "version_mismatch", http.MethodPatch, path, with{"title": "Late"}, testenv.Header("If-Match", `"99"`))
		var all seriesAnswer
		alice.Want(t, http.StatusOK, http.MethodPatch, path, with{
			"scope": "all", "title": "Ten", "start": first.Add(time.Hour).Format(wall), "end": first.Add(2 * time.Hour).Format(wall),
		}, &all, testenv.Header("If-Match", fmt.Sprintf("%q", fmt.Sprint(made.Series.Version))))
		got := ofSeries(t, alice, made.Series.ID)
		want := []time.Time{day(0).Add(time.Hour), late, day(2), day(3).Add(time.Hour), day(4).Add(time.Hour), day(5).Add(time.Hour)}
		for i, m := range got {
			title, original := "Ten", day(i).Add(time.Hour)
			if i == 2 {
				title = "Weekly"
			}
			if !m.Start.Equal(want[i]) || m.Title != title || !m.OriginalStart.Equal(original) {
				t.Errorf("date %d is %s at %v (%v), want %s at %v (%v)", i, m.Title, m.Start, m.OriginalStart, title, want[i], original)
			}
		}
		if d := cmp.Diff([]string{"confirmed", "confirmed", "cancelled", "confirmed", "confirmed", "confirmed"}, statuses(got)); d != "" {
			t.Error(d)
		}
		if es := entries(alice.History(t, got[3].ID), "changed"); len(es) != 1 || es[0].Reason != "series" {
			t.Errorf("history of a date: %+v", es)
		}
		alice.Want(t, http.StatusOK, http.MethodPatch, path, with{"title": "Ten"}, &all)
		if all.Series.Version != made.Series.Version+1 {
			t.Errorf("a change of nothing made version %d of %d", all.Series.Version, made.Series.Version+1)
		}

		// The cancelled date comes again.
		original := with{"original_start": day(2).Add(time.Hour).Format(time.RFC3339)}
		var again seriesMeeting
		alice.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, path+"/dates", with{"original_start": day(2).Format(time.RFC3339)})
		alice.Want(t, http.StatusCreated, http.MethodPost, path+"/dates", original, &again)
		if !again.Start.Equal(day(2).Add(time.Hour)) || again.ID == got[2].ID || again.SeriesID != made.Series.ID || again.Title != "Ten" {
			t.Errorf("added again: %+v", again)
		}
		alice.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, path+"/dates", original)

		// The last two become a series of their own, on another day.
		var following seriesAnswer
		tuesday := day(4).AddDate(0, 0, 1).Add(time.Hour)
		alice.Want(t, http.StatusOK, http.MethodPatch, path, with{
			"scope": "following", "from": day(4).Add(time.Hour).Format(time.RFC3339), "start": tuesday.Format(wall), "end": tuesday.Add(time.Hour).Format(wall),
		}, &following)
		if following.Previous == nil || following.Previous.RRule != "FREQ=WEEKLY;COUNT=4" || following.Series.RRule != "FREQ=WEEKLY;COUNT=2" || following.Series.PreviousID != made.Series.ID {
			t.Errorf("split: %+v", following)
		}
		if d := cmp.Diff([]time.Time{tuesday.UTC(), tuesday.AddDate(0, 0, 7).UTC()}, starts(ofSeries(t, alice, following.Series.ID))); d != "" {
			t.Error(d)
		}

		// A new rule keeps the dates that it shares.
		var longer seriesAnswer
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/series/%d", following.Series.ID), with{"rrule": "FREQ=WEEKLY;COUNT=3"}, &longer)
		if n := len(ofSeries(t, alice, following.Series.ID)); n != 3 || len(longer.Meetings) != 1 {
			t.Errorf("%d dates after a longer rule; %+v", n, longer)
		}

		// Of what is cancelled the rooms are free.
		var cancelled seriesAnswer
		alice.Want(t, http.StatusOK, http.MethodPost, path+"/cancel", with{"reason": "over"}, &cancelled)
		if len(cancelled.Meetings) != 4 || slices.ContainsFunc(cancelled.Meetings, func(m seriesMeeting) bool { return m.Status != "cancelled" }) {
			t.Errorf("cancelled: %v", statuses(cancelled.Meetings))
		}
		alice.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, path+"/cancel", with{})
		alice.Book(t, testenv.Booking(day(3), day(3).Add(3*time.Hour), []int64{room.ID}))
		eventually(t, time.Now().Add(slack), "the guest hears of it", func() bool { return len(mail.Where("guest@example.org", "cancellation")) == 2 })
		wantNothingTwice(t, mail)
	})
}

// TestSeries_refused: what is wrong with a rule is said at once, all of it, and of every date.
func TestSeries_refused(t *testing.T) {
	t.Parallel()
	admin := testenv.Server(t, testenv.Config{}).Admin(t)
	room := admin.NewRoom(t, "Turing", with{"policy": with{"opening_hours": []with{{"days": []string{"MO", "TU"}, "from": "08:00", "to": "20:00"}}}, "timezone": "Europe/Berlin"})
	first := monday(2)
	for _, c := range []struct{ rule, code string }{
		{"FREQ=WEEKLY", "endless"},
		{"FREQ=HOURLY;COUNT=3", "sub_daily"},
		{"FREQ=WEEKLY;COUNT=3;UNTIL=20991231", "contradiction"},
		{"FREQ=WEEKLY;COUNT=0", "invalid_part"},
		{"FREQ=WEEKLY;COUNT=3;INTERVAL=0", "invalid_part"},
		{"FREQ=DAILY;COUNT=400", "too_many_dates"},
		{"FREQ=WEEKLY;COUNT=60", "max_advance"},
		{"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30;COUNT=3", "impossible"},
		{"FREQ=WEEKLY;BYDAY=WE;COUNT=3", "not_in_rule"},
		{"", "required"},
	} {
		begun := time.Now()
		p := admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/series", weekly(first, 3, room.ID, with{"rrule": c.rule}))
		if len(p.Errors) != 1 || p.Errors[0].Code != c.code {
			t.Errorf("%s: %+v, want %s", c.rule, p.Errors, c.code)
		}
		if d := time.Since(begun); d > slack {
			t.Errorf("%s took %v", c.rule, d)
		}
	}
	p := admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/series/preview", with{
		"start": "soon", "rrule": "FREQ=HOURLY", "exdates": []string{"x"}, "on_conflict": "perhaps",
	})
	var codes []string
	for _, e := range p.Errors {
		codes = append(codes, e.Location)
	}
	slices.Sort(codes)
	if d := cmp.Diff([]string{"body.end", "body.exdates[0]", "body.on_conflict", "body.room_ids", "body.rrule", "body.rrule", "body.start", "body.title"}, codes); d != "" {
		t.Error(d)
	}
	var skipped seriesAnswer
	admin.Want(t, http.StatusCreated, http.MethodPost, "/series", weekly(first, 3, room.ID, with{"rrule": "FREQ=DAILY;COUNT=3", "on_conflict": "skip"}), &skipped)
	if len(skipped.Meetings) != 2 || len(skipped.Skipped) != 1 || skipped.Skipped[0].Reason != "opening_hours" {
		t.Errorf("a closed day: %+v", skipped)
	}
	admin.WantProblem(t, http.StatusUnprocessableEntity, "policy_violation", http.MethodPost, "/series", weekly(first.AddDate(0, 0, 7), 3, room.ID, with{"rrule": "FREQ=DAILY;COUNT=3"}))
}

// TestSeries_race: of two series for the same dates one gets each, and those who skip get the
// rest.
func TestSeries_race(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		admin := testenv.Server(t, on.Config).Admin(t)
		room := admin.NewRoom(t, "Turing")
		first := monday(2)
		const racers, dates = 6, 20
		var wg sync.WaitGroup
		var mu sync.Mutex
		won, saved := 0, 0
		for i := range racers {
			body := weekly(first.AddDate(0, 0, 7*i), dates, room.ID, with{"on_conflict": "skip"})
			if i%2 == 0 {
				body = weekly(first, dates, room.ID)
			}
			wg.Go(func() {
				r, err := insist(admin, http.MethodPost, "/series", body)
				if err != nil {
					t.Error(err)
					return
				}
				var a seriesAnswer
				mu.Lock()
				defer mu.Unlock()
				switch r.Status {
				case http.StatusCreated:
					if err := r.Decode(&a); err != nil {
						t.Error(err)
					}
					saved += len(a.Meetings)
					if body["on_conflict"] == nil {
						won++
					}
				case http.StatusConflict:
				default:
					t.Errorf("%d: %s", r.Status, r.Body)
				}
			})
		}
		wg.Wait()
		all := testenv.All[seriesMeeting](t, admin, "/meetings?limit=500")
		if won > 1 || len(all) != saved || len(all) == 0 {
			t.Errorf("%d series got all they wanted; %d meetings, %d were said to be", won, len(all), saved)
		}
		seen := map[time.Time]bool{}
		for _, m := range all {
			if seen[m.Start] {
				t.Errorf("two meetings at %v", m.Start)
			}
			seen[m.Start] = true
		}
	})
}

// TestSeries_approval: a request for a series is one request, and all its dates wait.
func TestSeries_approval(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		admin := testenv.Server(t, on.Config).Admin(t)
		boss := admin.NewUser(t, "Boss", "manager")
		alice := admin.NewUser(t, "Alice", "member")
		bob := admin.NewUser(t, "Bob", "member")
		room := admin.NewRoom(t, "Board", with{"approval": with{"required": true, "approver_ids": []int64{boss.User.ID}, "timeout": "24h"}})
		var made, free seriesAnswer
		body := weekly(monday(2), 4, room.ID, with{"visibility": "private"})
		alice.Want(t, http.StatusOK, http.MethodPost, "/series/preview", body, &free)
		alice.Want(t, http.StatusCreated, http.MethodPost, "/series", body, &made)
		pending := []string{"pending", "pending", "pending", "pending"}
		if d := cmp.Diff(pending, statuses(made.Meetings)); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(pending, statuses(free.Meetings)); d != "" {
			t.Errorf("in the preview: %s", d)
		}
		eventually(t, time.Now().Add(slack), "the manager is asked", func() bool { return len(mail.Where("boss@example.org", "approval_request")) > 0 })
		time.Sleep(500 * time.Millisecond) // for what must not come
		if n := len(mail.Where("boss@example.org", "approval_request")); n != 1 {
			t.Errorf("asked %d times for one series", n)
		}
		bob.WantProblem(t, http.StatusNotFound, "not_found", http.MethodGet, at("/series/%d", made.Series.ID), nil) // it would tell which meetings belong together
		alice.Want(t, http.StatusOK, http.MethodPost, at("/series/%d/cancel", made.Series.ID), with{}, nil)
	})
}

// TestSeries_crash: a kill -9 while a series is saved leaves all of it or nothing.
func TestSeries_crash(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail, on.Tags = mail, "failpoint"
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		room := admin.NewRoom(t, "Turing")
		const dates = 30
		for i, place := range []struct {
			at   string
			want int
		}{{"series.middle", 0}, {"series.before", 0}, {"series.after", dates}} {
			server.Stop()
			server.Setenv("FAILPOINT", place.at)
			server.Start(t)
			body := weekly(monday(2+i), dates, room.ID, with{"attendees": []with{{"email": fmt.Sprintf("guest%d@example.org", i)}}})
			if r, err := admin.Try(http.MethodPost, "/series", body); err == nil {
				t.Errorf("%s: answered %d", place.at, r.Status)
			}
			if !server.AwaitKilled(slack) {
				t.Fatalf("%s: the program lives", place.at)
			}
			server.Setenv("FAILPOINT", "")
			server.Start(t)
			if n := len(testenv.All[seriesMeeting](t, admin, "/meetings?limit=500")); n != place.want {
				t.Errorf("%s: %d meetings are left, want %d", place.at, n, place.want)
			}
		}
		eventually(t, time.Now().Add(2*slack), "the guest of the saved series is invited", func() bool { return len(mail.Where("guest2@example.org", "invitation")) == 1 })
		if n := len(mail.Where("guest0@example.org", "")) + len(mail.Where("guest1@example.org", "")); n != 0 {
			t.Errorf("%d mails about series that are not there", n)
		}
		wantNothingTwice(t, mail)
	})
}
