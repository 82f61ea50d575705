package events

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"punctual/meeting"
)

// Options configures a [Stream]. A zero field means the default given here.
type Options struct {
	Buffer int   // batches of up to 500 updates that a listener may lag before it is disconnected; 32
	Replay int64 // events that a listener may have missed and still catch up with; 10000
	Logger *slog.Logger
}

// A Stream sends events of meetings to listeners, whether this process or another made the change.
// It reads the histories, which are written in the transaction of the change, so that it loses no
// event and sends none that was rolled back. Without listeners it reads nothing.
//
// Every listener gets every event once, in the order of the IDs. If an ID is missing, a Stream
// waits until no running transaction could still commit it.
type Stream struct {
	store Store
	opts  Options
	wake  chan struct{} // one slot

	mu        sync.Mutex
	listeners map[*Listener]struct{}
	cursor    int64 // the listeners have all events up to it
	running   bool  // cursor is up to date
	closed    bool

	order order
}

// ErrClosed means that the process is stopping.
var ErrClosed = errors.New("event stream closed")

// New returns a stream. It sends nothing until Run.
func New(store Store, o Options) *Stream {
	o.Buffer = cmp.Or(o.Buffer, 32)
	o.Replay = cmp.Or(o.Replay, 10_000)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Stream{store: store, opts: o, wake: make(chan struct{}, 1), listeners: map[*Listener]struct{}{}}
}

// Poke makes the next read happen now. It never blocks.
func (f *Stream) Poke() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Run sends events to listeners until ctx ends, then disconnects them.
func (f *Stream) Run(ctx context.Context) error {
	defer f.close()
	failing := false
	for ctx.Err() == nil {
		wait := pollInterval
		if f.active() {
			again, err := f.read(ctx)
			if err != nil && ctx.Err() == nil && !failing {
				f.opts.Logger.Warn("reading events failed, retrying", "error", err)
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

func (f *Stream) active() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.listeners) == 0 {
		f.running = false
	}
	return f.running
}

const pageSize = 500

// pollInterval is the longest time between two reads while there are listeners.
const pollInterval = time.Second

func (f *Stream) read(ctx context.Context) (time.Duration, error) {
	events, ended, err := f.store.Events(ctx, f.cursor, pageSize)
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
	f.send(settled, updates)
	switch {
	case waits > 0:
		return waits, nil
	case len(events) == pageSize:
		return 0, nil
	default:
		return pollInterval, nil
	}
}

// Updates returns events by ID, each with its meeting as it is now. It leaves out events that no
// longer exist, and those of meetings that no longer exist.
func (f *Stream) Updates(ctx context.Context, ids []int64) (map[int64]Update, error) {
	found, err := f.store.EventsByID(ctx, ids)
	if err != nil {
		return nil, err
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

func (f *Stream) updates(ctx context.Context, events []Event) ([]Update, error) {
	if len(events) == 0 {
		return nil, nil
	}
	var want []meeting.ID
	for _, e := range events {
		want = append(want, e.MeetingID)
	}
	slices.Sort(want)
	ms, err := f.store.MeetingsByID(ctx, slices.Compact(want))
	if err != nil {
		return nil, err
	}
	byID := map[meeting.ID]*meeting.Meeting{}
	var private []int64 // and rooms that a meeting left, which may be hidden from those who see where it is now
	for _, m := range ms {
		byID[m.ID] = m
		if m.Visibility == meeting.Private || len(m.Limits) > 0 {
			private = append(append(private, m.RoomIDs...), m.RequestedRooms()...)
		}
	}
	for _, e := range events {
		private = append(append(private, e.Left...), e.Requested...)
	}
	var rooms []*meeting.Room
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

// send gives the updates to all listeners, which share them, and advances the cursor. It drops
// listeners that lag too far; they reconnect and catch up.
func (f *Stream) send(events []Event, updates []Update) {
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

// FromStart is the position before all events, for [Stream.Listen].
const FromStart = -1

// Listen returns a listener for the events after the given ID, or from now on if it is 0. If the
// listener missed more than the stream replays, lost is true and it gets the events from now on.
func (f *Stream) Listen(ctx context.Context, after int64) (l *Listener, lost bool, err error) {
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
	l = &Listener{stream: f, updates: make(chan []Update, f.opts.Buffer)}
	if resumes && !lost {
		for id := from + 1; id <= after; id++ { // sent on an earlier connection
			l.skip = append(l.skip, id)
		}
		return l, false, f.join(l, after)
	}
	seen, ended, err := f.store.Events(ctx, from, pageSize)
	if err != nil {
		return nil, false, err
	}
	for _, e := range seen {
		l.skip = append(l.skip, e.ID)
	}
	return l, lost, f.join(l, upToComplete(from, seen, ended, time.Now()))
}

// lookBack is how far before the last event a stream begins: a transaction that is still running
// may commit a lower ID.
const lookBack = 200

func (f *Stream) begin(last int64) (from int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, ErrClosed
	}
	if !f.running {
		f.running, f.cursor, f.order = true, max(0, last-lookBack), order{}
	}
	return f.cursor, nil
}

// join adds a listener. It reads the events from after up to the cursor itself.
func (f *Stream) join(l *Listener, after int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return ErrClosed
	}
	f.running = true
	l.after, l.to = after, f.cursor
	f.listeners[l] = struct{}{}
	f.Poke()
	return nil
}

func (f *Stream) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for l := range f.listeners {
		f.drop(l)
	}
}

func (f *Stream) drop(l *Listener) {
	delete(f.listeners, l)
	close(l.updates)
}
