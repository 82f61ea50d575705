package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"punctual/account/fault"
)

// Provisioned is a user as a directory manages it by SCIM.
type Provisioned struct {
	User
	UserName              string // unique, ignoring case; for users that no directory has written, the address
	ExternalID            string // at the directory
	GivenName, FamilyName string
	Written               bool      // a directory has written the user
	RemovedAt             time.Time // zero: the directory sees the user
}

// ProvisionedQuery selects users that a directory sees. Zero fields select all.
type ProvisionedQuery struct {
	ID                    int64
	UserName, Email, Name string // ignoring case
	ExternalID            string
	Active                *bool
}

// ProvisioningStore is the part of [Store] for SCIM.
type ProvisioningStore interface {
	// Provisioned returns a user, also one that the directory has removed.
	Provisioned(ctx context.Context, userID int64) (*Provisioned, error)
	// ListProvisioned returns users that are not removed, by ID, and the number of all that match.
	ListProvisioned(ctx context.Context, q ProvisionedQuery, offset, limit int) (list []*Provisioned, total int64, err error)
	// CreateProvisioned creates the user and sets its ID. It returns [ErrUserNameTaken].
	CreateProvisioned(ctx context.Context, p *Provisioned) error
	// SaveProvisioned saves the fields of p that are not those of [User]. It returns [ErrUserNameTaken].
	SaveProvisioned(ctx context.Context, p *Provisioned) error
}

// ErrUserNameTaken is what a [Store] returns when a directory has given the name to another user.
var ErrUserNameTaken error = fault.Invalid("body.user_name", "taken", "belongs to another user")

// Provisioned returns a user, or [ErrNotFound], also for a user that the directory has removed.
func (s *Service) Provisioned(ctx context.Context, id int64) (*Provisioned, error) {
	p, err := s.provisioned(ctx, id)
	return p, wrap(fmt.Sprintf("provisioned user %d", id), err)
}

func (s *Service) provisioned(ctx context.Context, id int64) (*Provisioned, error) {
	p, err := s.store.Provisioned(ctx, id)
	if err == nil && (!p.RemovedAt.IsZero() || strings.HasSuffix(p.Email, "@door.invalid")) {
		err = ErrNotFound
	}
	return p, err
}

// ListProvisioned returns users by ID, and the number of all that match.
func (s *Service) ListProvisioned(ctx context.Context, q ProvisionedQuery, offset, limit int) (list []*Provisioned, total int64, err error) {
	list, total, err = s.store.ListProvisioned(ctx, q, offset, limit)
	return list, total, wrap("list provisioned users", err)
}

// Provision creates a member without a password. Invalid names, languages, time zones and phone numbers
// are adjusted rather than refused. If the directory has removed a user with the address, that user
// returns. For the address of any other user, it returns [ErrEmailTaken].
func (s *Service) Provision(ctx context.Context, p Provisioned) (*Provisioned, error) {
	made, err := s.provision(ctx, p)
	return made, wrap("provision user", err)
}

func (s *Service) provision(ctx context.Context, p Provisioned) (*Provisioned, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	n := NewUser{Email: p.Email, Name: NameFor(p.Email, p.Name), Role: Member, Phone: p.Phone, Locale: p.Locale, Timezone: p.Timezone}
	adjust(&n.Phone, &n.Locale, &n.Timezone)
	u, err := s.newUser(ctx, n)
	if err != nil {
		return nil, err
	}
	if !p.DisabledAt.IsZero() {
		u.DisabledAt = s.instant()
	}
	made := p
	made.User, made.Written = *u, true
	err = s.store.CreateProvisioned(ctx, &made)
	if !errors.Is(err, ErrEmailTaken) {
		return &made, err
	}
	back, lookup := s.returning(ctx, u.Email)
	if lookup != nil {
		return nil, lookup
	}
	if back == nil {
		return nil, err
	}
	p.User.ID = back.ID
	return s.write(ctx, back, p, new(Member))
}

// returning returns the removed user with an address, or nil.
func (s *Service) returning(ctx context.Context, email string) (*Provisioned, error) {
	u, err := s.store.UserByEmail(ctx, email)
	if err != nil {
		return nil, err
	}
	p, err := s.store.Provisioned(ctx, u.ID)
	if err != nil || p.RemovedAt.IsZero() {
		return nil, err
	}
	return p, nil
}

