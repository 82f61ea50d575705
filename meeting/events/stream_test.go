package events

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"punctual/meeting"
	"punctual/meeting/policy"
)

// eventLog is an event store in which transactions begin and end.
type eventLog struct {
	mu      sync.Mutex
	last    int64  // ID handed out
	next    uint64 // transaction
	running map[uint64]bool
	entries []Event
}

// begin a transaction that takes an ID; the entry is seen once commit is called.
func (l *eventLog) begin() (id int64, commit func(ok bool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == nil {
		l.running = map[uint64]bool{}
	}
	l.next++
	l.last++
	tx, id, at := l.next, l.last, time.Now()
	l.running[tx] = true
	return id, func(ok bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.running, tx)
		if ok {
			l.entries = append(l.entries, Event{ID: id, At: at, Action: meeting.ActionCreated, MeetingID: id})
			slices.SortFunc(l.entries, func(a, b Event) int { return int(a.ID - b.ID) })
		}
	}
}

func (l *eventLog) write() int64 { id, commit := l.begin(); commit(true); return id }

func (l *eventLog) Events(_ context.Context, after int64, limit int) ([]Event, uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.next + 1
	for tx := range l.running {
		r = min(r, tx)
	}
	i := slices.IndexFunc(l.entries, func(e Event) bool { return e.ID > after })
	if i < 0 {
		return nil, r, nil
	}
	return slices.Clone(l.entries[i:min(len(l.entries), i+limit)]), r, nil
}

func (l *eventLog) EventsByID(_ context.Context, ids []int64) ([]Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.entries), func(e Event) bool { return !slices.Contains(ids, e.ID) }), nil
}

func (l *eventLog) Mark(context.Context) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	return l.next, nil
}

func (l *eventLog) LastEvent(context.Context) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.entries) == 0 {
		return 0, nil
	}
	return l.entries[len(l.entries)-1].ID, nil
}

func (l *eventLog) MeetingsByID(_ context.Context, ids []meeting.ID) ([]*meeting.Meeting, error) {
	var ms []*meeting.Meeting
	for _, id := range ids {
		ms = append(ms, &meeting.Meeting{ID: id})
	}
	return ms, nil
}

func (l *eventLog) Rooms(context.Context, []int64) ([]*meeting.Room, error) { return nil, nil }

// feeding runs a stream in a bubble.
func feeding(t *testing.T, test func(t *testing.T, l *eventLog, f *Stream)) {
	synctest.Test(t, func(t *testing.T) {
		l := &eventLog{}
		f := New(l, Options{Buffer: 2, Replay: 1000})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = f.Run(ctx) }()
		test(t, l, f)
		stop()
		<-done
	})
}

func listen(t *testing.T, f *Stream, after int64) *Listener {
	t.Helper()
	l, lost, err := f.Listen(t.Context(), after)
	if err != nil || lost {
		t.Fatalf("lost %v, %v", lost, err)
	}
	return l
}

// heard are the IDs that the listener got until now.
func heard(t *testing.T, l *Listener) []int64 {
	t.Helper()
	var ids []int64
	if err := l.Missed(t.Context(), func(u Update) error { ids = append(ids, u.ID); return nil }); err != nil {
		t.Fatal(err)
	}
	l.after = l.to // once
	for {
		select {
		case batch, open := <-l.Updates():
			if !open {
				return ids
			}
			for _, u := range batch {
				ids = append(ids, u.ID)
			}
		default:
			return ids
		}
	}
}

func wantHeard(t *testing.T, what string, l *Listener, want ...int64) {
	t.Helper()
	synctest.Wait()
	if got := heard(t, l); !slices.Equal(got, want) {
		t.Errorf("%s: heard %v, want %v", what, got, want)
	}
}

func TestStream_fromNowOn(t *testing.T) {
	feeding(t, func(t *testing.T, l *eventLog, f *Stream) {
		l.write()
		listener := listen(t, f, 0)
		wantHeard(t, "before", listener)
		id := l.write()
		f.Poke()
		wantHeard(t, "poked", listener, id)
		id = l.write()
		time.Sleep(1100 * time.Millisecond) // nobody said so
		wantHeard(t, "found", listener, id)
		other := listen(t, f, 0)
		id = l.write()
		f.Poke()
		wantHeard(t, "the first", listener, id)
		wantHeard(t, "the second", other, id)
		listener.Close()
		listener.Close()
		if _, open := <-listener.Updates(); open {
			t.Error("closed and yet open")
		}
	})
}

