package account

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"
)

// Config tunes a [Service]; a zero field means the default given here.
type Config struct {
	SessionTTL time.Duration    // how long a sign-in lasts; 12h
	SetupTTL   time.Duration    // how long a set-up token lasts; 24h
	Timezone   string           // of users that name none; UTC
	Limiter    Limiter          // of failed sign-ins to one account from one network; ten a minute, in memory
	Wide       Limiter          // of failed sign-ins from one network, or to one account; a hundred a minute, in memory
	Now        func() time.Time // time.Now

	// Refused is told of each sign-in with wrong credentials: by whom, of ID 0 if nobody has the
	// address, and the address as it was typed in. nil: nobody is told.
	Refused func(ctx context.Context, u *User, email string)
}

// Service is what one can do with accounts. It does not ask whether the caller may: see
// [Authorize]. Safe for concurrent use.
type Service struct {
	store    Store
	limiter  Limiter
	wide     Limiter
	hasher   *hasher
	now      func() time.Time
	timezone string
	setupTTL time.Duration
	refused  func(context.Context, *User, string)

	sessionTTL atomic.Int64
}

// New returns a Service on store.
func New(store Store, c Config) *Service {
	s := &Service{
		store: store, limiter: c.Limiter, hasher: newHasher(), now: c.Now, refused: c.Refused,
		timezone: cmp.Or(c.Timezone, "UTC"), setupTTL: cmp.Or(c.SetupTTL, 24*time.Hour),
	}
	if s.limiter == nil {
		s.limiter = NewMemoryLimiter(Rate{Count: 10, Per: time.Minute})
	}
	if s.wide = c.Wide; s.wide == nil {
		s.wide = NewMemoryLimiter(Rate{Count: 10 * WideFactor, Per: time.Minute})
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.SetSessionTTL(cmp.Or(c.SessionTTL, 12*time.Hour))
	return s
}

// SetSessionTTL changes how long the sign-ins from now on last.
func (s *Service) SetSessionTTL(d time.Duration) { s.sessionTTL.Store(int64(d)) }

// instant is the present in the precision that databases keep.
func (s *Service) instant() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// WideFactor is how many times as many failures a network or an account may have as an account
// from one network: an office shares a network, and a stranger must not close an account.
const WideFactor = 10

// A charge is what an attempt counts against.
type charge struct {
	limiter Limiter
	key     string
}

// limited runs an attempt that must not be repeated without end, charged to all charges. Only
// an attempt that ends with [ErrUnauthorized] or an [*InvalidError] stays charged.
func limited(ctx context.Context, charges []charge, attempt func() error) error {
	for i, c := range charges {
		ok, retryAfter := c.limiter.Allow(ctx, c.key)
		if !ok {
			forgive(ctx, charges[:i])
			return &RateLimitError{RetryAfter: retryAfter}
		}
	}
	err := attempt()
	_, invalid := errors.AsType[*InvalidError](err)
	if !invalid && !errors.Is(err, ErrUnauthorized) {
		forgive(ctx, charges)
	}
	return err
}

func forgive(ctx context.Context, charges []charge) {
	for _, c := range charges {
		c.limiter.Forgive(ctx, c.key)
	}
}

// limitKey names who attempts what. What came from outside is hashed: it may be of any length
// and should not be readable in a shared Redis.
func limitKey(kind, who string) string {
	sum := sha256.Sum256([]byte(who))
	return "signin:" + kind + ":" + hex.EncodeToString(sum[:16])
}

// network is what one client can be taken for: its IPv4 address or, as each has all of it, the
// /64 of its IPv6 address.
func network(clientIP string) string {
	addr, err := netip.ParseAddr(clientIP)
	if err != nil {
		return clientIP
	}
	if addr = addr.Unmap(); addr.Is6() {
		return netip.PrefixFrom(addr.WithZone(""), 64).Masked().String()
	}
	return addr.String()
}

// checkIfMatch compares a version with the one that a change is based on; nil: any.
func checkIfMatch(ifMatch *int64, current int64) error {
	if ifMatch != nil && *ifMatch != current {
		return &VersionError{Current: current}
	}
	return nil
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
