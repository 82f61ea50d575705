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
	// A silent connection is pinged after this time; twice means that it is dead.
	pingAfter = 5 * time.Second
)

// Wake implements [delayjob.Queue]. It fails if no subscription succeeds. Shards subscribed later,
// or again after a broken connection, send a hint with a zero Due. All calls share the
// subscriptions.
func (q *Queue) Wake(ctx context.Context) (<-chan delayjob.Hint, error) {
	if q.closing.Err() != nil {
		return nil, errors.New("redisqueue: closed")
	}
	if err := q.ready(ctx); err != nil { // it decides how hints are sent
		return nil, fmt.Errorf("redisqueue: subscribe to hints: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(q.closing, cancel)
	h := newHub(len(q.keys))
	leave := q.attach(h)
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
		q.log.Warn("no wake-up hints from some shards yet", "shards", len(q.keys)-subscribed, "error", err)
	}
	q.wakes.Go(func() {
		h.deliver(ctx)
		end()
		close(h.out)
	})
	return h.out, nil
}

// channels groups the shards whose hints share a connection. With SPUBLISH, each shard has its own,
// because its slot may move to another node.
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

type subscriptions struct {
	stop      func()
	listeners sync.WaitGroup

	mu     sync.Mutex
	hubs   map[*hub]struct{}
	active map[int]bool // by shard
	err    error        // the last failure
}

// attach connects a hub until leave is called. The last leave waits for the subscriptions to end.
func (q *Queue) attach(h *hub) (leave func()) {
	q.subsMu.Lock()
	defer q.subsMu.Unlock()
	subs := q.subs
	if subs == nil {
		ctx, stop := context.WithCancel(q.closing)
		subs = &subscriptions{stop: stop, hubs: map[*hub]struct{}{}, active: map[int]bool{}}
		for _, shards := range q.channels() {
			subs.listeners.Go(func() { q.listen(ctx, subs, shards) })
		}
		q.subs = subs
	}
	subs.join(h)
	return func() {
		q.subsMu.Lock()
		last := subs.leave(h)
		if last {
			q.subs = nil
		}
		q.subsMu.Unlock()
		if last {
			subs.stop()
			subs.listeners.Wait()
		}
	}
}

func (subs *subscriptions) join(h *hub) {
	subs.mu.Lock()
	defer subs.mu.Unlock()
	subs.hubs[h] = struct{}{}
	for shard := range subs.active {
		h.subscribed(shard)
	}
	h.failed(subs.err)
}

func (subs *subscriptions) leave(h *hub) (last bool) {
	subs.mu.Lock()
	defer subs.mu.Unlock()
	delete(subs.hubs, h)
	return len(subs.hubs) == 0
}

func (subs *subscriptions) subscribed(shard int) {
	subs.mu.Lock()
	defer subs.mu.Unlock()
	subs.active[shard] = true
	for h := range subs.hubs {
		h.subscribed(shard)
	}
}

func (subs *subscriptions) failed(shards []int, err error) {
	subs.mu.Lock()
	defer subs.mu.Unlock()
	subs.err = err
	for _, s := range shards {
		delete(subs.active, s)
	}
	for h := range subs.hubs {
		h.failed(err)
	}
}

func (subs *subscriptions) note(hint delayjob.Hint) {
	subs.mu.Lock()
	defer subs.mu.Unlock()
	for h := range subs.hubs {
		h.note(hint)
	}
}

// listen keeps up a subscription and passes on its hints until ctx ends.
func (q *Queue) listen(ctx context.Context, subs *subscriptions, shards []int) {
	channels, shardOf := make([]string, len(shards)), map[string]int{}
	for i, s := range shards {
		channels[i] = q.keys[s].sig
		shardOf[channels[i]] = s
	}
	for failures := 0; ctx.Err() == nil; failures++ {
		ps, err := q.subscribe(ctx, channels)
		if err == nil {
			var alive bool
			if alive, err = receive(ctx, ps, subs, shardOf); alive {
				failures = 0
			}
		}
		ps.Close()
		if ctx.Err() != nil {
			return
		}
		subs.failed(shards, err)
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

// receive passes on hints until the subscription breaks. It reports whether it was ever active.
func receive(ctx context.Context, ps *redis.PubSub, subs *subscriptions, shardOf map[string]int) (alive bool, err error) {
	defer context.AfterFunc(ctx, func() { ps.Close() })() // nothing else interrupts a read
	asked := false
	for {
		msg, err := ps.ReceiveTimeout(ctx, pingAfter)
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
				subs.subscribed(shard)
			}
		case *redis.Message:
			shard, ok := shardOf[m.Channel]
			if due, err := strconv.ParseInt(m.Payload, 10, 64); ok && err == nil {
				subs.note(delayjob.Hint{Shard: shard, Due: fromMilli(due)})
			}
		}
	}
}

// A hub merges the hints of all shards. It keeps the earliest pending one per shard, so a slow
// reader never makes it grow.
type hub struct {
	out      chan delayjob.Hint
	changed  chan struct{} // one slot: check pending
	complete chan struct{} // closed when all shards are subscribed

	mu      sync.Mutex
	pending map[int]time.Time
	confirm map[int]bool // subscribed before begin; then nil
	missing int          // shards not in confirm, before begin
	err     error        // the last failure
}

func newHub(shards int) *hub {
	return &hub{
		out: make(chan delayjob.Hint), changed: make(chan struct{}, 1), complete: make(chan struct{}),
		pending: map[int]time.Time{}, confirm: map[int]bool{}, missing: shards,
	}
}

// subscribed records an active subscription. It sends a hint, except for the first one of a shard
// while Wake waits for it.
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

// begin ends the wait. It returns how many shards are subscribed, and the last error.
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
	h.merge(hint)
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

func (h *hub) merge(hint delayjob.Hint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if due, ok := h.pending[hint.Shard]; !ok || hint.Due.Before(due) {
		h.pending[hint.Shard] = hint.Due
	}
}

// deliver sends pending hints until ctx ends. A hint that is offered is not pending, so one that
// arrives while the reader takes it is kept, even if both are equal.
func (h *hub) deliver(ctx context.Context) {
	for {
		hint, ok := h.take()
		var out chan delayjob.Hint
		if ok {
			out = h.out
		}
		select {
		case out <- hint:
		case <-h.changed: // perhaps an earlier one
			if ok {
				h.merge(hint)
			}
		case <-ctx.Done():
			return
		}
	}
}

// take removes the earliest pending hint.
func (h *hub) take() (hint delayjob.Hint, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for shard, due := range h.pending {
		if !ok || due.Before(hint.Due) {
			hint, ok = delayjob.Hint{Shard: shard, Due: due}, true
		}
	}
	delete(h.pending, hint.Shard)
	return hint, ok
}
