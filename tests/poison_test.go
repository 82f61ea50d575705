package tests

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestPoison: a mail that kills every process that sends it is a dead letter after a bounded
// number of them, and what was due in the same processes is done. A queue in memory knows what
// earlier processes held from a file.
func TestPoison(t *testing.T) {
	onBoth(t, poison)
}

func poison(t *testing.T, on setup) {
	const attempts, free = 2, 2
	on.Mail, on.Tags = testenv.Mail(t), "failpoint"
	on.Jobs = "{ notify.email: { max_attempts: 2 } }"
	server := testenv.Server(t, on.Config)
	admin := server.Admin(t)
	room := admin.NewRoom(t, "Turing")
	admin.Want(t, http.StatusOK, http.MethodPost, "/jobs/notify.email/pause", nil, nil) // so that it survives the booking
	start := inSeconds(4)
	guest := with{"attendees": []any{with{"email": "guest@example.org", "name": "Guest"}}}
	booked := admin.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, guest))

	server.Stop()
	server.Setenv("FAILPOINT", "send.before/notify.email")
	server.Start(t)
	_, _ = admin.Try(http.MethodPost, "/jobs/notify.email/resume", nil) // it may die before it answers

	begin, deaths := time.Now(), 0
	dead := func() (n int) {
		var page testenv.Page[struct {
			Job string `json:"job"`
		}]
		res, err := admin.Try(http.MethodGet, "/jobs/dead", nil)
		if err != nil || res.Status != http.StatusOK || json.Unmarshal(res.Body, &page) != nil {
			return 0 // it is just dying
		}
		for _, d := range page.Items {
			if d.Job != "notify.email" {
				t.Errorf("a dead letter of %s", d.Job)
			}
		}
		return len(page.Items)
	}
	for deadline := time.Now().Add(8 * slack); dead() == 0; {
		if server.AwaitKilled(100 * time.Millisecond) {
			if deaths++; deaths > attempts+free {
				t.Fatalf("%d processes died of one mail, want %d", deaths, attempts+free)
			}
			t.Logf("died %v after it was resumed", time.Since(begin).Round(time.Millisecond))
			server.StartOnly(t)
			deadline = time.Now().Add(8 * slack) // for the next one, which a busy machine may start slowly
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d processes died, and there is no dead letter", deaths)
		}
	}
	if deaths != attempts+free {
		t.Errorf("%d processes died of one mail, want %d", deaths, attempts+free)
	}
	end := start // perhaps long ago
	if now := time.Now(); now.After(end) {
		end = now
	}
	eventually(t, end.Add(4*slack), "the meeting begun", func() bool { return len(entries(admin.History(t, booked.ID), "started")) == 1 })
	if n := len(on.Mail.Messages()); n != 0 {
		t.Errorf("%d mails were sent", n)
	}
}
