package meeting

import (
	"context"
	"slices"
)

// A Listener is one who hears of every event. Close it.
type Listener struct {
	feed    *Feed
	updates chan []Update
	skip    []int64 // told before, or happened before it began to listen; rising

	after, to int64 // the events between, it reads from the store first
}

// Missed calls tell for what happened before the feed took over, in order, until it returns
// an error. It is called once, before the first of Updates is read.
func (l *Listener) Missed(ctx context.Context, tell func(Update) error) error {
	for after := l.after; after < l.to; {
		events, _, err := l.feed.store.Events(ctx, after, feedPage)
		if err != nil {
			return err
		}
		end := len(events) < feedPage
		if i := slices.IndexFunc(events, func(e Event) bool { return e.ID > l.to }); i >= 0 {
			events, end = events[:i], true
		}
		updates, err := l.feed.updates(ctx, events)
		if err != nil {
			return err
		}
		for _, u := range updates {
			if l.skips(u.ID) {
				continue
			}
			if err := tell(u); err != nil {
				return err
			}
		}
		if end {
			return nil
		}
		after = events[len(events)-1].ID
	}
	return nil
}

// Position is an event behind which nothing was told yet; 0: in front of all, which is to be
// asked for as [FromTheFirst].
func (l *Listener) Position() int64 { return l.after }

// skips reports whether an event is none of the listener's.
func (l *Listener) skips(id int64) bool {
	_, found := slices.BinarySearch(l.skip, id)
	return found
}

// fresh are the updates that the listener has to hear.
func (l *Listener) fresh(updates []Update) []Update {
	if len(updates) == 0 || len(l.skip) == 0 || updates[0].ID > l.skip[len(l.skip)-1] {
		return updates
	}
	return slices.DeleteFunc(slices.Clone(updates), func(u Update) bool { return l.skips(u.ID) })
}

// Updates come in batches that all listeners share: do not change them. They end when the listener
// is too far behind, and when the feed stops.
func (l *Listener) Updates() <-chan []Update { return l.updates }

// Close ends listening.
func (l *Listener) Close() {
	l.feed.mu.Lock()
	defer l.feed.mu.Unlock()
	if _, there := l.feed.listeners[l]; there {
		l.feed.drop(l)
	}
}
