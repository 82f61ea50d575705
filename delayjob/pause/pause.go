// Package pause makes background work leave room for others. Work that writes in parts pauses between
// them, so that nobody waits for more than one part. On SQLite only one writes at a time, and a process
// that waits for another looks at the file every 100 ms. On Postgres the pauses do no harm.
package pause

import (
	"context"
	"time"
)

// Shortest is the shortest pause: within it, everyone who waits for a SQLite file looks at it.
const Shortest = 150 * time.Millisecond

// longest is the longest pause: after it, everyone who waited has had their turn.
const longest = time.Second

// Parts calls part until it has no more to do or fails. After each part it pauses, as long as the part
// took, at least [Shortest] and at most a second. It returns the error of ctx if that ends in a pause.
func Parts(ctx context.Context, part func() (more bool, err error)) error {
	for {
		began := time.Now()
		if more, err := part(); err != nil || !more {
			return err
		}
		if err := after(ctx, time.Since(began)); err != nil {
			return err
		}
	}
}

// Steps makes parts of many short steps, which take at least [Shortest] together. Not safe for concurrent use.
type Steps struct{ began time.Time }

// Begin is called before the first step.
func Begin() *Steps { return &Steps{time.Now()} }

// Next is called after each step, and pauses after the last step of a part. It returns the error of ctx
// once that has ended.
func (s *Steps) Next(ctx context.Context) error {
	took := time.Since(s.began)
	if took < Shortest {
		return ctx.Err()
	}
	err := after(ctx, took)
	s.began = time.Now()
	return err
}

type never struct{}

// Never returns a context without pauses, for work for which somebody waits, and within one transaction: there
// a pause would keep others waiting.
func Never(ctx context.Context) context.Context { return context.WithValue(ctx, never{}, true) }

func after(ctx context.Context, took time.Duration) error {
	if ctx.Value(never{}) != nil {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(min(max(took, Shortest), longest)):
		return nil
	}
}
