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
	Buffer int           // updates that a listener may be behind until it is cut off; 1000
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

// Update is an event with the meeting as it is now.
type Update struct {
	Event
	Meeting *Meeting // not to be changed; listeners share it
	Rooms   []*Room  // those that decide who sees a private meeting; perhaps more

	rendered *[2]rendering
}

// Concerns reports whether somebody who listens for the rooms hears of the update: the meeting is
// there, or was before. Where it was to move, only who sees what it is about is told.
func (u *Update) Concerns(rooms []int64, sees bool) bool {
	named := slices.Concat(u.Meeting.RoomIDs, u.Left)
	if sees {
		named = append(named, u.Asked...)
	}
	return slices.ContainsFunc(named, func(id int64) bool { return slices.Contains(rooms, id) })
}

type rendering struct {
	once sync.Once
	text []byte
}

// Render is what make makes of the update: once for all who see the meeting's content and once
// for all others, as whom it is asked. The result is shared, and not to be changed.
func (u *Update) Render(sees bool, make func(by Actor) []byte) []byte {
	r, by := &u.rendered[0], Actor{Kind: ActorSystem}
	if !sees {
		r, by = &u.rendered[1], Actor{}
	}
	r.once.Do(func() { r.text = make(by) })
	return r.text
}

// A Listener is one who hears of every event. Close it.
type Listener struct {
	feed    *Feed
	updates chan Update
	skip    map[int64]bool // told before, or happened before it began to listen

	after, to int64 // the events between, it reads from the store first
}

// NewFeed returns a feed; it hears nothing until Run.
func NewFeed(store EventStore, o FeedOptions) *Feed {
	if o.Poll == 0 {
		o.Poll = time.Second
	}
	if o.Buffer == 0 {
		o.Buffer = 1000
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

// Update is an event that has happened, with its meeting as it is now; nil: one of them is not
// there any more.
func (f *Feed) Update(ctx context.Context, id int64) (*Update, error) {
	events, _, err := f.store.Events(ctx, id-1, 1)
	if err != nil || len(events) == 0 || events[0].ID != id {
		return nil, err
	}
	updates, err := f.updates(ctx, events)
	if err != nil || len(updates) == 0 {
		return nil, err
	}
	return &updates[0], nil
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

// hand gives the updates to all listeners and notes that the events are told. Who is too far
// behind is cut off, and comes back for what they missed.
func (f *Feed) hand(events []Event, updates []Update) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for l := range f.listeners {
		for _, u := range updates {
			if l.skip[u.ID] {
				continue
			}
			select {
			case l.updates <- u:
				continue
			default:
			}
			f.drop(l)
			break
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
	l = &Listener{feed: f, updates: make(chan Update, f.opts.Buffer), skip: map[int64]bool{}}
	if resumes && !lost {
		for id := from + 1; id <= after; id++ { // told on another connection
			l.skip[id] = true
		}
		return l, false, f.join(l, after)
	}
	seen, ended, err := f.store.Events(ctx, from, feedPage)
	if err != nil {
		return nil, false, err
	}
	for _, e := range seen {
		l.skip[e.ID] = true
	}
	return l, lost, f.join(l, upToComplete(from, seen, ended, time.Now()))
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
			if l.skip[u.ID] {
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

// Updates end when the listener is too far behind, and when the feed stops.
func (l *Listener) Updates() <-chan Update { return l.updates }

// Close ends listening.
func (l *Listener) Close() {
	l.feed.mu.Lock()
	defer l.feed.mu.Unlock()
	if _, there := l.feed.listeners[l]; there {
		l.feed.drop(l)
	}
}

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
