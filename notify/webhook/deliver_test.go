package webhook

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// faulty has bodies for all events but 13, which cannot be read, and 666, which panics.
type faulty struct{ most int }

func (f *faulty) Bodies(_ context.Context, events []int64) (map[int64][]byte, error) {
	f.most = max(f.most, len(events))
	if slices.Contains(events, 13) {
		return nil, errors.New("event 13 cannot be read")
	}
	if slices.Contains(events, 666) {
		panic("event 666")
	}
	all := map[int64][]byte{}
	for _, id := range events {
		all[id] = []byte("body")
	}
	return all, nil
}

// TestDeliver_readsListByList: an event that cannot be read blocks only the list that has it, and a
// statement reads a limited number of events.
func TestDeliver_readsListByList(t *testing.T) {
	t.Parallel()
	f := &faulty{}
	d := NewDeliver(nil, f, nil, DeliverOptions{Down: func(error) bool { return false }})
	var many []int64
	for id := range int64(2 * readMost) {
		many = append(many, 1000+id)
	}
	for _, bad := range []int64{13, 666} {
		f.most = 0
		got := d.readAll([][]int64{{1, 2}, {3, bad}, {4}, many})
		if got[1].err == nil {
			t.Errorf("event %d is read", bad)
		}
		for i, n := range map[int]int{0: 2, 2: 1, 3: len(many)} {
			if got[i].err != nil || len(got[i].of) != n {
				t.Errorf("beside event %d, list %d has %d bodies, want %d; %v", bad, i, len(got[i].of), n, got[i].err)
			}
		}
		if f.most > readMost {
			t.Errorf("%d events at once", f.most)
		}
	}
}

// shared is a store that returns the same delivery and webhook to all.
type shared struct {
	Store
	picked Picked
}

func (s shared) Pick(context.Context, []int64) (map[int64]Picked, error) {
	return map[int64]Picked{1: s.picked}, nil
}

// TestDeliver_ownCopies: deliveries that share a statement share nothing that one of them changes.
func TestDeliver_ownCopies(t *testing.T) {
	t.Parallel()
	d := NewDeliver(shared{picked: Picked{Delivery: &Delivery{ID: 1}, Webhook: &Webhook{Active: true}}}, nil, nil, DeliverOptions{})
	got := d.pickAll([]int64{1, 1, 2})
	got[0].Delivery.Attempts, got[0].Webhook.Active = 1, false
	if got[1].Delivery.Attempts != 0 || !got[1].Webhook.Active || got[2].Delivery != nil {
		t.Errorf("%+v", got[1:])
	}
}
