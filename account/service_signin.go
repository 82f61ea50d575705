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
	User      *User
}

// Login begins a session. It returns [ErrWrongCredentials] for an unknown address, a wrong
// password and a disabled user alike, after the same work; and a [*RateLimitError] after too
// many failures for this address or from this client.
func (s *Service) Login(ctx context.Context, email, password, clientIP string) (*SignIn, error) {
	email = fault.FoldEmail(email)
	// Ten wrong passwords from elsewhere must not keep the owner out, nor ten that colleagues
	// mistyped an office.
	from := network(clientIP)
	charges := []charge{
		{s.limiter, limitKey("email", email+"\x00"+from)}, {s.wide, limitKey("ip", from)}, {s.wide, limitKey("email", email)},
	}
	var in *SignIn
	err := limited(ctx, charges, func() error {
		u, err := s.UserByEmail(ctx, email)
		if errors.Is(err, ErrNotFound) {
			u, err = &User{}, nil // without a password: nothing matches
		}
		if err != nil {
			return err
		}
		ok, err := s.hasher.matches(ctx, password, u.PasswordHash)
		if err != nil {
			return err
		}
		if !ok || !u.Active() {
			if s.refused != nil {
				s.refused(ctx, u, email)
			}
			return ErrWrongCredentials
		}
		in, err = s.begin(ctx, u)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sign in: %w", err)
	}
	return in, nil
}

// begin makes a session of u.
func (s *Service) begin(ctx context.Context, u *User) (*SignIn, error) {
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
	return &SignIn{Secret: secret, ExpiresAt: t.ExpiresAt, User: u}, nil
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
	if !isSecret(secret) {
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
	return limited(ctx, []charge{{s.limiter, limitKey("user", strconv.FormatInt(u.ID, 10))}}, func() error {
		ok, err := s.hasher.matches(ctx, password, u.PasswordHash)
		if err == nil && !ok {
			err = fault.Invalid("body.current_password", "wrong_password", "is not your password")
		}
		return err
	})
}
