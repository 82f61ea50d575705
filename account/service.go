package account

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"punctual/account/signing"
)

// Config of a [Service]. A zero field means the default given here.
type Config struct {
	SessionTTL  time.Duration    // duration of a session; 12h
	SetupTTL    time.Duration    // lifetime of a setup token; 24h
	Timezone    string           // of users without one; UTC
	Limiter     Limiter          // of failed sign-ins to one account from one network or device; 10 per minute, in memory
	Codes       Limiter          // of wrong codes for one account or device; 10 per hour, in memory
	Wide        Limiter          // of failed sign-ins from one network, or to one account; 100 per minute, in memory
	DeviceKeys  *signing.Ring    // sign device cookies; nil: random per process
	Links       LinkSecrets      // of password links; random per process
	Directories []Directory      // in which people are who have no password here
	Sources     []Source         // of groups, see [Service.Sources]
	Passkeys    Ceremonies       // nil: there are no passkeys
	Begins      Limiter          // of challenges for passkeys from one network; [CeremonyRate], in memory
	Secure      bool             // browsers use HTTPS, so cookies are sent over HTTPS only
	Now         func() time.Time // time.Now

	// Refused is called after each sign-in with wrong credentials, with the user (ID 0 if the
	// address is unknown), the address as typed, and the reason. It may be nil.
	Refused func(ctx context.Context, u *User, email string, reason error)
}

// Service manages accounts. It does not check whether the caller may: see [Authorize]. Safe for
// concurrent use.
type Service struct {
	store    Store
	limiter  Limiter
	wide     Limiter
	codes    Limiter
	attempts *attempts
	devices  devices
	links    LinkSecrets
	hasher   *hasher
	now      func() time.Time
	timezone string
	setupTTL time.Duration
	secure   bool
	refused  func(context.Context, *User, string, error)

	directories  []Directory
	sources      []Source
	ceremonies   Ceremonies // nil: there are no passkeys
	begins       Limiter
	secondFactor atomic.Value // SecondFactorMode

	noting      sync.Map // what is used: its use is being stored
	notes       sync.WaitGroup
	life        context.Context // of what goes on after a call
	end         context.CancelFunc
	answerReset time.Duration // shortest duration of RequestReset
	sessionTTL  atomic.Int64
	tokenTTL    atomic.Int64 // of API tokens created without an expiry; 0: never
	maxTokenTTL atomic.Int64 // of API tokens; 0: no limit
}

// New returns a Service that uses store.
func New(store Store, c Config) *Service {
	s := &Service{
		store: store, limiter: c.Limiter, attempts: newAttempts(), hasher: newHasher(), now: c.Now, refused: c.Refused, secure: c.Secure,
		answerReset: answerReset, timezone: cmp.Or(c.Timezone, "UTC"), setupTTL: cmp.Or(c.SetupTTL, 24*time.Hour),
		directories: c.Directories, sources: c.Sources, ceremonies: c.Passkeys, begins: c.Begins,
	}
	s.life, s.end = context.WithCancel(context.Background())
	if s.limiter == nil {
		s.limiter = NewMemoryLimiter(Rate{Count: 10, Per: time.Minute})
	}
	if s.wide = c.Wide; s.wide == nil {
		s.wide = NewMemoryLimiter(Rate{Count: 10 * WideFactor, Per: time.Minute})
	}
	if s.codes = c.Codes; s.codes == nil {
		s.codes = NewMemoryLimiter(CodeRate)
	}
	if s.begins == nil {
		s.begins = NewMemoryLimiter(CeremonyRate)
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.devices.keys = c.DeviceKeys; s.devices.keys == nil {
		s.devices.keys = signing.NewRing(signing.NewKey(1))
	}
	if s.links = c.Links; s.links.keys == nil {
		s.links = NewLinkSecrets(signing.NewRing(signing.NewKey(1)))
	}
	s.SetSecondFactor(SecondFactorOptional)
	s.SetSessionTTL(cmp.Or(c.SessionTTL, 12*time.Hour))
	return s
}

// SetSessionTTL changes the duration of new sessions.
func (s *Service) SetSessionTTL(d time.Duration) { s.sessionTTL.Store(int64(d)) }

// SetTokenTTL changes the lifetime of new API tokens: the default, and the maximum. 0 means no
// expiry.
func (s *Service) SetTokenTTL(defaultTTL, maxTTL time.Duration) {
	s.tokenTTL.Store(int64(defaultTTL))
	s.maxTokenTTL.Store(int64(maxTTL))
}

// Secure reports whether browsers use HTTPS.
func (s *Service) Secure() bool { return s.secure }

// instant returns the current time in the precision of the databases.
func (s *Service) instant() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// WideFactor is the ratio of the wide limits to the limit of one account from one network. Offices
// share a network, and strangers must not lock an account.
const WideFactor = 10

// CodeRate is how many wrong codes may be tried for one account. Codes have six digits, so more would
// let somebody with the password guess one.
var CodeRate = Rate{Count: 10, Per: time.Hour}

// limitKey returns the limiter key of a client or account. The name is hashed: it may have any
// length and should not be readable in a shared Redis.
func limitKey(kind, who string) string {
	sum := sha256.Sum256([]byte(who))
	return "signin:" + kind + ":" + hex.EncodeToString(sum[:16])
}

// Networks returns the networks of a client, narrowest first: its IPv4 address, or for IPv6 its
// /64, which one host owns, and the /48 around it, which one site owns.
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

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
