package events

import (
	"context"
	"slices"
)

// A Listener receives all events of a stream. The caller must close it.
type Listener struct {
	stream  *Stream
	updates chan []Update
	skip    []int64 // events before the listener's start, or sent earlier; ascending

	after, to int64 // Missed reads the events between
}

// Missed calls fn for each event between the position of the listener and the first of Updates,
// in order, until fn returns an error. Call it once, before reading Updates.
func (l *Listener) Missed(ctx context.Context, fn func(Update) error) error {
	for after := l.after; after < l.to; {
		events, _, err := l.stream.store.Events(ctx, after, pageSize)
		if err != nil {
			return err
		}
		end := len(events) < pageSize
		if i := slices.IndexFunc(events, func(e Event) bool { return e.ID > l.to }); i >= 0 {
			events, end = events[:i], true
		}
		updates, err := l.stream.updates(ctx, events)
		if err != nil {
			return err
		}
		for _, u := range updates {
			if l.skips(u.ID) {
				continue
			}
			if err := fn(u); err != nil {
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

// Position returns the ID of the event at which the listener starts; 0 means before all events.
// To listen from there again, replace 0 by [FromStart].
func (l *Listener) Position() int64 { return l.after }

func (l *Listener) skips(id int64) bool {
	_, found := slices.BinarySearch(l.skip, id)
	return found
}

func (l *Listener) fresh(updates []Update) []Update {
	if len(updates) == 0 || len(l.skip) == 0 || updates[0].ID > l.skip[len(l.skip)-1] {
		return updates
	}
	return slices.DeleteFunc(slices.Clone(updates), func(u Update) bool { return l.skips(u.ID) })
}

// Updates returns a channel of batches that all listeners share: do not change them. The channel
// is closed when the listener lags too far and when the stream stops.
func (l *Listener) Updates() <-chan []Update { return l.updates }

// Close removes the listener from the stream.
func (l *Listener) Close() {
	l.stream.mu.Lock()
	defer l.stream.mu.Unlock()
	if _, there := l.stream.listeners[l]; there {
		l.stream.drop(l)
	}
}
