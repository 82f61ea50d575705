package tests

import (
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestStop: whatever hangs, a process that is told to stop is gone soon, without an error, and
// another one does what it left.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		hang func(on setup) (goOn func())
	}{
		{"mail hangs", func(setup) func() { return func() {} }},
		{"mail and Redis hang", func(on setup) func() { on.redis.Freeze(); return on.redis.Thaw }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			on, mail := onServers(t), testenv.Mail(t)
			on.Mail = mail
			mail.OnData(func(testenv.Message) testenv.Answer { return testenv.Answer{Wait: time.Hour} })
			server := testenv.Server(t, on.Config)
			admin := server.Admin(t)
			start := inSeconds(3600)
			admin.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{admin.NewRoom(t, "Turing").ID}, with{
				"attendees": []any{with{"email": "guest@example.org", "name": "Guest"}},
			}))
			eventually(t, time.Now().Add(slack), "a mail under way", func() bool { return mail.Tried() > 0 })

			goOn := c.hang(on)
			begin := time.Now()
			code := server.Stop()
			took := time.Since(begin)
			goOn()
			if code != 0 || took > 10*time.Second+slack {
				t.Errorf("ended with %d after %v, want 0 within 10s", code, took)
			}
			t.Logf("stopped after %v", took.Round(time.Millisecond))

			mail.OnData(nil)
			server.Start(t)
			eventually(t, time.Now().Add(2*slack), "the mail", func() bool { return len(mail.Where("guest@example.org", "")) > 0 })
			wantNothingTwice(t, mail)
		})
	}
}
