package redisqueue

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
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

// RenewGeneration notes that the keys of this layout and number of shards are in use, and
// deletes those of others under the same prefix that no process has renewed for the time
// unused. All processes should call it every minute or so, and unused should be several times
// that: in a rolling deploy processes of two generations work side by side, each on its own
// keys, and what one of them has done the other finds done. A process that comes back after its
// generation was deleted finds it empty, as after a flush, and fills it.
//
// It returns the generations that it deleted something of.
func (q *Queue) RenewGeneration(ctx context.Context, unused time.Duration) (deleted []string, err error) {
	client := q.universal()
	register := q.prefix + ":generations"
	args := []any{generation(len(q.keys)), unused.Milliseconds()}
	old, err := generationsScript.Run(ctx, client, []string{register}, args...).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("redisqueue: renew the generation: %w", err)
	}
	for _, g := range old {
		n, err := q.deleteKeys(ctx, "{"+q.prefix+":"+g+":")
		if err != nil {
			return deleted, fmt.Errorf("redisqueue: delete the generation %s: %w", g, err)
		}
		if n > 0 { // looked for once more the next time: somebody may be writing still
			deleted = append(deleted, g)
			continue
		}
		if err := client.ZRem(ctx, register, g).Err(); err != nil {
			return deleted, fmt.Errorf("redisqueue: forget the generation %s: %w", g, err)
		}
	}
	return deleted, nil
}

func (q *Queue) universal() redis.UniversalClient {
	if q.cluster != nil {
		return q.cluster
	}
	return q.single
}

// deleteKeys deletes all keys that begin with a prefix and tells how many. It goes through the
// key space in pages; a queue has few keys, however many messages are in them.
func (q *Queue) deleteKeys(ctx context.Context, prefix string) (int64, error) {
	var n atomic.Int64
	on := func(ctx context.Context, node *redis.Client) error {
		for cursor := uint64(0); ; {
			keys, next, err := node.Scan(ctx, cursor, globLiteral(prefix)+"*", 1000).Result()
			if err != nil {
				return err
			}
			for _, k := range keys { // one by one: in a cluster they are in several slots
				if err := node.Unlink(ctx, k).Err(); err != nil && !errors.Is(err, redis.Nil) {
					return err
				}
				n.Add(1)
			}
			if cursor = next; cursor == 0 {
				return nil
			}
		}
	}
	if q.cluster != nil {
		err := q.cluster.ForEachMaster(ctx, on)
		return n.Load(), err
	}
	err := on(ctx, q.single)
	return n.Load(), err
}

// globLiteral is a pattern that matches a text and nothing else.
func globLiteral(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`).Replace(s)
}
