package booking_test

import (
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// What an offer holds is busy to everybody, and nobody learns for whom.
func TestFreeBusy_offers(t *testing.T) {
	w := newWorld(t)
	slot := clock.Slot{Start: w.at.Add(time.Hour), End: w.at.Add(2 * time.Hour)}
	held := &meeting.Wait{Person: meeting.Person{UserID: w.ann.ID, Name: "ann"}, Wished: meeting.Wished{Title: "Review"}, State: meeting.Offered, OfferUntil: slot.Start, Wants: []meeting.Occupancy{{RoomID: w.desk.ID, Slot: slot}}}
	w.store.waits = map[int64]*meeting.Wait{1: held}
	for _, by := range []meeting.Actor{w.ann, w.bob, w.root} {
		busy, err := w.FreeBusy(t.Context(), by, w.desk.ID, clock.Slot{Start: w.at, End: w.at.Add(24 * time.Hour)})
		if err != nil || len(busy) != 1 || busy[0].Slot != slot || busy[0].Meeting.ID != 0 || busy[0].Meeting.Title != meeting.Busy || busy[0].Meeting.Status != meeting.Pending {
			t.Errorf("%s: %+v, %v", by.Name, busy, err)
		}
	}
}
