package redisqueue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// probed is whether the servers were seen to be fit, which the calls of a queue that was
// made without them find out.
type probed struct {
	done atomic.Bool

	mu   sync.Mutex // held while somebody asks the servers
	at   time.Time  // of the last try
	last atomic.Pointer[error]
}

const (
	probeEvery   = 200 * time.Millisecond
	probeTimeout = 2 * time.Second
	firstTimeout = 5 * time.Second // for servers that are there and silent, one after the other
)

var errNotProbed = errors.New("redisqueue: Redis has not answered yet")

// ready returns nil once all servers were seen to be fit. Until then one caller at a time
// asks them, not too often, and the others get the last error.
func (q *Queue) ready(ctx context.Context) error {
	p := &q.probed
	if p.done.Load() {
		return nil
	}
	if !p.mu.TryLock() {
		if err := p.last.Load(); err != nil {
			return *err
		}
		return errNotProbed
	}
	defer p.mu.Unlock()
	if p.done.Load() {
		return nil
	}
	if last := p.last.Load(); last != nil && time.Since(p.at) < probeEvery {
		return *last
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	err := q.probe(ctx)
	if err != nil {
		p.at = time.Now()
		p.last.Store(&err)
		return err
	}
	p.done.Store(true)
	q.log.Info("Redis answers")
	return nil
}

// firstProbe is New's.
func (q *Queue) firstProbe(ctx context.Context, patient bool) error {
	if patient {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, firstTimeout)
		defer cancel()
	}
	return q.probe(ctx)
}

// notReady tells that no server answered, or that it is about to be fit, from an answer that
// will not change by itself.
func notReady(err error) bool {
	for _, prefix := range [...]string{"LOADING ", "CLUSTERDOWN ", "MASTERDOWN ", "TRYAGAIN ", "READONLY ", "BUSY ", "max number of clients"} {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	if _, ok := errors.AsType[net.Error](err); ok { // also a context's deadline
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, redis.ErrPoolTimeout)
}

// publish is the command that sends a hint.
func (q *Queue) publish() string {
	if q.sharded.Load() {
		return "SPUBLISH"
	}
	return "PUBLISH"
}

// probe asks all servers for what the queue depends on.
func (q *Queue) probe(ctx context.Context) error {
	if q.cluster == nil {
		_, err := q.probeServer(ctx, q.single)
		return err
	}
	var old atomic.Bool
	err := q.cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
		major, err := q.probeServer(ctx, c)
		if major < 7 {
			old.Store(true)
		}
		return err
	})
	q.sharded.Store(!old.Load())
	return err
}

// probeServer also tells the server's major version, 0 if it does not say.
func (q *Queue) probeServer(ctx context.Context, c *redis.Client) (major int, err error) {
	addr := c.Options().Addr
	t, err := c.Time(ctx).Result()
	if err != nil {
		return 0, fmt.Errorf("redisqueue: reach Redis at %s: %w", addr, err)
	}
	q.read(t)
	info, err1 := c.Info(ctx, "server").Result()
	conf, err2 := c.ConfigGet(ctx, "maxmemory-policy").Result()
	for _, err := range [...]error{err1, err2} {
		if unanswered(err) {
			return 0, fmt.Errorf("redisqueue: reach Redis at %s: %w", addr, err)
		}
	}
	major, minor := version(info)
	if major > 0 && (major < 6 || major == 6 && minor < 2) {
		return major, fmt.Errorf("redisqueue: Redis at %s is %d.%d; 6.2 or later is needed", addr, major, minor)
	}
	switch policy := conf["maxmemory-policy"]; policy {
	case "noeviction":
	case "":
		q.log.Warn("cannot see whether Redis evicts keys; its maxmemory-policy must be noeviction", "address", addr, "error", err2)
	default:
		return major, fmt.Errorf("redisqueue: Redis at %s has the maxmemory-policy %s and would drop messages when its memory is full; it must be noeviction", addr, policy)
	}
	return major, nil
}

// version that the text of INFO tells; 0 if it does not.
func version(info string) (major, minor int) {
	_, rest, _ := strings.Cut(info, "redis_version:")
	_, _ = fmt.Sscanf(rest, "%d.%d", &major, &minor)
	return major, minor
}
