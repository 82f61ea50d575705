package httpapi

import (
	"context"
	"testing"
	"time"

	"punctual/meeting"
)

// A response is computed again after each change, after its time, for another viewer and for another query,
// and otherwise not.
func TestRevalidator(t *testing.T) {
	now := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	state, body, computed := 1, "a", 0
	during := func() {}
	v := newRevalidator(func(context.Context) (any, error) { return state, nil }, func() time.Time { return now })
	tag := `"none"`
	ask := func(viewer int64, query string) bool {
		computed = 0
		_, err := v.respond(t.Context(), meeting.Actor{ID: viewer}, query, tag, func() (any, time.Time, error) {
			computed++
			during()
			return body, now.Add(time.Minute), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return computed > 0
	}
	expect := func(what string, got, want bool) {
		t.Helper()
		if got != want {
			t.Errorf("%s: computed %v", what, got)
		}
	}
	tag = "*" // whatever the response was
	expect("at first", ask(1, "q"), true)
	expect("again", ask(1, "q"), false)
	expect("for another viewer", ask(2, "q"), true)
	expect("another query", ask(1, "r"), true)
	state++
	expect("after a change", ask(1, "q"), true)
	expect("after it", ask(1, "q"), false)
	now = now.Add(time.Minute)
	expect("after its time", ask(1, "q"), true)
	during = func() { state++ }
	state++
	expect("with a change meanwhile", ask(1, "q"), true)
	during = func() {}
	expect("after such", ask(1, "q"), true)
	tag = `"other"`
	expect("for a client that knows another", ask(1, "q"), true)
}
