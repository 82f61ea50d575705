package redisqueue

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"punctual/delayjob"
)

const (
	subscribeTimeout = 3 * time.Second // how long Wake waits for subscriptions
	silence          = 5 * time.Second // after it a connection is asked whether it lives; twice means no
)

// Wake implements [delayjob.Queue]. It fails if no subscription could be made. One that comes
// into force later, or again after its connection broke, shows as a hint with a zero Due. All
// calls share the subscriptions.
func (q *Queue) Wake(ctx context.Context) (<-chan delayjob.Hint, error) {
	if q.closing.Err() != nil {
		return nil, errors.New("redisqueue: closed")
	}
	if err := q.ready(ctx); err != nil { // it tells which way hints go
		return nil, fmt.Errorf("redisqueue: subscribe to hints: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(q.closing, cancel)
	h := newHub(len(q.keys))
	leave := q.hear(h)
	end := func() {
		cancel()
		stop()
		leave()
	}

	timeout := time.NewTimer(subscribeTimeout)
	defer timeout.Stop()
	select {
	case <-h.complete:
	case <-timeout.C:
	case <-ctx.Done():
	}
	subscribed, err := h.begin()
	switch {
	case ctx.Err() != nil:
		end()
		return nil, context.Cause(ctx)
	case subscribed == 0:
		end()
		if err == nil {
			err = context.DeadlineExceeded
		}
		return nil, fmt.Errorf("redisqueue: subscribe to hints: %w", err)
	case subscribed < len(q.keys):
		q.log.Warn("some shards give no wake-up hints yet", "shards", len(q.keys)-subscribed, "error", err)
	}
	q.wakes.Go(func() {
		h.deliver(ctx)
		end()
		close(h.out)
	})
	return h.out, nil
}

// channels groups the shards whose hints come over one connection. With SPUBLISH a hint stays
// on the node of its shard, and any shard may move to another node by itself.
func (q *Queue) channels() [][]int {
	if !q.sharded.Load() {
		all := make([]int, len(q.keys))
		for i := range all {
			all[i] = i
		}
		return [][]int{all}
	}
	each := make([][]int, len(q.keys))
	for i := range each {
		each[i] = []int{i}
	}
	return each
}

// ears are the subscriptions of a queue, kept up while a hub wants to hear.
type ears struct {
	stop      func()
	listeners sync.WaitGroup

	mu      sync.Mutex
	hubs    map[*hub]struct{}
	inForce map[int]bool // by shard
	err     error        // the last failure
}

// hear has a hub hear until leave is called. The last one to leave awaits the end of the
// subscriptions.
func (q *Queue) hear(h *hub) (leave func()) {
	q.earsMu.Lock()
	defer q.earsMu.Unlock()
	e := q.ears
	if e == nil {
		ctx, stop := context.WithCancel(q.closing)
		e = &ears{stop: stop, hubs: map[*hub]struct{}{}, inForce: map[int]bool{}}
		for _, shards := range q.channels() {
			e.listeners.Go(func() { q.listen(ctx, e, shards) })
		}
		q.ears = e
	}
	e.join(h)
	return func() {
		q.earsMu.Lock()
		last := e.leave(h)
		if last {
			q.ears = nil
		}
		q.earsMu.Unlock()
		if last {
			e.stop()
			e.listeners.Wait()
		}
	}
}

func (e *ears) join(h *hub) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hubs[h] = struct{}{}
	for shard := range e.inForce {
		h.subscribed(shard)
	}
	h.failed(e.err)
}

func (e *ears) leave(h *hub) (last bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.hubs, h)
	return len(e.hubs) == 0
}

func (e *ears) subscribed(shard int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.inForce[shard] = true
	for h := range e.hubs {
		h.subscribed(shard)
	}
}

func (e *ears) failed(shards []int, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err = err
	for _, s := range shards {
		delete(e.inForce, s)
	}
	for h := range e.hubs {
		h.failed(err)
	}
}

func (e *ears) note(hint delayjob.Hint) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for h := range e.hubs {
		h.note(hint)
	}
}

// listen keeps up a subscription and notes what it brings until ctx ends.
func (q *Queue) listen(ctx context.Context, e *ears, shards []int) {
	channels, shardOf := make([]string, len(shards)), map[string]int{}
	for i, s := range shards {
		channels[i] = q.keys[s].sig
		shardOf[channels[i]] = s
	}
	for failures := 0; ctx.Err() == nil; failures++ {
		ps, err := q.subscribe(ctx, channels)
		if err == nil {
			var alive bool
			if alive, err = receive(ctx, ps, e, shardOf); alive {
				failures = 0
			}
		}
		ps.Close()
		if ctx.Err() != nil {
			return
		}
		e.failed(shards, err)
		if q.cluster != nil {
			q.cluster.ReloadState(ctx)
		}
		select {
		case <-time.After(min(time.Second, 20*time.Millisecond<<min(failures, 6))):
		case <-ctx.Done():
		}
	}
}

