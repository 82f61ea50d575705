package account

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"punctual/account/fault"
)

// SignIn is a new session.
type SignIn struct {
	Secret    string // returned only here
	ExpiresAt time.Time
	Device    string // new value of the device cookie, valid for [DeviceTTL]
	User      *User
	Enroll    bool // the session can only set up a second factor
}

// Client is the origin of a sign-in.
type Client struct {
	IP     string
	Device string // value of the device cookie, or ""
	Agent  string // header User-Agent

	issuer, session string // of the session, see [Token]; set by [Service.LoginWith]
}

// Login starts a session. The password is that of the user with the address, or else that of a
// person with the address in a directory, who need not be the same user. For an unknown address, a
// wrong password and a disabled user it returns the same [ErrWrongCredentials] after the same work,
// and [ErrDirectoryDown] if a directory did not answer. If a code must confirm the sign-in, it returns
// a [*SecondFactorError]. After too many failures it returns a
// [*RateLimitError]. Failures elsewhere never count against a device or network on which the user
// has signed in before.
func (s *Service) Login(ctx context.Context, email, password string, from Client) (*SignIn, error) {
	email = fault.FoldEmail(email)
	u, err := s.UserByEmail(ctx, email)
	if errors.Is(err, ErrNotFound) {
		u, err = &User{}, nil // has no password, so nothing matches
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
	var down error
	err = s.attempts.limited(ctx, s.charges(email, device, from.IP, known), func() error {
		owner, err := s.checkPassword(ctx, u, originOf(u, device, from.IP, known), email, password)
		switch {
		case errors.Is(err, ErrDirectoryDown) && u.PasswordHash == "":
			return err // costs nobody an attempt
		case errors.Is(err, ErrDirectoryDown): // a guess of the password here, which counts
			down = err
			return ErrWrongCredentials
		case errors.Is(err, ErrUnauthorized):
			if s.refused != nil {
				s.refused(ctx, u, email, err)
			}
			return ErrWrongCredentials
		case err != nil:
			return err
		}
		in, err = s.admit(ctx, owner, from)
		return err
	})
	if down != nil && errors.Is(err, ErrWrongCredentials) {
		err = down
	}
	if err != nil {
		return nil, fmt.Errorf("sign in: %w", err)
	}
	return in, nil
}

// checkPassword returns the active user whose password it is: u, who has the address and may be
// nobody, or one known to a directory. Else it returns an [ErrUnauthorized] or [ErrDirectoryDown].
func (s *Service) checkPassword(ctx context.Context, u *User, from origin, email, password string) (*User, error) {
	switch ok, err := s.hasher.matches(ctx, from, password, u.PasswordHash); {
	case err != nil:
		return nil, err
	case !ok:
		return s.userOfDirectory(ctx, email, password)
	case !u.Active():
		return nil, ErrDisabled
	}
	return u, nil
}

// charges returns the limits of a sign-in. A known device has its own limit. Other sign-ins count
// per account and network, per network, and per account. The last limit stops guesses from many
// networks. It does not apply to networks that the user has signed in from.
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

// Familiar reports whether the user, or anyone, has signed in from a network before.
type Familiar struct{ User, Anyone bool }

// networkTTL is how long a network stays familiar after a sign-in.
const networkTTL = 90 * 24 * time.Hour

func networkKey(ip string) string { return limitKey("network", Networks(ip)[0]) }

// expiredAtOnce is how many expired tokens a sign-in deletes at most.
const expiredAtOnce = 100

// startSession starts a session with some scopes, or with all rights of the user.
func (s *Service) startSession(ctx context.Context, u *User, from Client, scopes ...Scope) (*SignIn, error) {
	now := s.instant()
	// Sign-ins are why sessions accumulate, so they also delete expired ones.
	if _, err := s.store.DeleteExpiredTokens(ctx, now, expiredAtOnce); err != nil {
		return nil, err
	}
	secret := newSecret()
	t := &Token{
		UserID: u.ID, Kind: Session, Hash: hashSecret(secret), Scopes: scopes,
		ExpiresAt: now.Add(time.Duration(s.sessionTTL.Load())), LastUsedAt: now, CreatedAt: now,
		Address: from.IP, Device: deviceName(from.Agent), Issuer: from.issuer, ProviderSession: from.session,
	}
	if err := s.store.CreateToken(WithPrincipal(ctx, principal(u, t)), t); err != nil {
		return nil, err
	}
	// Best effort: the next sign-in tries again.
	_ = s.store.NoteNetwork(ctx, u.ID, networkKey(from.IP), now, now.Add(-networkTTL))
	return &SignIn{Secret: secret, ExpiresAt: t.ExpiresAt, Device: s.devices.renew(from.Device, u.ID, now), User: u, Enroll: len(scopes) > 0}, nil
}

// Logout ends the session of p. For an API token it returns [ErrForbidden].
func (s *Service) Logout(ctx context.Context, p *Principal) error {
	if p.Kind != Session {
		return fmt.Errorf("sign out with an API token: %w", ErrForbidden)
	}
	err := s.store.DeleteToken(ctx, p.UserID, p.TokenID, Session)
	if errors.Is(err, ErrNotFound) {
		return nil // already ended
	}
	return wrap("sign out", err)
}

// lastUsePrecision limits how often a use is stored.
const lastUsePrecision = time.Minute

// A request waits this long until its use is stored, although on SQLite others may write for seconds.
const (
	usePatience = 100 * time.Millisecond
	useTimeout  = 20 * time.Second
)

// noteUse stores a use by calling touch, which may go on after noteUse returns. Best effort: a later request
// tries again, but no two at once.
func (s *Service) noteUse(ctx context.Context, of string, touch func(context.Context) error) {
	if _, noting := s.noting.LoadOrStore(of, true); noting {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), useTimeout)
	done := make(chan struct{})
	s.notes.Go(func() {
		defer close(done)
		defer cancel()
		defer context.AfterFunc(s.life, cancel)()
		defer s.noting.Delete(of)
		_ = touch(ctx)
	})
	select {
	case <-done:
	case <-time.After(usePatience):
	}
}

