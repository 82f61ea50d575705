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

// probed records whether all servers were found usable. With [WithPatience], calls check this.
type probed struct {
	done atomic.Bool

	mu   sync.Mutex // held during a probe
	at   time.Time  // of the last attempt
	last atomic.Pointer[error]
}

const (
	probeEvery   = 200 * time.Millisecond
	probeTimeout = 2 * time.Second
	firstTimeout = 5 * time.Second // for all servers together, which may be silent
)

var errNotProbed = errors.New("redisqueue: Redis has not answered yet")

// ready returns nil once all servers were found usable. Until then, one caller at a time probes
// them, at most every probeEvery, and the others get the last error.
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
	q.log.Info("redis available")
	return nil
}

// firstProbe is the probe by New.
func (q *Queue) firstProbe(ctx context.Context, patient bool) error {
	if patient {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, firstTimeout)
		defer cancel()
	}
	return q.probe(ctx)
}

// notReady reports whether the servers may become usable without a change of configuration.
func notReady(err error) bool {
	for _, prefix := range [...]string{"LOADING ", "CLUSTERDOWN ", "MASTERDOWN ", "TRYAGAIN ", "READONLY ", "BUSY ", "max number of clients"} {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	if _, ok := errors.AsType[net.Error](err); ok { // includes context deadlines
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, redis.ErrPoolTimeout)
}

func (q *Queue) publish() string {
	if q.sharded.Load() {
		return "SPUBLISH"
	}
	return "PUBLISH"
}

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
		return major, fmt.Errorf("redisqueue: Redis at %s: must be version 6.2 or later, is %d.%d", addr, major, minor)
	}
	switch policy := conf["maxmemory-policy"]; policy {
	case "noeviction":
	case "":
		q.log.Warn("redis eviction policy unknown, must be noeviction", "address", addr, "error", err2)
	default:
		return major, fmt.Errorf("redisqueue: Redis at %s: maxmemory-policy %s drops messages when memory is full, must be noeviction", addr, policy)
	}
	return major, nil
}

func version(info string) (major, minor int) {
	_, rest, _ := strings.Cut(info, "redis_version:")
	_, _ = fmt.Sscanf(rest, "%d.%d", &major, &minor)
	return major, minor
}
