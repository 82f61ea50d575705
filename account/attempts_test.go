package account

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// An attempt that panics stays charged, and nobody waits for it afterwards.
func TestAttempts_panic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAttempts()
		charges := []charge{{NewMemoryLimiter(Rate{Count: 1, Per: time.Hour}), "k"}}
		func() {
			defer func() { _ = recover() }()
			_ = a.limited(t.Context(), charges, func() error { panic("broken") })
		}()
		err := a.limited(t.Context(), charges, func() error { return nil })
		if _, limited := errors.AsType[*RateLimitError](err); !limited {
			t.Errorf("got %v, want a refusal at once", err)
		}
	})
}
