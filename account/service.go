package account

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
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
	Limiter    Limiter          // of failed sign-ins to one account from one network or device; ten a minute, in memory
	Wide       Limiter          // of failed sign-ins from one network, or to one account; a hundred a minute, in memory
	DeviceKey  []byte           // signs device cookies; one of this process
	Secure     bool             // browsers come by HTTPS, and send cookies by it alone
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
	attempts *attempts
	devices  devices
	hasher   *hasher
	now      func() time.Time
	timezone string
	setupTTL time.Duration
	secure   bool
	refused  func(context.Context, *User, string)

	sessionTTL  atomic.Int64
	tokenTTL    atomic.Int64 // of API tokens whose maker names no end; 0: no end
	maxTokenTTL atomic.Int64 // of API tokens; 0: no limit
}

// New returns a Service on store.
func New(store Store, c Config) *Service {
	s := &Service{
		store: store, limiter: c.Limiter, attempts: newAttempts(), hasher: newHasher(), now: c.Now, refused: c.Refused, secure: c.Secure,
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
	if s.devices.key = c.DeviceKey; s.devices.key == nil {
		s.devices.key = make([]byte, 32)
		rand.Read(s.devices.key) // never fails
	}
	s.SetSessionTTL(cmp.Or(c.SessionTTL, 12*time.Hour))
	return s
}

// SetSessionTTL changes how long the sign-ins from now on last.
func (s *Service) SetSessionTTL(d time.Duration) { s.sessionTTL.Store(int64(d)) }

// SetTokenTTL changes how long API tokens made from now on last: those whose maker names no end,
// and all at most. 0 is without end.
func (s *Service) SetTokenTTL(usual, longest time.Duration) {
	s.tokenTTL.Store(int64(usual))
	s.maxTokenTTL.Store(int64(longest))
}

// Secure reports whether browsers come by HTTPS.
func (s *Service) Secure() bool { return s.secure }

// instant is the present in the precision that databases keep.
func (s *Service) instant() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// WideFactor is how many times as many failures a network or an account may have as an account
// from one network: an office shares a network, and a stranger must not close an account.
const WideFactor = 10

// limitKey names who attempts what. What came from outside is hashed: it may be of any length
// and should not be readable in a shared Redis.
func limitKey(kind, who string) string {
	sum := sha256.Sum256([]byte(who))
	return "signin:" + kind + ":" + hex.EncodeToString(sum[:16])
}

// Networks that a client can be taken for, the narrowest first: its IPv4 address, or the /64 of
// its IPv6 address, as each host has all of it, and the /48 around it, which a site has.
func Networks(clientIP string) []string {
	addr, err := netip.ParseAddr(clientIP)
	if err != nil {
		return []string{clientIP}
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is4() {
		return []string{addr.String()}
	}
	return []string{netip.PrefixFrom(addr, 64).Masked().String(), netip.PrefixFrom(addr, 48).Masked().String()}
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
