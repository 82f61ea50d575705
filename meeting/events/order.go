package events

import "time"

// order decides which events can be sent: those before the first missing ID that may still be
// committed. Once all transactions have ended that were running when the gap was found, the
// missing ID was rolled back.
type order struct {
	final int64     // missing IDs up to it were rolled back
	upto  int64     // becomes final when all transactions with numbers below have ended
	below uint64    // 0: not known yet
	since time.Time // when the wait began; zero: not waiting
	looks int       // reads since then
}

// patience bounds the wait for a missing ID, so that a long transaction, such as building an
// index, does not delay events.
const patience = 3 * time.Second

// settled returns the events after the cursor that can be sent. wait is when to look again for a
// missing one; 0 if none is missing.
func (o *order) settled(cursor int64, events []Event, ended uint64, now time.Time) (out []Event, wait time.Duration) {
	if !o.since.IsZero() && (o.below != 0 && ended >= o.below || now.Sub(o.since) > patience) {
		*o = order{final: o.upto}
	}
	for i, e := range events {
		if e.ID == cursor+1 || e.ID <= o.final || ended == 0 {
			cursor = e.ID
			continue
		}
		if o.since.IsZero() {
			o.since, o.upto = now, events[len(events)-1].ID
		}
		o.looks++
		return events[:i], min(100*time.Millisecond, time.Millisecond<<min(o.looks, 7))
	}
	*o = order{final: o.final}
	return events, 0
}

// upToComplete returns the last position before which no event can appear any longer: either no
// ID is missing there, or the gap is older than patience.
func upToComplete(position int64, later []Event, ended uint64, now time.Time) int64 {
	for _, e := range later {
		if e.ID != position+1 && ended != 0 && now.Sub(e.At) <= patience {
			break
		}
		position = e.ID
	}
	return position
}