// UpdateProvisioned updates a user from the directory. An empty phone number, language or time zone keeps
// the user's own. It returns [ErrNotFound], or an [*InvalidError], which includes disabling the last admin
// and changing the address of a user who can sign in by it, see [User.checkReaddress].
func (s *Service) UpdateProvisioned(ctx context.Context, id int64, p Provisioned) (*Provisioned, error) {
	now, err := s.provisioned(ctx, id)
	if err == nil {
		err = p.check()
	}
	if err == nil {
		now, err = s.write(ctx, now, p, nil)
	}
	return now, wrap(fmt.Sprintf("update provisioned user %d", id), err)
}

// write changes now to p, and its role unless role is nil.
func (s *Service) write(ctx context.Context, now *Provisioned, p Provisioned, role *Role) (*Provisioned, error) {
	var patch UserPatch
	changed := false
	differ := func(field **string, have, want string) {
		if want != "" && want != have {
			*field, changed = &want, true
		}
	}
	email := fault.FoldEmail(p.Email)
	adjust(&p.Phone, &p.Locale, &p.Timezone)
	differ(&patch.Email, now.Email, email)
	differ(&patch.Name, now.Name, NameFor(email, p.Name))
	differ(&patch.Phone, now.Phone, p.Phone)
	differ(&patch.Locale, now.Locale, p.Locale)
	differ(&patch.Timezone, now.Timezone, p.Timezone)
	if disabled := !p.DisabledAt.IsZero(); disabled != !now.DisabledAt.IsZero() {
		patch.Disabled, changed = &disabled, true
	}
	if role != nil && *role != now.Role {
		patch.Role, changed = role, true
	}
	after := *now
	if changed {
		u, err := s.updateUserIf(ctx, now.ID, nil, 0, patch, func(u *User) error { return u.checkReaddress(email) })
		if err != nil {
			return nil, err
		}
		after.User = *u
	}
	after.UserName, after.ExternalID, after.GivenName, after.FamilyName = p.UserName, p.ExternalID, p.GivenName, p.FamilyName
	after.Written, after.RemovedAt = true, time.Time{}
	if after.identity() == now.identity() {
		return &after, nil
	}
	return &after, s.store.SaveProvisioned(ctx, &after)
}

// checkReaddress refuses another address from a directory if a reader of mail to that address could sign in
// with rights that the directory did not grant: by a reset, an invitation, or an identity linked by address.
func (u *User) checkReaddress(email string) error {
	switch {
	case email == u.Email:
		return nil
	case u.PasswordHash != "":
		return fault.Invalid("body.email", "has_password", "must stay %s: the user has a password here", u.Email)
	case !u.InvitedUntil.IsZero():
		return fault.Invalid("body.email", "invited", "must stay %s: the user was invited here", u.Email)
	case u.Role != Member:
		return fault.Invalid("body.email", "has_role", "must stay %s: the user has the role %s; an admin can change the address here", u.Email, u.Role)
	}
	return nil
}

func (p *Provisioned) identity() [5]any {
	return [5]any{p.UserName, p.ExternalID, p.GivenName + "\x00" + p.FamilyName, p.Written, p.RemovedAt.IsZero()}
}

// RemoveProvisioned hides a user from the directory. The caller has disabled the user.
func (s *Service) RemoveProvisioned(ctx context.Context, id int64) error {
	p, err := s.provisioned(ctx, id)
	if err == nil {
		p.RemovedAt = s.instant()
		err = s.store.SaveProvisioned(ctx, p)
	}
	return wrap(fmt.Sprintf("remove provisioned user %d", id), err)
}

const maxUserName = 256

func (p *Provisioned) check() error {
	var fs faults
	p.UserName, p.ExternalID = strings.TrimSpace(p.UserName), strings.TrimSpace(p.ExternalID)
	if p.UserName == "" {
		fs.add("user_name", "required", "is required")
	}
	fs.Line("body.user_name", p.UserName, maxUserName)
	fs.Line("body.external_id", p.ExternalID, maxUserName)
	p.Email = fs.email(p.Email)
	p.GivenName, p.FamilyName = fault.AsLine(p.GivenName, maxName), fault.AsLine(p.FamilyName, maxName)
	return fs.Err()
}

// adjust clears invalid fields, because nobody here could correct them.
func adjust(phone, locale, timezone *string) {
	var fs faults
	if fs.profile(nil, nil, phone, nil, nil); fs.Err() != nil {
		*phone = ""
	}
	fs = faults{}
	if fs.profile(nil, nil, nil, locale, nil); fs.Err() != nil {
		*locale = ""
	}
	fs = faults{}
	if fs.profile(nil, nil, nil, nil, timezone); fs.Err() != nil {
		*timezone = ""
	}
}
