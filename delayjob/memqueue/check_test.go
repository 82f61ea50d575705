package memqueue

import (
	"strings"
	"testing"
	"time"

	"punctual/delayjob"
)

// TestCheck breaks each invariant by hand and expects Check to report the message.
func TestCheck(t *testing.T) {
	for want, breach := range map[string]func(q *Queue, waits, held *item){
		"has no body":                  func(q *Queue, waits, _ *item) { delete(q.items, waits.id()) },
		"not at its recorded position": func(_ *Queue, waits, _ *item) { waits.place = dead },
		"while it is reserved":         func(_ *Queue, _, held *item) { held.token = 0 },
		"while it is delayed":          func(_ *Queue, waits, _ *item) { waits.token = 1 },
		"later than the last one":      func(q *Queue, _, held *item) { held.token = q.token + 1 },
		"before it is due":             func(_ *Queue, waits, _ *item) { waits.topic.sets[waiting][waits.pos].at-- },
		"1 bodies, but 2 IDs in sets":  func(q *Queue, waits, _ *item) { delete(q.items, waits.id()) },
	} {
		t.Run(want, func(t *testing.T) {
			q := New()
			now := time.Now()
			ms := []delayjob.Message{{Job: "j", Key: "waits", Due: now.Add(time.Hour)}, {Job: "j", Key: "held", Due: now.Add(-time.Hour)}}
			if _, err := q.Add(t.Context(), ms...); err != nil {
				t.Fatal(err)
			}
			if _, err := q.Claim(t.Context(), 0, []delayjob.Want{{Job: "j", Limit: 1, Lease: time.Minute}}); err != nil {
				t.Fatal(err)
			}
			if b, err := q.Check(t.Context()); err != nil || len(b) != 0 {
				t.Fatalf("before: %q, %v", b, err)
			}
			breach(q, q.items["j:waits"], q.items["j:held"])
			b, err := q.Check(t.Context())
			if text := strings.Join(b, "\n"); err != nil || !strings.Contains(text, want) {
				t.Errorf("Check = %q, %v; want %q", b, err, want)
			}
		})
	}
}
