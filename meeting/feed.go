package meeting

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// FeedOptions tune a Feed. A zero field means the default given here.
type FeedOptions struct {
	Poll   time.Duration // longest time between two looks while somebody listens; 1s
	Buffer int           // batches of up to 500 updates that a listener may be behind until it is cut off; 32
	Replay int64         // entries that a listener may have missed and still catch up with; 10000
	Logger *slog.Logger
}

// A Feed tells listeners what happens to meetings, whoever made it happen: this process or
// another. It reads the histories, which are written with what they tell of, so that nothing
// is lost and nothing is told that was undone. While nobody listens it does nothing.
//
// Every listener gets every event once and in the order of the IDs: a Feed waits at an ID that
// is missing until no transaction that could still commit it is running.
type Feed struct {
	store EventStore
	opts  FeedOptions
	wake  chan struct{} // one slot

	mu        sync.Mutex
	listeners map[*Listener]struct{}
	cursor    int64 // all events up to it have been handed to the listeners
	running   bool  // cursor is kept up to date
	closed    bool

	order order
}

// ErrFeedClosed says that the process stops.
var ErrFeedClosed = errors.New("the feed is closed")

// NewFeed returns a feed; it hears nothing until Run.
func NewFeed(store EventStore, o FeedOptions) *Feed {
	if o.Poll == 0 {
		o.Poll = time.Second
	}
	if o.Buffer == 0 {
		o.Buffer = 32
	}
	if o.Replay == 0 {
		o.Replay = 10_000
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Feed{store: store, opts: o, wake: make(chan struct{}, 1), listeners: map[*Listener]struct{}{}}
}

// Poke says that something may have happened. It never blocks.
func (f *Feed) Poke() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Run hands events to listeners until ctx ends, then cuts them off.
func (f *Feed) Run(ctx context.Context) error {
	defer f.close()
	failing := false
	for ctx.Err() == nil {
		wait := f.opts.Poll
		if f.active() {
			again, err := f.read(ctx)
			if err != nil && ctx.Err() == nil && !failing {
				f.opts.Logger.Warn("events cannot be read; trying on", "error", err)
			}
			failing = err != nil
			if !failing {
				wait = again
			}
		} else {
			wait = time.Hour
		}
		select {
		case <-ctx.Done():
		case <-f.wake:
		case <-time.After(wait):
		}
	}
	return nil
}

// active reports whether anybody listens.
func (f *Feed) active() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.listeners) == 0 {
		f.running = false
	}
	return f.running
}

// feedPage is how many events are read at once.
const feedPage = 500

// read hands out what is new and tells when to look again.
func (f *Feed) read(ctx context.Context) (time.Duration, error) {
	events, ended, err := f.store.Events(ctx, f.cursor, feedPage)
	if err != nil {
		return 0, err
	}
	settled, waits := f.order.settled(f.cursor, events, ended, time.Now())
	if waits > 0 && f.order.below == 0 {
		if f.order.below, err = f.store.Mark(ctx); err != nil {
			return 0, err
		}
	}
	updates, err := f.updates(ctx, settled)
	if err != nil {
		return 0, err
	}
	f.hand(settled, updates)
	switch {
	case waits > 0:
		return waits, nil
	case len(events) == feedPage:
		return 0, nil
	default:
		return f.opts.Poll, nil
	}
}

// Updates are events that have happened, by ID, each with its meeting as it is now. Those that are
// not there any more, or their meetings, are left out.
func (f *Feed) Updates(ctx context.Context, ids []int64) (map[int64]Update, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	var found []Event
	for len(ids) > 0 { // mostly they follow one another
		events, _, err := f.store.Events(ctx, ids[0]-1, min(2*len(ids), feedPage))
		if err != nil {
			return nil, err
		}
		last := ids[0]
		for _, e := range events {
			if _, ok := slices.BinarySearch(ids, e.ID); ok {
				found = append(found, e)
			}
			last = e.ID
		}
		ids = slices.DeleteFunc(ids, func(id int64) bool { return id <= last })
	}
	updates, err := f.updates(ctx, found)
	if err != nil {
		return nil, err
	}
	byID := make(map[int64]Update, len(updates))
	for _, u := range updates {
		byID[u.ID] = u
	}
	return byID, nil
}

