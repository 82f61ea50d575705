package tests

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// takeover is how long it may take until another process does what a killed one held. The
// product takes three seconds; the machine that runs the tests may be busy.
const takeover = 3*time.Second + machine

// watchPauses tells how long the machine or a server stood still, at the longest, since the call.
func watchPauses(t *testing.T, server *testenv.ServerInstance) (longest func() time.Duration) {
	t.Helper()
	var most atomic.Int64
	go func() {
		for last := time.Now(); t.Context().Err() == nil; last = time.Now() {
			time.Sleep(50 * time.Millisecond)
			_, _ = server.Anonymous().Try(http.MethodGet, server.URL+"/readyz", nil)
			most.Store(max(most.Load(), int64(time.Since(last))))
		}
	}()
	return func() time.Duration { return time.Duration(most.Load()) }
}

// TestTakeover: a process is killed while the mail server hangs over its mails. Nobody else sends
// them while it lives, not even when the queue has forgotten who holds them; when it is dead
// another one does, soon and each once.
func TestTakeover(t *testing.T) {
	t.Parallel()
	const guests = 5
	on, mail := onServers(t), testenv.Mail(t)
	on.Mail = mail
	mail.OnData(func(testenv.Message) testenv.Answer { return testenv.Answer{Wait: time.Hour} }) // never accepted
	first := testenv.Server(t, on.Config)
	admin := first.Admin(t)
	room := admin.NewRoom(t, "Turing")
	start := inSeconds(3600)
	var attendees []any
	for i := range guests {
		attendees = append(attendees, with{"email": fmt.Sprintf("guest%d@example.org", i), "name": "Guest"})
	}
	booked := admin.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{"attendees": attendees}))
	eventually(t, time.Now().Add(slack), "all mails under way", func() bool { return mail.Tried() >= guests })
	held := mail.Tried()

	pause := watchPauses(t, first)
	on.Config.NoAdmin = true
	second := testenv.Server(t, on.Config)
	time.Sleep(4 * time.Second) // longer than any lease
	on.redis.Do(t, "FLUSHALL")
	time.Sleep(4 * time.Second)      // the loaders have found the rows again
	stalled := pause() > time.Second // a process that stands still loses its leases
	if n := mail.Tried(); n != held && !stalled {
		t.Errorf("%d mails were begun, want the %d that the first process is sending", n, held)
	}

	mail.OnData(nil)
	first.Kill()
	killed := time.Now()
	eventually(t, killed.Add(takeover), "every mail accepted", func() bool { return len(mail.Messages()) >= guests })
	t.Logf("taken over %v after the kill", time.Since(killed).Round(time.Millisecond))
	admin = admin.At(second)
	eventually(t, killed.Add(takeover), "every mail recorded as sent", func() bool {
		for _, n := range admin.Notifications(t, booked.ID) {
			if n.State != "sent" {
				return false
			}
		}
		return true
	})
	for _, n := range admin.Notifications(t, booked.ID) {
		if n.Attempts > 2 && !stalled {
			t.Errorf("%s took %d attempts", n.Kind, n.Attempts)
		}
	}
	wantNothingTwice(t, mail)
	wantSound(t, second)
}
