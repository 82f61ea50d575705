package delayjob

import "time"

// An Observer receives events of loaders, schedulers and consumers, for metrics. Its methods must
// return quickly and be safe for concurrent use. Embed [NoObserver] to implement only some of them.
type Observer interface {
	// Started reports that a handler begins, late after [Message.Ready].
	Started(job string, late time.Duration)
	// Finished reports that a handler ended after took, late after the due time.
	Finished(job string, r Result, late, took time.Duration)
	// Claimed reports a claim that returned n messages.
	Claimed(shard, n int, took time.Duration, err error)
	// Woken reports that the claimer of a shard stopped waiting.
	Woken(cause Cause)
	// Leases reports how many leases were extended and how many were found lost.
	Leases(job string, extended, lost int)
	// Breaker reports that the breaker of a job opened or closed.
	Breaker(job string, open bool)
	// Added reports n messages added with the same result.
	Added(job string, r AddResult, n int)
	// Loaded reports the end of a loader pass over all jobs.
	Loaded(full bool, rows int, took time.Duration, err error)
}

// Result is the result of one execution.
type Result string

const (
	ResultOK          Result = "ok"
	ResultDrop        Result = "drop"
	ResultRetry       Result = "retry"
	ResultSnooze      Result = "snooze"
	ResultDead        Result = "dead"
	ResultUnavailable Result = "unavailable"
	ResultReleased    Result = "released" // returned without running: no free handler, the job is paused, or the consumer is stopping
)

// Cause is the reason for a wake-up.
type Cause string

const (
	CauseTimer  Cause = "timer"  // the first message became due
	CauseHint   Cause = "hint"   // an earlier message was added
	CauseSafety Cause = "safety" // no hint arrived within the safety poll interval
	CauseSlot   Cause = "slot"   // a handler became free
)

// NoObserver ignores all events.
type NoObserver struct{}

func (NoObserver) Started(string, time.Duration)                         {}
func (NoObserver) Finished(string, Result, time.Duration, time.Duration) {}
func (NoObserver) Claimed(int, int, time.Duration, error)                {}
func (NoObserver) Woken(Cause)                                           {}
func (NoObserver) Leases(string, int, int)                               {}
func (NoObserver) Breaker(string, bool)                                  {}
func (NoObserver) Added(string, AddResult, int)                          {}
func (NoObserver) Loaded(bool, int, time.Duration, error)                {}
