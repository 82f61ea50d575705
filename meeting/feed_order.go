package meeting

import "time"

// order tells which events can be handed out: those in front of the first ID that is missing
// and may still come. An ID is missing for good, because its transaction was undone, once all
// transactions have ended that had begun when it was seen to be missing.
type order struct {
	final int64     // IDs up to it that are missing will not come
	upto  int64     // IDs up to it will be final when all transactions below have ended
	below uint64    // 0: to be asked of the store
	since time.Time // when the wait began; zero: there is none
	looks int
}

// patience bounds the wait for a missing ID: a transaction that takes longer, such as one that
// builds an index, must not hold up the news.
const patience = 3 * time.Second

// settled are the events behind the cursor that can be handed out. waits is when to look again
// for the one that cannot; 0: there is none.
func (o *order) settled(cursor int64, events []Event, ended uint64, now time.Time) (out []Event, waits time.Duration) {
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

// upToComplete is the last of the events behind a position in front of which none will appear any more,
// so that who takes up there again misses nothing: none is missing in front of it, or it is older
// than the patience with what is.
func upToComplete(position int64, behind []Event, ended uint64, now time.Time) int64 {
	for _, e := range behind {
		if e.ID != position+1 && ended != 0 && now.Sub(e.At) <= patience {
			break
		}
		position = e.ID
	}
	return position
}
