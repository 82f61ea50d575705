package tests

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "punctual/app" // so that a changed program is tested anew instead of passing from go's cache
	"punctual/tests/testenv"
)

// TestMain lets more stories run side by side than there are processors, since they mostly
// wait for the time to pass; those with browsers do not, and are given another number.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", strconv.Itoa(max(8, runtime.GOMAXPROCS(0)))); err != nil {
			panic(err)
		}
	}
	testenv.CheckContract()
	code := m.Run()
	browser.close()
	if faults := testenv.ContractFaults(); len(faults) > 0 {
		fmt.Printf("FAIL: answers that differ from /openapi.json:\n%s\n", strings.Join(faults, "\n"))
		code = max(code, 1)
	}
	os.Exit(code)
}

// slack is how late something may be before a story calls it late. The product is a hundred
// times faster; the machine that runs the tests may be busy.
const slack = time.Minute

// setup is one way to run punctual: what it stores in, with nothing in it yet.
type setup struct {
	testenv.Config
	redis *testenv.RedisInstance // nil: the queue is in memory
}

// onBoth tells a story on the embedded default and on Postgres with Redis, side by side.
func onBoth(t *testing.T, story func(t *testing.T, on setup)) {
	t.Parallel()
	t.Run("sqlite_memory", func(t *testing.T) {
		t.Parallel()
		story(t, setup{})
	})
	t.Run("postgres_redis", func(t *testing.T) {
		t.Parallel()
		story(t, onServers(t))
	})
}

func onServers(t *testing.T) setup {
	t.Helper()
	redis := testenv.RedisServer(t)
	return setup{Config: testenv.Config{Database: testenv.MigratedPostgres(t), Queue: redis.URL()}, redis: redis}
}

// eventually polls until ok says yes and fails the test if it does not until the deadline and, for a machine
// that is slow, twice slack after it. What must not be late is checked by [wantTime].
func eventually(t *testing.T, deadline time.Time, what string, ok func() bool) {
	t.Helper()
	deadline = deadline.Add(2 * slack)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not so until %s: %s", deadline.Format(time.TimeOnly), what)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// inSeconds is a whole second that far away, at least.
func inSeconds(n int) time.Time {
	return time.Now().UTC().Truncate(time.Second).Add(time.Duration(n+1) * time.Second)
}

// inGoodTime is inSeconds, or further away on a slow machine: ten times what the story took since began, up to two
// minutes. So it books before that time what must be booked before.
func inGoodTime(began time.Time, seconds int) time.Time {
	return inSeconds(max(seconds, min(int(10*time.Since(began)/time.Second), 120)))
}

// reminder is one element of a booking's reminders.
func reminder(before string, offset time.Duration, channels ...string) map[string]any {
	return map[string]any{"before": before, "offset": offset.String(), "channels": channels}
}

// with is a map for a booking's fields.
type with = map[string]any

// entries are the history's entries of one action.
func entries(history []testenv.Entry, action string) []testenv.Entry {
	return slices.DeleteFunc(slices.Clone(history), func(e testenv.Entry) bool { return e.Action != action })
}

// wantOnce fails unless the action happened once, by that kind of actor, and not before at
// nor later than slack after it.
func wantOnce(t *testing.T, history []testenv.Entry, action, kind string, at time.Time) {
	t.Helper()
	es := entries(history, action)
	if len(es) != 1 {
		t.Errorf("%q happened %d times, want once: %+v", action, len(es), history)
		return
	}
	if es[0].Actor.Kind != kind {
		t.Errorf("%q was done by %q, want %q", action, es[0].Actor.Kind, kind)
	}
	wantTime(t, action, es[0].At, at)
}

// wantTime fails if something happened before its time, or long after it.
func wantTime(t *testing.T, what string, got, due time.Time) {
	t.Helper()
	if late := got.Sub(due); late < 0 || late > slack {
		t.Errorf("%s came %v after its time %s, want 0 to %v", what, late, due.Format(time.RFC3339Nano), slack)
	}
}

// wantNothingTwice fails if a mail was accepted twice.
func wantNothingTwice(t *testing.T, mail *testenv.MailServer) {
	t.Helper()
	for id, n := range mail.Counts() {
		if n != 1 || id == "" {
			t.Errorf("%d mails have the Message-ID %q, want one", n, id)
		}
	}
}

// snapshot is all that an admin can see of what is stored.
func snapshot(t *testing.T, admin *testenv.Client) string {
	t.Helper()
	all := map[string]any{}
	for _, path := range []string{"/sites", "/rooms", "/users", "/meetings", "/notifications", "/me/tokens"} {
		all[path] = testenv.All[json.RawMessage](t, admin, path)
	}
	for _, m := range testenv.All[testenv.Meeting](t, admin, "/meetings") {
		all[fmt.Sprint("history of ", m.ID)] = admin.History(t, m.ID)
	}
	b, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
