package meeting

import (
	"errors"
	"slices"
	"testing"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

func TestWait_ends(t *testing.T) {
	start := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	slot := clock.Slot{Start: start, End: start.Add(time.Hour)}
	for name, c := range map[string]struct {
		until  time.Time
		offer  time.Duration
		due    time.Time
		reason string
	}{
		"with the start":               {due: start, reason: ReasonStarted},
		"when it is told to":           {until: start.Add(-time.Hour), due: start.Add(-time.Hour), reason: ReasonUntil},
		"with the start, not later":    {until: start.Add(time.Hour), due: start, reason: ReasonStarted},
		"with an offer":                {offer: time.Hour, due: start.Add(-23 * time.Hour), reason: ReasonOffer},
		"with an offer, at the start":  {offer: 48 * time.Hour, due: start, reason: ReasonOffer},
		"with an offer, when told to ": {until: start.Add(-time.Hour), offer: 48 * time.Hour, due: start.Add(-time.Hour), reason: ReasonOffer},
	} {
		at := start.Add(-24 * time.Hour)
		w := NewWait(Terms{Slot: slot, Rooms: []*Room{{Room: policy.Room{ID: 3}}}}, Actor{Kind: ActorUser, ID: 1, Email: "ann@example.org"}, c.until, at)
		w.ID, w.Version = 7, 2
		if c.offer > 0 {
			w.Offer(c.offer, at)
		}
		ms := w.Messages()
		if len(ms) != 1 || ms[0].ID() != "waitlist.expire:7" || ms[0].Version != 2 || !ms[0].Due.Equal(c.due) {
			t.Errorf("%s: waits for %+v, want %v", name, ms, c.due)
		}
		var state *StateError
		if err := w.InState(c.due, "accept", w.State); !errors.As(err, &state) || state.State != Status(WaitExpired) {
			t.Errorf("%s: while its timer is late: %v", name, err)
		}
		if seen := w.At(c.due.Add(-time.Microsecond)); seen.State != w.State || seen.Reason != "" {
			t.Errorf("%s: a moment before: %+v", name, seen)
		}
		if seen := w.At(c.due); seen.State != WaitExpired || seen.Reason != c.reason || seen.Position != 0 {
			t.Errorf("%s: while its timer is late: %+v", name, seen)
		}
		w.Expire(c.due)
		if w.State != WaitExpired || w.Reason != c.reason || len(w.Messages()) != 0 {
			t.Errorf("%s: %+v", name, w)
		}
		last := w.TakeNotices()
		if n := last[len(last)-1]; n.Kind != NoticeWaitlistExpired || n.DedupeKey != "waitlist_expired:wait-7:email:ann@example.org" {
			t.Errorf("%s: told %+v", name, n)
		}
	}
}

func TestFreedBy(t *testing.T) {
	at := func(h int) time.Time { return time.Date(2027, 2, 10, h, 0, 0, 0, time.UTC) }
	takes := func(room int64, from, to int) Occupancy {
		return Occupancy{RoomID: room, Slot: clock.Slot{Start: at(from), End: at(to)}}
	}
	for name, c := range map[string]struct{ before, after, want []Occupancy }{
		"nothing":    {[]Occupancy{takes(1, 9, 10)}, []Occupancy{takes(1, 9, 10)}, nil},
		"cancelled":  {[]Occupancy{takes(1, 9, 10), takes(2, 9, 10)}, nil, []Occupancy{takes(1, 9, 10), takes(2, 9, 10)}},
		"shortened":  {[]Occupancy{takes(1, 9, 12)}, []Occupancy{takes(1, 9, 10)}, []Occupancy{takes(1, 10, 12)}},
		"moved":      {[]Occupancy{takes(1, 9, 11)}, []Occupancy{takes(1, 10, 12)}, []Occupancy{takes(1, 9, 10)}},
		"other room": {[]Occupancy{takes(1, 9, 10)}, []Occupancy{takes(2, 9, 10)}, []Occupancy{takes(1, 9, 10)}},
	} {
		if got := (&Meeting{Occupied: c.before}).FreedBy(&Meeting{Occupied: c.after}); !slices.Equal(got, c.want) {
			t.Errorf("%s: freed %v, want %v", name, got, c.want)
		}
	}
	move := &Request{Change: &PendingChange{Held: []Occupancy{takes(1, 14, 15)}}}
	before := &Meeting{Occupied: []Occupancy{takes(1, 9, 10)}, Request: move}
	if got := before.FreedBy(&Meeting{Occupied: before.Occupied}); !slices.Equal(got, []Occupancy{takes(1, 14, 15)}) {
		t.Errorf("a move that was given up: freed %v", got)
	}
}
