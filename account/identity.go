package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"punctual/account/fault"
)

// Identity is a person authenticated by an identity provider.
type Identity struct {
	Issuer, Subject string // together identify the person for good; addresses may pass on to others
	Session         string // the provider's ID of its session (sid); "": unknown
	Email           string
	EmailVerified   bool // whether the provider vouches for Email
	Name            string
	Locale          string // BCP 47; "" or unknown: the default
	Timezone        string // IANA name; "" or unknown: the default
	Role            Role   // replaces the role of the user; "": the provider does not decide it
	Join            bool   // whether the person becomes a user if there is none with the address

	Source  string                       // of groups, see [Group]
	InGroup func(externalID string) bool // whether the person is in a group of Source; nil: the provider did not say
}

// GroupRoles are the groups of a company that each role is for.
type GroupRoles map[Role][]string

// Highest returns the highest role of a person's groups, [Member] for none of them. in reports whether
// the person is in a group.
func (r GroupRoles) Highest(in func(group string) bool) Role {
	best := Member
	for role, groups := range r {
		if role.Covers(best) && slices.ContainsFunc(groups, in) {
			best = role
		}
	}
	return best
}

// Directory checks passwords in a company directory, such as an LDAP server. Safe for concurrent use.
type Directory interface {
	// Serves reports whether people with such an address are in the directory.
	Serves(email string) bool
	// Source is that of its groups, see [Group].
	Source() string
	// Authenticate returns the person with an address and a password, and on request the groups. It
	// returns [ErrWrongCredentials] if there is no such person, however it finds out. Any other error
	// means that the directory did not answer.
	Authenticate(ctx context.Context, email, password string, groups bool) (Identity, error)
}

// IdentityStore is the part of [Store] for the identities of users.
type IdentityStore interface {
	UserByIdentity(ctx context.Context, issuer, subject string) (*User, error)
	// CreateIdentifiedUser creates u, who signs in with the identity, and sets its ID.
	CreateIdentifiedUser(ctx context.Context, u *User, issuer, subject string) error
	// AddIdentity locks the user, calls fn, saves the user like UpdateUser, and adds the identity. It
	// returns [ErrOtherIdentity] if the user has another identity of the issuer.
	AddIdentity(ctx context.Context, userID int64, issuer, subject string, fn func(*User) (Revocation, error)) (*User, error)
	// RemoveIdentities removes the identities of a user, ends the sessions, and returns their number.
	RemoveIdentities(ctx context.Context, userID int64) (int, error)
	// EndSessions ends sessions, see [Service.EndSessions], and remembers the hash until a time. It returns
	// [ErrLogoutRepeated] if it remembers the hash already. session is as in [Token].
	EndSessions(ctx context.Context, l Logout, session, hash string, until time.Time) error
}

// Reasons why a person whom a provider has authenticated cannot sign in. Each is an
// [ErrUnauthorized].
var (
	ErrNoAccount       = fmt.Errorf("no user with this address: %w", ErrUnauthorized)
	ErrUnverifiedEmail = fmt.Errorf("the provider does not vouch for an address: %w", ErrUnauthorized)
	ErrDisabled        = fmt.Errorf("the user is disabled: %w", ErrUnauthorized)
	// ErrOtherIdentity protects users whose address has passed on to another person at the provider.
	ErrOtherIdentity = fmt.Errorf("the user with this address signs in with another account of the provider: %w", ErrUnauthorized)
)

// LoginWith starts a session for a person authenticated by an identity provider. The first time, it finds
// the user by the verified address and links the identity. If there is no user, it creates one if id.Join
// is set. Otherwise it returns [ErrNoAccount], [ErrUnverifiedEmail], [ErrDisabled] or [ErrOtherIdentity].
func (s *Service) LoginWith(ctx context.Context, id Identity, from Client) (*SignIn, error) {
	u, err := s.identified(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("sign in with a provider: %w", err)
	}
	from.issuer = id.Issuer
	if id.Session != "" {
		from.session = hashOf(id.Issuer, id.Session)
	}
	in, err := s.startSession(ctx, u, from)
	return in, wrap("sign in with a provider", err)
}

// identified returns the user of an identity as of now.
func (s *Service) identified(ctx context.Context, id Identity) (*User, error) {
	u, err := s.store.UserByIdentity(ctx, id.Issuer, id.Subject)
	if errors.Is(err, ErrNotFound) {
		u, err = s.identify(ctx, id)
	}
	if err == nil && !u.Active() {
		err = ErrDisabled
	}
	if err != nil {
		return nil, err
	}
	if err := s.adoptGroups(ctx, u, id); err != nil {
		return nil, err
	}
	return s.adoptRole(ctx, u, id.Role)
}

// userOfDirectory returns the user with an address and a password of a directory. It returns an
// [ErrUnauthorized] if there is none, and [ErrDirectoryDown] if a directory did not answer.
func (s *Service) userOfDirectory(ctx context.Context, email, password string) (*User, error) {
	for _, d := range s.directories {
		if !d.Serves(email) {
			continue
		}
		groups, err := s.store.HasGroupsOf(ctx, d.Source())
		if err != nil {
			return nil, err
		}
		id, err := d.Authenticate(ctx, email, password, groups)
		switch {
		case err == nil:
			return s.identified(ctx, id)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !errors.Is(err, ErrUnauthorized):
			return nil, fmt.Errorf("%w: %w", ErrDirectoryDown, err)
		}
	}
	return nil, ErrWrongCredentials
}

