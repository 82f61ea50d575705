package delayjob_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/memqueue"
)

func TestStranded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := memqueue.New()
		defer q.Close()
		q.Add(t.Context(), msg("j", "short", time.Now()), msg("j", "long", time.Now()))
		for _, lease := range []time.Duration{10 * time.Second, time.Hour} {
			if c, err := q.Claim(t.Context(), 0, []delayjob.Want{{Job: "j", Limit: 1, Lease: lease}}); err != nil || len(c.Messages) != 1 {
				t.Fatal(c, err)
			}
		}
		want := func(ids ...string) {
			t.Helper()
			found, err := delayjob.Stranded(t.Context(), q, "j", "other")
			if err != nil || len(found) != len(ids) {
				t.Fatalf("%q, %v; want %q", found, err, ids)
			}
			for i, id := range ids {
				if !strings.HasPrefix(found[i], id+" is leased until ") {
					t.Errorf("%q, want %s", found[i], id)
				}
			}
		}
		time.Sleep(10*time.Second + 900*time.Millisecond)
		want()
		time.Sleep(200 * time.Millisecond)
		want("j:short")
		q.Pause(t.Context(), "j")
		want() // no consumer should claim it
		q.Resume(t.Context(), "j")
		want("j:short")
		time.Sleep(time.Hour)
		want("j:short", "j:long")
	})
}
