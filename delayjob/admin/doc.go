// Package admin is what operators do to delay jobs, beside the engine: pause and resume a job, requeue
// or discard dead letters, and find messages of jobs that this version does not know. The API, the
// commands and the wiring share it.
package admin

import (
	"errors"
	"fmt"
)

// ErrQueueDown is returned if the queue does not answer, for whatever reason. Nothing is lost then:
// the database holds what is due.
var ErrQueueDown = errors.New("the queue does not answer")

// QueueError wraps an error of the queue in [ErrQueueDown].
func QueueError(err error) error { return fmt.Errorf("%w: %w", ErrQueueDown, err) }
