package account

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"punctual/account/fault"
)

// SignIn is a session that has begun.
type SignIn struct {
	Secret    string // told once
	ExpiresAt time.Time
	Device    string // the value of the device cookie from now on, for [DeviceTTL]
	User      *User
}

// Client is where a sign-in comes from.
type Client struct {
	IP     string
	Device string // the value of its device cookie; empty: it has none
}

// Login begins a session. It returns [ErrWrongCredentials] for an unknown address, a wrong
// password and a disabled user alike, after the same work; and a [*RateLimitError] after too
// many failures. Failures elsewhere never count for a device or network on which the user has
// signed in before.
func (s *Service) Login(ctx context.Context, email, password string, from Client) (*SignIn, error) {
	email = fault.FoldEmail(email)
	u, err := s.UserByEmail(ctx, email)
	if errors.Is(err, ErrNotFound) {
		u, err = &User{}, nil // without a password: nothing matches
	}
	var known Familiar
	if err == nil {
		known, err = s.store.Familiar(ctx, u.ID, networkKey(from.IP), s.instant().Add(-networkTTL))
	}
	if err != nil {
		return nil, fmt.Errorf("sign in: %w", err)
	}
	device := s.devices.known(from.Device, u.ID, s.instant())
	var in *SignIn
	err = s.attempts.limited(ctx, s.charges(email, device, from.IP, known), func() error {
		ok, err := s.hasher.matches(ctx, originOf(u, device, from.IP, known), password, u.PasswordHash)
		if err != nil {
			return err
		}
		if !ok || !u.Active() {
			if s.refused != nil {
				s.refused(ctx, u, email)
			}
			return ErrWrongCredentials
		}
		in, err = s.begin(ctx, u, from)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sign in: %w", err)
	}
	return in, nil
}

// charges of a sign-in. A known device has a limit of its own. Elsewhere an account has one for each
// network, each network has a higher one for all its users, and guesses from many networks have one
// for each account, which spares the networks that its user comes from.
func (s *Service) charges(email, device, ip string, known Familiar) []charge {
	if device != "" {
		return []charge{{s.limiter, limitKey("device", device)}}
	}
	networks := Networks(ip)
	charges := []charge{{s.limiter, limitKey("email", email+"\x00"+networks[len(networks)-1])}}
	for _, n := range networks {
		charges = append(charges, charge{s.wide, limitKey("ip", n)})
	}
	if !known.User {
		charges = append(charges, charge{s.wide, limitKey("email", email)})
	}
	return charges
}

func originOf(u *User, device, ip string, known Familiar) origin {
	switch {
	case device != "":
		return origin{knownDevice, strconv.FormatInt(u.ID, 10)}
	case known.Anyone:
		return origin{knownNetwork, Networks(ip)[0]}
	}
	return origin{stranger, Networks(ip)[0]}
}

// Familiar says whether there were sign-ins from a network before.
type Familiar struct{ User, Anyone bool }

// networkTTL is how long a network stays familiar after a sign-in.
const networkTTL = 90 * 24 * time.Hour

// networkKey names a network in the database, which has no need to know its address.
func networkKey(ip string) string { return limitKey("network", Networks(ip)[0]) }

// begin makes a session of u.
func (s *Service) begin(ctx context.Context, u *User, from Client) (*SignIn, error) {
	now := s.instant()
	// Sign-ins are what makes sessions pile up, so they also clear away the old ones.
	if err := s.store.DeleteExpiredTokens(ctx, now); err != nil {
		return nil, err
	}
	secret := newSecret()
	t := &Token{
		UserID: u.ID, Kind: Session, Hash: hashSecret(secret),
		ExpiresAt: now.Add(time.Duration(s.sessionTTL.Load())), LastUsedAt: now, CreatedAt: now,
	}
	if err := s.store.CreateToken(WithPrincipal(ctx, principal(u, t)), t); err != nil {
		return nil, err
	}
	// What fails here is a note, not the sign-in; the next one tries again.
	_ = s.store.NoteNetwork(ctx, u.ID, networkKey(from.IP), now, now.Add(-networkTTL))
	return &SignIn{Secret: secret, ExpiresAt: t.ExpiresAt, Device: s.devices.renew(from.Device, u.ID, now), User: u}, nil
}

// Logout ends the session that p came with. An API token is no session: [ErrForbidden].
func (s *Service) Logout(ctx context.Context, p *Principal) error {
	if p.Kind != Session {
		return fmt.Errorf("sign out with an API token: %w", ErrForbidden)
	}
	err := s.store.DeleteToken(ctx, p.UserID, p.TokenID, Session)
	if errors.Is(err, ErrNotFound) {
		return nil // ended in the meantime
	}
	return wrap("sign out", err)
}

// lastUsePrecision is how often a use of a token is written down, at most.
const lastUsePrecision = time.Minute

// Authenticate tells whose secret this is; [ErrUnauthorized]: nobody's, or no longer. It asks
// the database each time, so that a revoked token and a disabled user stop at once everywhere.
func (s *Service) Authenticate(ctx context.Context, secret string) (*Principal, error) {
	if !IsSecret(secret) {
		return nil, ErrUnauthorized
	}
	t, u, err := s.store.TokenByHash(ctx, hashSecret(secret))
	if errors.Is(err, ErrNotFound) {
		return nil, ErrUnauthorized
	}
	if err != nil {
		return nil, fmt.Errorf("authenticate: %w", err)
	}
	now := s.instant()
	if u == nil || !u.Active() || t.expired(now) {
		return nil, ErrUnauthorized
	}
	if since := now.Add(-lastUsePrecision); t.LastUsedAt.Before(since) {
		// What fails here is a note, not the request; the next one tries again.
		_ = s.store.TouchToken(ctx, t.ID, now, since)
	}
	return principal(u, t), nil
}

// confirm asks a signed-in user for the password once more: it compares with that of u and
// returns an [*InvalidError] if it is wrong. Whoever found an open session must not be able to
// guess on, so failures count.
func (s *Service) confirm(ctx context.Context, u *User, password string) error {
	return s.attempts.limited(ctx, []charge{{s.limiter, limitKey("user", strconv.FormatInt(u.ID, 10))}}, func() error {
		ok, err := s.hasher.matches(ctx, origin{knownDevice, strconv.FormatInt(u.ID, 10)}, password, u.PasswordHash)
		if err == nil && !ok {
			err = fault.Invalid("body.current_password", "wrong_password", "is not your password")
		}
		return err
	})
}
