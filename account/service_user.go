package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"punctual/account/fault"
)

// CreateUser adds a user. It returns an [*InvalidError] with all faults, including an address that
// is taken.
func (s *Service) CreateUser(ctx context.Context, n NewUser) (*User, error) {
	u, err := s.newUser(ctx, n)
	if err == nil {
		err = s.store.CreateUser(ctx, u)
	}
	if err != nil {
		return nil, fmt.Errorf("create user: %w", err)
	}
	return u, nil
}

func (s *Service) newUser(ctx context.Context, n NewUser) (*User, error) {
	var fs faults
	u := n.user(&fs, s.timezone, s.instant())
	if n.Password != "" {
		fs.password(n.Password, n.Email, n.Name)
	}
	if err := fs.Err(); err != nil {
		return nil, s.addEmailTaken(ctx, 0, &u.Email, err)
	}
	if n.Password != "" {
		var err error
		if u.PasswordHash, err = s.hasher.hash(ctx, n.Password); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// addEmailTaken adds to other faults that the address is taken, so that the caller learns all
// faults at once. Without other faults the store detects it, free of races.
func (s *Service) addEmailTaken(ctx context.Context, id int64, email *string, err error) error {
	invalid, ok := errors.AsType[*InvalidError](err)
	if !ok || email == nil {
		return err
	}
	for _, f := range invalid.Faults {
		if f.Location == "body.email" {
			return err
		}
	}
	switch other, lookup := s.store.UserByEmail(ctx, *email); {
	case errors.Is(lookup, ErrNotFound), lookup == nil && other.ID == id:
		return err
	case lookup != nil:
		return lookup
	default:
		return &InvalidError{Faults: append([]Fault{emailTaken}, invalid.Faults...)}
	}
}

// User returns a user, or [ErrNotFound].
func (s *Service) User(ctx context.Context, id int64) (*User, error) {
	u, err := s.store.User(ctx, id)
	return u, wrap(fmt.Sprintf("user %d", id), err)
}

// UserByEmail returns the user with this address, ignoring case, or [ErrNotFound].
func (s *Service) UserByEmail(ctx context.Context, email string) (*User, error) {
	email = fault.FoldEmail(email)
	if !utf8.ValidString(email) || strings.ContainsRune(email, 0) { // Postgres cannot compare these
		return nil, fmt.Errorf("user by address: %w", ErrNotFound)
	}
	u, err := s.store.UserByEmail(ctx, email)
	return u, wrap("user by address", err)
}

// ListUsers returns users by ID, including disabled ones, without the users of doors (see
// [DoorEmail]).
func (s *Service) ListUsers(ctx context.Context, p Page) (users []*User, next string, err error) {
	users, next, err = s.store.ListUsers(ctx, p.bounded())
	return users, next, wrap("list users", err)
}

// FindUsers is [Service.ListUsers] for users with text in the name or address, ignoring case.
func (s *Service) FindUsers(ctx context.Context, text string, p Page) (users []*User, next string, err error) {
	users, next, err = s.store.FindUsers(ctx, text, p.bounded())
	return users, next, wrap("find users", err)
}

// UpdateUser changes a user and revokes credentials:
//
//   - A disabled user loses all tokens and sessions for good.
//   - A new password revokes the sessions, and tokens, feeds and passkeys unless the patch keeps them.
//   - A new password or address ends the links by which the user could choose a password.
//   - A former admin loses the tokens with topic scopes, which only an admin could create.
//
// If ifMatch is not nil and not the current version, it returns a [*VersionError]. It returns an
// [*InvalidError] for a change that would leave no active admin.
func (s *Service) UpdateUser(ctx context.Context, id int64, ifMatch *int64, p UserPatch) (*User, error) {
	u, err := s.updateUser(ctx, id, ifMatch, 0, p)
	return u, wrap(fmt.Sprintf("update user %d", id), err)
}

// updateUser spares one token when sessions end; 0: none.
func (s *Service) updateUser(ctx context.Context, id int64, ifMatch *int64, spare int64, p UserPatch) (*User, error) {
	return s.updateUserIf(ctx, id, ifMatch, spare, p, func(*User) error { return nil })
}

// updateUserIf is updateUser, unless check returns an error for the locked user.
func (s *Service) updateUserIf(ctx context.Context, id int64, ifMatch *int64, spare int64, p UserPatch, check func(*User) error) (*User, error) {
	hash, err := s.checkPatch(ctx, id, &p)
	if err != nil {
		return nil, s.addEmailTaken(ctx, id, p.Email, err)
	}
	return s.store.UpdateUser(ctx, id, func(u *User, otherAdmins int) (Revocation, error) {
		if err := fault.CheckVersion(ifMatch, u.Version); err != nil {
			return Revocation{}, err
		}
		if err := check(u); err != nil {
			return Revocation{}, err
		}
		wasAdmin, wasActive, address := u.Role == Admin && u.Active(), u.Active(), u.Email
		now := s.instant()
		p.apply(u, now)
		if p.Password != nil {
			u.setPassword(hash)
		}
		if wasAdmin && otherAdmins == 0 {
			if err := p.checkAdminLeft(u); err != nil {
				return Revocation{}, err
			}
		}
		disabled, moved := wasActive && !u.Active(), u.Email != address
		if moved && !u.InvitedUntil.IsZero() {
			u.InvitedUntil = now // until the new address is invited
		}
		return Revocation{
			Sessions: disabled || p.Password != nil,
			API:      disabled || p.revokes(p.EndTokens), Feeds: disabled || p.revokes(p.EndFeeds), Passkeys: p.revokes(p.EndPasskeys),
			Topics: wasAdmin && u.Role != Admin, Links: disabled || moved || p.Password != nil, Except: spare,
		}, nil
	})
}

// revokes reports whether tokens, feeds or passkeys end. By default they end with a password reset: an
// intruder may have created some.
func (p *UserPatch) revokes(requested *bool) bool {
	if requested != nil {
		return *requested
	}
	return p.Password != nil
}

// checkPatch checks and normalizes p, the patch of user id, and hashes its password.
func (s *Service) checkPatch(ctx context.Context, id int64, p *UserPatch) (hash string, err error) {
	var fs faults
	fs.profile(p.Email, p.Name, p.Phone, p.Locale, p.Timezone)
	if p.Away != nil {
		if err := s.checkAway(ctx, id, p.Away, &fs); err != nil {
			return "", err
		}
	}
	if p.Role != nil {
		fs.role(*p.Role)
	}
	if p.Password != nil && *p.Password != "" {
		own, err := s.personalWords(ctx, id, p.Email, p.Name)
		if err != nil {
			return "", err
		}
		fs.password(*p.Password, own...)
	}
	if err := fs.Err(); err != nil || p.Password == nil || *p.Password == "" {
		return "", err
	}
	return s.hasher.hash(ctx, *p.Password)
}

func (s *Service) personalWords(ctx context.Context, id int64, email, name *string) ([]string, error) {
	var own []string
	switch u, err := s.store.User(ctx, id); {
	case err == nil:
		own = append(own, u.Email, u.Name)
	case !errors.Is(err, ErrNotFound): // the store reports it
		return nil, err
	}
	for _, word := range []*string{email, name} {
		if word != nil {
			own = append(own, *word)
		}
	}
	return own, nil
}

// UpdateMe changes the fields that users may change themselves. A new password requires the
// current one. It revokes all other sessions, and tokens and feeds if requested.
func (s *Service) UpdateMe(ctx context.Context, by *Principal, ifMatch *int64, p MePatch) (*User, error) {
	patch := UserPatch{Name: p.Name, Phone: p.Phone, Locale: p.Locale, Timezone: p.Timezone, Password: p.Password, Away: p.Away,
		EndTokens: &p.EndTokens, EndFeeds: &p.EndFeeds, EndPasskeys: new(false), CalendarMails: p.CalendarMails}
	if p.Password != nil {
		if err := s.checkOwnPassword(ctx, by.UserID, p); err != nil {
			return nil, fmt.Errorf("update own account: %w", err)
		}
	}
	u, err := s.updateUser(ctx, by.UserID, ifMatch, by.TokenID, patch)
	return u, wrap("update own account", err)
}

func (s *Service) checkOwnPassword(ctx context.Context, id int64, p MePatch) error {
	var fs faults
	fs.profile(nil, p.Name, p.Phone, p.Locale, p.Timezone)
	own, err := s.personalWords(ctx, id, nil, p.Name)
	if err != nil {
		return err
	}
	fs.password(*p.Password, own...)
	if p.CurrentPassword == nil {
		fs.add("current_password", "required", "is required to change the password")
	}
	if err := fs.Err(); err != nil {
		return err
	}
	u, err := s.store.User(ctx, id)
	if err != nil {
		return err
	}
	return s.confirmPassword(ctx, u, *p.CurrentPassword)
}