// What is committed late has a lower ID: nobody may be told of what is behind it before.
func TestStream_waitsForWhatIsMissing(t *testing.T) {
	feeding(t, func(t *testing.T, l *eventLog, f *Stream) {
		early, commitEarly := l.begin() // before anybody listens
		l.write()
		listener := listen(t, f, 0)
		slow, commitSlow := l.begin()
		_, rollBack := l.begin()
		quick := l.write()
		f.Poke()
		time.Sleep(50 * time.Millisecond)
		wantHeard(t, "while others run", listener)
		commitEarly(true)
		time.Sleep(300 * time.Millisecond)
		wantHeard(t, "the early one", listener, early)
		rollBack(false)
		time.Sleep(300 * time.Millisecond)
		wantHeard(t, "the slow one still runs", listener)
		commitSlow(true)
		time.Sleep(300 * time.Millisecond)
		wantHeard(t, "all", listener, slow, quick)
	})
}

// A transaction that takes very long does not hold up the news for ever.
func TestStream_losesPatience(t *testing.T) {
	feeding(t, func(t *testing.T, l *eventLog, f *Stream) {
		listener := listen(t, f, 0)
		_, commit := l.begin()
		id := l.write()
		f.Poke()
		time.Sleep(2 * time.Second)
		wantHeard(t, "after two seconds", listener)
		time.Sleep(2 * time.Second)
		wantHeard(t, "after four", listener, id)
		commit(true)
	})
}

func TestStream_takesUpAgain(t *testing.T) {
	feeding(t, func(t *testing.T, l *eventLog, f *Stream) {
		first := listen(t, f, 0)
		var all []int64
		for range 5 {
			all = append(all, l.write())
		}
		f.Poke()
		wantHeard(t, "the first", first, all...)
		second, last := listen(t, f, all[1]), listen(t, f, all[4])
		wantHeard(t, "behind the second", second, all[2:]...)
		wantHeard(t, "behind the last", last)
		for _, l := range []*Listener{first, second, last} {
			l.Close()
		}

		// Nobody listened for a while, and the stream begins anew.
		time.Sleep(time.Minute)
		for range 700 {
			all = append(all, l.write())
		}
		again := listen(t, f, all[4])
		synctest.Wait()
		time.Sleep(time.Second)
		if got := heard(t, again); !slices.Equal(got, all[5:]) {
			t.Errorf("heard %d, want %d, once each and in order", len(got), len(all[5:]))
		}
		for range 1000 {
			l.write()
		}
		for what, after := range map[string]int64{"too much was missed": all[0], "an ID of another database": 1 << 40} {
			if _, lost, err := f.Listen(t.Context(), after); !lost || err != nil {
				t.Errorf("%s: lost %v, %v", what, lost, err)
			}
		}
	})
}

// Who does not listen is cut off and holds up nobody.
func TestStream_slowListener(t *testing.T) {
	feeding(t, func(t *testing.T, l *eventLog, f *Stream) {
		slow, quick := listen(t, f, 0), listen(t, f, 0)
		synctest.Wait() // a look that is under way would find a part of the first batch
		n := 0
		for range 3 {
			for range 240 {
				l.write()
			}
			f.Poke()
			synctest.Wait()
			n += len(heard(t, quick))
		}
		if n != 720 {
			t.Errorf("the quick one heard %d, want 720", n)
		}
		if got := heard(t, slow); len(got) != 480 {
			t.Errorf("the slow one heard %d, want two batches of 240", len(got))
		}
		if _, open := <-slow.Updates(); open {
			t.Error("the slow one is not cut off")
		}
	})
}

