package memqueue

// A heap is an indexed 4-ary min-heap of items by time, then by order of arrival. Each item knows
// its position, so that any item can be removed. The keys are in the slots, not in the items, so
// that sifting follows no pointers. With container/heap, BenchmarkBurst takes 1.7 times as long.
type heap []slot

type slot struct {
	at   int64 // ms
	seq  uint64
	item *item
}

func (s slot) before(o slot) bool {
	return s.at < o.at || s.at == o.at && s.seq < o.seq
}

func (h *heap) push(s slot) {
	*h = append(*h, s)
	h.up(len(*h)-1, s)
}

func (h *heap) remove(i int) slot {
	old := *h
	gone, n := old[i], len(old)-1
	last := old[n]
	old[n] = slot{} // release the item to the garbage collector
	*h = old[:n]
	if i < n {
		if last.before(gone) {
			h.up(i, last)
		} else {
			h.down(i, last)
		}
	}
	if c := cap(old); c > 1024 && n < c/4 {
		*h = append(make(heap, 0, c/2), (*h)...)
	}
	return gone
}

func (h *heap) up(i int, s slot) {
	a := *h
	for i > 0 {
		p := (i - 1) / 4
		if !s.before(a[p]) {
			break
		}
		a.set(i, a[p])
		i = p
	}
	a.set(i, s)
}

func (h *heap) down(i int, s slot) {
	a := *h
	for {
		first := 4*i + 1
		if first >= len(a) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(a)); c++ {
			if a[c].before(a[least]) {
				least = c
			}
		}
		if !a[least].before(s) {
			break
		}
		a.set(i, a[least])
		i = least
	}
	a.set(i, s)
}

func (h heap) set(i int, s slot) {
	h[i] = s
	s.item.pos = int32(i)
}

func (h heap) due(now int64) *item {
	if len(h) == 0 || h[0].at > now {
		return nil
	}
	return h[0].item
}

// countDue counts the due items at or below position i.
func (h heap) countDue(i int, now int64) int {
	if i >= len(h) || h[i].at > now {
		return 0
	}
	n := 1
	for c := 4*i + 1; c <= 4*i+4; c++ {
		n += h.countDue(c, now)
	}
	return n
}