// updates are the events of meetings that are still there.
func (f *Feed) updates(ctx context.Context, events []Event) ([]Update, error) {
	if len(events) == 0 {
		return nil, nil
	}
	var want []ID
	for _, e := range events {
		want = append(want, e.MeetingID)
	}
	slices.Sort(want)
	ms, err := f.store.MeetingsByID(ctx, slices.Compact(want))
	if err != nil {
		return nil, err
	}
	byID := map[ID]*Meeting{}
	var private []int64
	for _, m := range ms {
		byID[m.ID] = m
		if m.Visibility == Private {
			private = append(append(private, m.RoomIDs...), m.requestedRooms()...)
		}
	}
	var rooms []*Room
	if len(private) > 0 {
		slices.Sort(private)
		if rooms, err = f.store.Rooms(ctx, slices.Compact(private)); err != nil {
			return nil, err
		}
	}
	var updates []Update
	for _, e := range events {
		if m := byID[e.MeetingID]; m != nil {
			updates = append(updates, Update{Event: e, Meeting: m, Rooms: rooms, rendered: new([2]rendering)})
		}
	}
	return updates, nil
}

// hand gives the updates to all listeners, which share them, and notes that the events are told. A
// listener that is too far behind is cut off, and comes back for what it missed.
func (f *Feed) hand(events []Event, updates []Update) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for l := range f.listeners {
		batch := l.fresh(updates)
		if len(batch) == 0 {
			continue
		}
		select {
		case l.updates <- batch:
		default:
			f.drop(l)
		}
	}
	if n := len(events); n > 0 {
		f.cursor = events[n-1].ID
	}
}

// FromTheFirst is the position in front of all events, for [Feed.Listen].
const FromTheFirst = -1

// Listen begins to listen: behind the event after, or, if that is 0, to what happens from now
// on. If more was missed than a feed replays, lost is true, and it is what happens from now on.
func (f *Feed) Listen(ctx context.Context, after int64) (l *Listener, lost bool, err error) {
	last, err := f.store.LastEvent(ctx)
	if err != nil {
		return nil, false, err
	}
	resumes := after != 0
	after = max(0, after)
	lost = after > last || resumes && last-after > f.opts.Replay
	from, err := f.begin(last)
	if err != nil {
		return nil, false, err
	}
	l = &Listener{feed: f, updates: make(chan []Update, f.opts.Buffer)}
	if resumes && !lost {
		for id := from + 1; id <= after; id++ { // told on another connection
			l.skip = append(l.skip, id)
		}
		return l, false, f.join(l, after)
	}
	seen, ended, err := f.store.Events(ctx, from, feedPage)
	if err != nil {
		return nil, false, err
	}
	for _, e := range seen {
		l.skip = append(l.skip, e.ID)
	}
	return l, lost, f.join(l, upToComplete(from, seen, ended, time.Now()))
}

// lookBack is how far before the last event a feed begins: what was begun before and is
// committed later may have a lower ID.
const lookBack = 200

// begin sees to it that the feed has a position, which it returns.
func (f *Feed) begin(last int64) (from int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, ErrFeedClosed
	}
	if !f.running {
		f.running, f.cursor, f.order = true, max(0, last-lookBack), order{}
	}
	return f.cursor, nil
}

// join adds a listener. What is behind after and was told before is its to read.
func (f *Feed) join(l *Listener, after int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return ErrFeedClosed
	}
	f.running = true
	l.after, l.to = after, f.cursor
	f.listeners[l] = struct{}{}
	f.Poke()
	return nil
}

func (f *Feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for l := range f.listeners {
		f.drop(l)
	}
}

func (f *Feed) drop(l *Listener) {
	delete(f.listeners, l)
	close(l.updates)
}
