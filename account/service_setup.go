package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Bootstrapped is the result of [Service.Bootstrap]. Both fields are empty if there are users.
type Bootstrapped struct {
	Admin      *User  // the admin that was created
	SetupToken string // for [Service.Setup]; returned only here
}

// Bootstrap gives an installation without users its first admin: with this email and password or,
// if both are empty, by a setup token. Several instances may call it at once. One creates the
// admin. Each setup token stays valid until there is a user.
func (s *Service) Bootstrap(ctx context.Context, email, password string) (*Bootstrapped, error) {
	var b Bootstrapped
	some, err := s.store.HasUsers(ctx)
	switch {
	case err != nil || some:
	case email == "" && password == "":
		b.SetupToken, err = s.newSetupToken(ctx)
	default:
		name, _, _ := strings.Cut(email, "@")
		b.Admin, err = s.createFirst(ctx, NewUser{Email: email, Name: name, Password: password})
		if errors.Is(err, ErrUnauthorized) {
			err = nil // another instance was faster
		}
	}
	if err != nil {
		return nil, fmt.Errorf("first admin: %w", err)
	}
	return &b, nil
}

func (s *Service) newSetupToken(ctx context.Context) (string, error) {
	now := s.instant()
	if _, err := s.store.DeleteExpiredTokens(ctx, now, expiredAtOnce); err != nil {
		return "", err
	}
	secret := newSecret()
	t := &Token{Kind: Setup, Hash: hashSecret(secret), ExpiresAt: now.Add(s.setupTTL), CreatedAt: now}
	return secret, s.store.CreateToken(ctx, t)
}

// Setup creates the first admin and signs them in. It ignores n.Role. It returns [ErrUnauthorized]
// for a wrong or used token, and once there is a user.
func (s *Service) Setup(ctx context.Context, secret string, n NewUser, from Client) (*SignIn, error) {
	var in *SignIn
	// Checked before the fields, so that only the owner of the token can make us hash passwords.
	err := s.attempts.limited(ctx, []charge{{s.limiter, limitKey("setup", Networks(from.IP)[0])}}, func() error { return s.checkSetup(ctx, secret) })
	if err == nil {
		var u *User
		if u, err = s.createFirst(ctx, n); err == nil {
			in, err = s.admit(ctx, u, from)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("set up: %w", err)
	}
	return in, nil
}

func (s *Service) checkSetup(ctx context.Context, secret string) error {
	if !IsSecret(secret) {
		return ErrUnauthorized
	}
	t, _, err := s.store.TokenByHash(ctx, hashSecret(secret))
	if errors.Is(err, ErrNotFound) {
		return ErrUnauthorized
	}
	if err == nil && (t.Kind != Setup || t.expired(s.instant())) {
		return ErrUnauthorized
	}
	return err
}

// createFirst returns [ErrUnauthorized] once there is a user.
func (s *Service) createFirst(ctx context.Context, n NewUser) (*User, error) {
	n.Role = Admin
	var fs faults
	if n.Password == "" {
		fs.add("password", "required", "is required")
	}
	u, err := s.newUser(ctx, n)
	if invalid, ok := errors.AsType[*InvalidError](err); ok {
		fs.List = append(fs.List, invalid.Faults...)
		err = nil
	}
	if err == nil {
		err = fs.Err()
	}
	if err != nil {
		return nil, err
	}
	created, err := s.store.CreateFirstUser(ctx, u)
	if err == nil && !created {
		err = ErrUnauthorized
	}
	if err != nil {
		return nil, err
	}
	return u, nil
}