// Close ends what goes on after a call and returns when it has ended. No method may be called during or after it.
func (s *Service) Close() {
	s.end()
	s.notes.Wait()
}

// Authenticate returns the owner of a secret, or [ErrUnauthorized] if it is unknown, expired or of
// a disabled user. It reads the database each time, so that a revocation takes effect at once in
// all processes.
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
		s.noteUse(ctx, "token "+strconv.FormatInt(t.ID, 10), func(ctx context.Context) error { return s.store.TouchToken(ctx, t.ID, now, since) })
	}
	return principal(u, t), nil
}

// confirmPassword compares the password of a signed-in user. It returns an [*InvalidError] if it
// is wrong. Failures count, because an open session must not allow guessing the password.
func (s *Service) confirmPassword(ctx context.Context, u *User, password string) error {
	return s.attempts.limited(ctx, []charge{{s.limiter, limitKey("user", strconv.FormatInt(u.ID, 10))}}, func() error {
		ok, err := s.hasher.matches(ctx, origin{knownDevice, strconv.FormatInt(u.ID, 10)}, password, u.PasswordHash)
		if err == nil && !ok {
			err = errWrongPassword
		}
		return err
	})
}

// confirmAnyPassword is confirmPassword for users of directories too.
func (s *Service) confirmAnyPassword(ctx context.Context, u *User, password string) error {
	id := strconv.FormatInt(u.ID, 10)
	return s.attempts.limited(ctx, []charge{{s.limiter, limitKey("user", id)}}, func() error {
		owner, err := s.checkPassword(ctx, u, origin{knownDevice, id}, u.Email, password)
		if errors.Is(err, ErrUnauthorized) || err == nil && owner.ID != u.ID {
			return errWrongPassword
		}
		return err
	})
}

var errWrongPassword = fault.Invalid("body.current_password", "wrong_password", "is not your password")
