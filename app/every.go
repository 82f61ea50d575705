package app

import (
	"context"
	"time"
)

// every calls work now and at each interval, until ctx ends.
func every(ctx context.Context, interval time.Duration, work func()) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		work()
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
