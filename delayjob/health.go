package delayjob

import (
	"sync"
	"time"
)

// Health measures how long a queue has not answered, from calls that the consumer and loader make
// anyway. The zero value is ready to use. A nil Health records nothing.
type Health struct {
	mu    sync.Mutex
	since map[int]time.Time // by shard: start of the first unanswered call
}

// Pseudo-shards for calls that cover all shards. They are tracked separately: a Redis server that
// is out of memory answers polls, but refuses to store messages.
const (
	filling = -1 - iota // the loader stores messages
	polling
)

// Away returns how long the longest unanswered shard has not answered, counted from its first
// unanswered call. A call in progress counts. 0: all shards answer.
func (h *Health) Away() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	var longest time.Duration
	for _, t := range h.since {
		longest = max(longest, time.Since(t))
	}
	return longest
}

func (h *Health) asked(shard int) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, waiting := h.since[shard]; waiting {
		return
	}
	if h.since == nil {
		h.since = map[int]time.Time{}
	}
	h.since[shard] = time.Now()
}

func (h *Health) answered(shard int) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.since, shard)
}
