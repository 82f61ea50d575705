package delayjob

import "time"

// An Observer is told what loaders, schedulers and consumers do, for metrics. Its methods
// must be quick, must not block, and are called concurrently. Embed [NoObserver] to
// implement only some of them.
type Observer interface {
	// Started: a handler begins; late is the engine's time past [Message.Ready].
	Started(job string, late time.Duration)
	// Finished: a handler ended with this result, done so long after the due time.
	Finished(job string, r Result, late, took time.Duration)
	// Claimed: one claim returned n messages.
	Claimed(shard, n int, took time.Duration, err error)
	// Woken: a shard's runner stopped waiting.
	Woken(cause Cause)
	// Leases were extended, or found lost.
	Leases(job string, extended, lost int)
	// Breaker of a job opened or closed.
	Breaker(job string, open bool)
	// Added: messages were added with this result.
	Added(job string, r AddResult, n int)
	// Loaded: a pass over all jobs ended.
	Loaded(full bool, rows int, took time.Duration, err error)
}

// Result of one execution.
type Result string

const (
	ResultOK          Result = "ok"
	ResultDrop        Result = "drop"
	ResultRetry       Result = "retry"
	ResultSnooze      Result = "snooze"
	ResultDead        Result = "dead"
	ResultUnavailable Result = "unavailable"
	ResultReleased    Result = "released" // given back: no room for it, its job is paused, or the consumer stops
)

// Cause of a wake-up.
type Cause string

const (
	CauseTimer  Cause = "timer"  // the head became due
	CauseHint   Cause = "hint"   // somebody added an earlier head
	CauseSafety Cause = "safety" // nothing was heard for the safety poll's time
	CauseSlot   Cause = "slot"   // a handler became free
)

// NoObserver ignores everything.
type NoObserver struct{}

func (NoObserver) Started(string, time.Duration)                         {}
func (NoObserver) Finished(string, Result, time.Duration, time.Duration) {}
func (NoObserver) Claimed(int, int, time.Duration, error)                {}
func (NoObserver) Woken(Cause)                                           {}
func (NoObserver) Leases(string, int, int)                               {}
func (NoObserver) Breaker(string, bool)                                  {}
func (NoObserver) Added(string, AddResult, int)                          {}
func (NoObserver) Loaded(bool, int, time.Duration, error)                {}
