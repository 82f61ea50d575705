package tests

import (
	"net/http"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestPause_outlivesFlushAndRestart: what an operator paused stays paused, whatever happens
// to the queue and to the processes, until somebody resumes it; then all of it is done.
func TestPause_outlivesFlushAndRestart(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		rooms := []testenv.Room{admin.NewRoom(t, "Turing"), admin.NewRoom(t, "Hopper"), admin.NewRoom(t, "Noether")}
		type job struct {
			Name     string     `json:"name"`
			Ready    int        `json:"ready"`
			Paused   bool       `json:"paused"`
			PausedAt *time.Time `json:"paused_at"`
			PausedBy string     `json:"paused_by"`
		}
		since := time.Now()
		wantPaused := func(want bool) {
			t.Helper()
			var list struct{ Items []job }
			admin.Want(t, http.StatusOK, http.MethodGet, "/jobs", nil, &list)
			for _, j := range list.Items {
				paused := want && j.Name == "meeting.start"
				if j.Paused != paused || (j.PausedAt != nil) != paused || (j.PausedBy == testenv.AdminEmail) != paused {
					t.Errorf("%+v, want paused %v", j, paused)
				}
				if j.PausedAt != nil && (j.PausedAt.Before(since.Add(-time.Second)) || time.Since(*j.PausedAt) > time.Hour) {
					t.Errorf("paused at %v", j.PausedAt)
				}
			}
		}
		admin.Want(t, http.StatusOK, http.MethodPost, "/jobs/meeting.start/pause", nil, nil)
		wantPaused(true)

		start, end := inSeconds(1), inGoodTime(since, 15)
		var ids []int64
		for _, room := range rooms {
			ids = append(ids, admin.Book(t, testenv.Booking(start, end, []int64{room.ID})).ID)
		}
		if on.redis != nil {
			on.redis.Do(t, "FLUSHALL")
		}
		server.Stop()
		server.Start(t)
		wantPaused(true)
		if on.redis != nil {
			on.redis.Do(t, "FLUSHALL") // and once under the running server
		}
		time.Sleep(time.Until(end))
		for _, id := range ids {
			if es := entries(admin.History(t, id), "started"); len(es) != 0 {
				t.Errorf("meeting %d started while starts are paused", id)
			}
		}
		server.Kill()
		server.Start(t)
		wantPaused(true)

		late := inSeconds(1)
		ids = append(ids, admin.Book(t, testenv.Booking(late, late.Add(time.Hour), []int64{rooms[0].ID})).ID)
		time.Sleep(time.Until(late.Add(time.Second)))
		if es := entries(admin.History(t, ids[3]), "started"); len(es) != 0 {
			t.Error("it started while starts are paused")
		}
		admin.Want(t, http.StatusOK, http.MethodPost, "/jobs/meeting.start/resume", nil, nil)
		wantPaused(false)
		eventually(t, time.Now().Add(slack), "the meeting that is overdue started", func() bool {
			return len(entries(admin.History(t, ids[3]), "started")) == 1
		})
		server.Stop()
		server.Start(t)
		wantPaused(false)
		for _, id := range ids[:3] { // their ends were not paused: over is over
			eventually(t, time.Now().Add(slack), at("meeting %d has ended once", id), func() bool { return len(entries(admin.History(t, id), "ended")) == 1 })
		}
	})
}