// identify finds or creates the user of an identity that signs in for the first time.
func (s *Service) identify(ctx context.Context, id Identity) (*User, error) {
	email := fault.FoldEmail(id.Email)
	if email == "" || !id.EmailVerified {
		return nil, ErrUnverifiedEmail
	}
	u, err := s.UserByEmail(ctx, email)
	switch {
	case errors.Is(err, ErrNotFound) && !id.Join:
		return nil, ErrNoAccount
	case errors.Is(err, ErrNotFound):
		return s.join(ctx, id)
	case err != nil:
		return nil, err
	}
	actor := WithPrincipal(ctx, principal(u, &Token{})) // for the audit log
	return s.store.AddIdentity(actor, u.ID, id.Issuer, id.Subject, func(u *User) (Revocation, error) {
		switch {
		case !u.Active():
			return Revocation{}, ErrDisabled
		case u.Email != email: // changed meanwhile
			return Revocation{}, ErrNoAccount
		}
		invited := !u.InvitedUntil.IsZero()
		u.InvitedUntil, u.UpdatedAt = time.Time{}, s.instant()
		return Revocation{Links: invited}, nil
	})
}

// join creates the user of an identity. What the provider says about the person is adjusted rather
// than refused, because the person cannot change it here.
func (s *Service) join(ctx context.Context, id Identity) (*User, error) {
	n := NewUser{Email: id.Email, Name: NameFor(id.Email, id.Name), Role: id.Role, Locale: id.Locale, Timezone: id.Timezone}
	if n.Role == "" {
		n.Role = Member
	}
	var fs faults
	if fs.profile(nil, nil, nil, &n.Locale, nil); len(fs.List) > 0 {
		n.Locale = ""
	}
	fs = faults{}
	if fs.profile(nil, nil, nil, nil, &n.Timezone); len(fs.List) > 0 {
		n.Timezone = ""
	}
	u, err := s.newUser(ctx, n)
	if err != nil {
		return nil, err
	}
	actor := WithPrincipal(ctx, principal(u, &Token{}))
	err = s.store.CreateIdentifiedUser(actor, u, id.Issuer, id.Subject)
	if errors.Is(err, ErrEmailTaken) { // another sign-in of the same person was faster
		return s.store.UserByIdentity(ctx, id.Issuer, id.Subject)
	}
	return u, err
}

// adoptRole gives u the role that a provider decided, except to the last admin.
func (s *Service) adoptRole(ctx context.Context, u *User, role Role) (*User, error) {
	if role == "" || role == u.Role || !slices.Contains(Roles, role) {
		return u, nil
	}
	changed, err := s.updateUser(WithPrincipal(ctx, principal(u, &Token{})), u.ID, nil, 0, UserPatch{Role: &role})
	if _, last := errors.AsType[*InvalidError](err); last {
		return u, nil
	}
	return changed, err
}

// Logout is a checked logout token of an identity provider.
type Logout struct {
	Issuer  string
	ID      string // of the token (jti)
	Subject string // the person who has signed out; "": Session says it
	Session string // the session of the provider that has ended (sid); "": all of the person
	Issued  time.Time
}

// Logout tokens are refused if they were issued longer ago than logoutTTL, or later than now by more than
// logoutSkew. So only tokens of that time must be remembered.
const (
	logoutTTL  = time.Hour
	logoutSkew = 5 * time.Minute
)

// Reasons why a logout token does not count.
var (
	ErrLogoutRepeated = errors.New("the logout token was used before")
	ErrLogoutTime     = fmt.Errorf("the logout token must have been issued within the last %v", logoutTTL)
)

// EndSessions ends sessions because an identity provider signed a person out. With l.Session these are the
// sessions begun with that session of the provider, and those of the person for which it named none. Otherwise
// they are all sessions of the person. Unknown people and sessions are no error. Each token counts once, also
// among several processes: then EndSessions returns [ErrLogoutRepeated], or [ErrLogoutTime].
func (s *Service) EndSessions(ctx context.Context, l Logout) error {
	if now := s.instant(); l.Issued.Before(now.Add(-logoutTTL)) || l.Issued.After(now.Add(logoutSkew)) {
		return wrap("end sessions", ErrLogoutTime)
	}
	session := ""
	if l.Session != "" {
		session = hashOf(l.Issuer, l.Session)
	}
	until := l.Issued.Add(logoutTTL + time.Second) // a token is still accepted exactly logoutTTL after it was issued
	return wrap("end sessions", s.store.EndSessions(ctx, l, session, hashOf(l.Issuer, l.ID), until))
}

// hashOf returns the SHA-256 of what an issuer calls something.
func hashOf(issuer, id string) string { return hashSecret(issuer + "\x00" + id) }

// Unlink removes the identities of a user, ends the user's sessions, and returns the number of identities.
// At the next sign-in with a provider, the user is found by address again.
func (s *Service) Unlink(ctx context.Context, userID int64) (int, error) {
	n, err := s.store.RemoveIdentities(ctx, userID)
	return n, wrap(fmt.Sprintf("unlink user %d", userID), err)
}
