package redisqueue

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed generations.lua
var generationsSource string

var generationsScript = redis.NewScript(generationsSource)

// generation names the keys of one layout and number of shards.
func generation(shards int) string { return fmt.Sprintf("g%d.%d", layout, shards) }

// RenewGeneration records that the keys of this layout and number of shards are in use. It deletes
// other generations under the same prefix that no process has renewed for unused, and returns their
// names.
//
// Call it in every process, about once a minute, with unused several times as long. During a
// rolling deployment, processes of two generations run side by side, each on its own keys; jobs are
// idempotent, so this is safe. A process whose generation was deleted finds it empty and fills it.
func (q *Queue) RenewGeneration(ctx context.Context, unused time.Duration) (deleted []string, err error) {
	client := q.universal()
	register := q.prefix + ":generations"
	args := []any{generation(len(q.keys)), unused.Milliseconds()}
	old, err := generationsScript.Run(ctx, client, []string{register}, args...).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("redisqueue: renew the generation: %w", err)
	}
	for _, g := range old {
		n, err := q.deleteKeys(ctx, "{"+q.prefix+":"+g+":", nil)
		if err != nil {
			return deleted, fmt.Errorf("redisqueue: delete the generation %s: %w", g, err)
		}
		if n > 0 { // check again next time, because a process may still be writing
			deleted = append(deleted, g)
			continue
		}
		if err := client.ZRem(ctx, register, g).Err(); err != nil {
			return deleted, fmt.Errorf("redisqueue: forget the generation %s: %w", g, err)
		}
	}
	return deleted, nil
}

// Clear deletes all keys under the prefix, of all layouts and numbers of shards, except what other programs
// keep there. Processes that use the queue notice it within a second, and fill it again. It is for a
// database that went back to an earlier state, which older messages would not fit.
func (q *Queue) Clear(ctx context.Context) error {
	// Another installation may have a prefix that begins with this one and ":g".
	own := regexp.MustCompile(`^\{` + regexp.QuoteMeta(q.prefix) + `:g\d+\.\d+:\d+(\.\d+)?\}`)
	if _, err := q.deleteKeys(ctx, "{"+q.prefix+":g", own.MatchString); err != nil {
		return fmt.Errorf("redisqueue: clear: %w", err)
	}
	return nil
}

func (q *Queue) universal() redis.UniversalClient {
	if q.cluster != nil {
		return q.cluster
	}
	return q.single
}

// deleteKeys deletes the keys that begin with prefix and, unless own is nil, for which own returns true.
func (q *Queue) deleteKeys(ctx context.Context, prefix string, own func(key string) bool) (int64, error) {
	var n atomic.Int64
	err := q.eachKey(ctx, globLiteral(prefix)+"*", func(ctx context.Context, node *redis.Client, key string) error {
		if own != nil && !own(key) {
			return nil
		}
		err := node.Unlink(ctx, key).Err() // one by one, because they are in several slots of a cluster
		if err == nil {
			n.Add(1)
		}
		return err
	})
	return n.Load(), err
}

// eachKey calls fn for every key that matches a glob pattern, on all masters at once. It scans the
// key space in pages. A queue has few keys, however many messages they hold.
func (q *Queue) eachKey(ctx context.Context, pattern string, fn func(ctx context.Context, node *redis.Client, key string) error) error {
	on := func(ctx context.Context, node *redis.Client) error {
		for cursor := uint64(0); ; {
			keys, next, err := node.Scan(ctx, cursor, pattern, 1000).Result()
			if err != nil {
				return err
			}
			for _, k := range keys {
				if err := fn(ctx, node, k); err != nil {
					return err
				}
			}
			if cursor = next; cursor == 0 {
				return nil
			}
		}
	}
	if q.cluster != nil {
		return q.cluster.ForEachMaster(ctx, on)
	}
	return on(ctx, q.single)
}

func globLiteral(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`).Replace(s)
}