func (q *Queue) subscribe(ctx context.Context, channels []string) (*redis.PubSub, error) {
	switch {
	case q.sharded.Load():
		ps := q.cluster.SSubscribe(ctx)
		return ps, ps.SSubscribe(ctx, channels...)
	case q.cluster != nil:
		ps := q.cluster.Subscribe(ctx)
		return ps, ps.Subscribe(ctx, channels...)
	default:
		ps := q.single.Subscribe(ctx)
		return ps, ps.Subscribe(ctx, channels...)
	}
}

// receive notes hints until the subscription breaks, and tells whether it was ever in force.
func receive(ctx context.Context, ps *redis.PubSub, e *ears, shardOf map[string]int) (alive bool, err error) {
	defer context.AfterFunc(ctx, func() { ps.Close() })() // nothing else ends a read early
	asked := false
	for {
		msg, err := ps.ReceiveTimeout(ctx, silence)
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() && !asked && ctx.Err() == nil {
			if err := ps.Ping(ctx); err != nil {
				return alive, err
			}
			asked = true
			continue
		}
		if err != nil {
			return alive, err
		}
		asked = false
		switch m := msg.(type) {
		case *redis.Subscription:
			shard, ok := shardOf[m.Channel]
			switch {
			case m.Kind == "sunsubscribe": // the slot has moved to another node
				return alive, errors.New("the server ended the subscription")
			case ok:
				alive = true
				e.subscribed(shard)
			}
		case *redis.Message:
			shard, ok := shardOf[m.Channel]
			if due, err := strconv.ParseInt(m.Payload, 10, 64); ok && err == nil {
				e.note(delayjob.Hint{Shard: shard, Due: fromMilli(due)})
			}
		}
	}
}

// A hub merges the hints of all shards: of each the earliest that was not taken yet is kept,
// so that nothing ever fills up however slow the taker is.
type hub struct {
	out      chan delayjob.Hint
	changed  chan struct{} // one slot: look at pending
	complete chan struct{} // closed when all shards are subscribed

	mu      sync.Mutex
	pending map[int]time.Time
	confirm map[int]bool // subscribed before begin; nil after it
	missing int          // of confirm, until complete
	err     error        // the last failure
}

func newHub(shards int) *hub {
	return &hub{
		out: make(chan delayjob.Hint), changed: make(chan struct{}, 1), complete: make(chan struct{}),
		pending: map[int]time.Time{}, confirm: map[int]bool{}, missing: shards,
	}
}

// subscribed notes a subscription that is now in force: the first of a shard while Wake is
// waiting for it is no news to anybody.
func (h *hub) subscribed(shard int) {
	h.mu.Lock()
	if h.confirm != nil && !h.confirm[shard] {
		h.confirm[shard] = true
		if h.missing--; h.missing == 0 {
			close(h.complete)
		}
		h.mu.Unlock()
		return
	}
	h.mu.Unlock()
	h.note(delayjob.Hint{Shard: shard})
}

// begin ends the waiting and tells how many shards are subscribed and why others are not.
func (h *hub) begin() (subscribed int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	subscribed, h.confirm = len(h.confirm), nil
	return subscribed, h.err
}

func (h *hub) failed(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
}

func (h *hub) note(hint delayjob.Hint) {
	h.mu.Lock()
	if due, ok := h.pending[hint.Shard]; !ok || hint.Due.Before(due) {
		h.pending[hint.Shard] = hint.Due
	}
	h.mu.Unlock()
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// deliver hands out what was noted until ctx ends.
func (h *hub) deliver(ctx context.Context) {
	for {
		hint, ok := h.first()
		var out chan delayjob.Hint
		if ok {
			out = h.out
		}
		select {
		case out <- hint:
			h.taken(hint)
		case <-h.changed: // perhaps an earlier one
		case <-ctx.Done():
			return
		}
	}
}

// first is the earliest hint not taken yet.
func (h *hub) first() (hint delayjob.Hint, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for shard, due := range h.pending {
		if !ok || due.Before(hint.Due) {
			hint, ok = delayjob.Hint{Shard: shard, Due: due}, true
		}
	}
	return hint, ok
}

// taken forgets a hint unless an earlier one came in while it was handed out.
func (h *hub) taken(hint delayjob.Hint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pending[hint.Shard].Equal(hint.Due) {
		delete(h.pending, hint.Shard)
	}
}
