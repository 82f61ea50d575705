package delayjob

import (
	"sync"
	"time"
)

// Health tells for how long a queue has not answered, from the calls that consumer and loader
// make anyway. The zero value is that of a queue nobody has asked yet. A nil Health notes nothing.
type Health struct {
	mu    sync.Mutex
	since map[int]time.Time // by shard: when the claim began that no answered one has followed
}

// What stands for calls that concern all shards. Each kind is judged by itself: a server that
// is out of memory answers polls, and claims of nothing, and refuses what is to be claimed.
const (
	filling = -1 - iota // the loader's
	polling
)

// Away is how long the shard that is worst off has not answered: the time since the first
// call that had no answer, also while it still waits for one. 0: all answer.
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