func TestStream_stops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(&eventLog{}, Options{})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = f.Run(ctx) }()
		l := listen(t, f, 0)
		stop()
		<-done
		if _, open := <-l.Updates(); open {
			t.Error("the listener still hears")
		}
		if _, _, err := f.Listen(context.Background(), 0); err != ErrClosed {
			t.Errorf("%v, want ErrClosed", err)
		}
	})
}

// Who began to listen before anything had happened, and was cut off, misses nothing either.
// Where a listener begins, it can take up again: neither far behind what happened nor in front of
// what may still appear.
func TestStream_position(t *testing.T) {
	feeding(t, func(t *testing.T, log *eventLog, f *Stream) {
		var last int64
		for range 300 {
			last = log.write()
		}
		want := func(what string, position int64) {
			t.Helper()
			l := listen(t, f, 0)
			defer l.Close()
			if l.Position() != position {
				t.Errorf("%s: begins behind %d, want %d", what, l.Position(), position)
			}
		}
		want("quiet", last)
		undone, undo := log.begin()
		undo(false)
		late, commit := log.begin()
		last = log.write()
		want("with one under way", undone-1)
		commit(true)
		time.Sleep(patience + time.Second)
		want("with one undone", last)

		l := listen(t, f, undone-1)
		defer l.Close()
		time.Sleep(patience + time.Second) // it waits for the one that is missing
		wantHeard(t, "taken up", l, late, last)
	})
}

func TestStream_fromTheFirst(t *testing.T) {
	feeding(t, func(t *testing.T, log *eventLog, f *Stream) {
		l, _, err := f.Listen(t.Context(), 0)
		if err != nil || l.Position() != 0 {
			t.Fatalf("begins behind %d, %v", l.Position(), err)
		}
		l.Close()
		id := log.write()
		time.Sleep(time.Minute)
		l, lost, err := f.Listen(t.Context(), FromStart)
		if err != nil || lost {
			t.Fatal(lost, err)
		}
		defer l.Close()
		var notified []int64
		if err := l.Missed(t.Context(), func(u Update) error { notified = append(notified, u.ID); return nil }); err != nil {
			t.Fatal(err)
		}
		if len(notified) == 0 {
			notified = append(notified, (<-l.Updates())[0].ID)
		}
		if !slices.Equal(notified, []int64{id}) {
			t.Errorf("told %v", notified)
		}
	})
}

// Who listens for a room hears of what is there, leaves it or is to move there; of the last only
// who sees the meeting.
func TestUpdate_Concerns(t *testing.T) {
	u := Update{Event: Event{Left: []int64{2}, Requested: []int64{3}}, Meeting: &meeting.Meeting{RoomIDs: []int64{1}}}
	for _, c := range []struct {
		room int64
		sees bool
		want bool
	}{{1, false, true}, {2, false, true}, {3, true, true}, {3, false, false}, {4, true, false}} {
		if got := u.Concerns([]int64{9, c.room}, c.sees); got != c.want {
			t.Errorf("room %d, sees %v: %v", c.room, c.sees, got)
		}
	}
}

// Whoever sees a meeting, but not the room that it shall move to, gets an update without that room, whatever
// the event is about.
func TestUpdate_For_hiddenRequest(t *testing.T) {
	hidden := &meeting.Room{Room: policy.Room{ID: 3}, Access: meeting.Access{See: []int64{7}}}
	limit, _ := hidden.Access.Limit(3)
	m := &meeting.Meeting{
		RoomIDs: []int64{1}, Title: "Review", Limits: []meeting.Limit{limit},
		Request: &meeting.Request{Change: &meeting.PendingChange{RoomIDs: []int64{3}}},
	}
	u := &Update{Meeting: m, Rooms: []*meeting.Room{{Room: policy.Room{ID: 1}}, hidden}, rendered: new([2]rendering)}
	for _, c := range []struct {
		groups []int64
		knows  bool
	}{{nil, false}, {[]int64{7}, true}} {
		own, sees := u.For(meeting.Actor{Kind: meeting.ActorUser, ID: 9, Groups: &c.groups})
		if !sees || own.Meeting.Title != "Review" || (own.Meeting.Request != nil) != c.knows {
			t.Errorf("in groups %v: %+v", c.groups, own.Meeting)
		}
	}
}
