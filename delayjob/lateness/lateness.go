// Package lateness counts how late delay jobs run, by hour, job and bucket, over all processes.
package lateness

import (
	"context"
	"time"
)

// Buckets are the upper bounds of the buckets in seconds: lateness matters in milliseconds, a backlog
// in minutes.
var Buckets = []float64{.001, .002, .005, .01, .02, .03, .05, .1, .25, .5, 1, 2.5, 5, 15, 60, 300}

// Bounds are the Buckets as durations.
var Bounds = func() []time.Duration {
	bounds := make([]time.Duration, len(Buckets))
	for i, s := range Buckets {
		bounds[i] = time.Duration(s * float64(time.Second)).Round(time.Microsecond)
	}
	return bounds
}()

// Count is the number of executions of a job that began in an hour, later than the next smaller
// bound and at most Bound after their due time.
type Count struct {
	Job   string
	Hour  time.Time     // its start, in UTC
	Bound time.Duration // whole microseconds; 0: later than all bounds
	Count int64
	Max   time.Duration // the lateness of the latest of them
}

// Store keeps the counts.
type Store interface {
	// Add adds to the counts. Those of one call differ in job, hour or bound.
	Add(ctx context.Context, counts []Count) error
	// Trim deletes the counts of hours that began before an instant.
	Trim(ctx context.Context, before time.Time) error
}
