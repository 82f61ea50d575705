package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"punctual/account/fault"
)

// Invite adds a user without a password and mails a link by which the person chooses one. Without
// a name, the user gets the first part of the address until then. It returns the errors of
// [Service.CreateUser].
func (s *Service) Invite(ctx context.Context, n NewUser) (*User, error) {
	n.invited()
	u, err := s.newUser(ctx, n)
	if err == nil {
		mail := s.links.newMail(u, InvitationLink, callerName(ctx), s.instant())
		u.InvitedUntil = mail.Link.ExpiresAt
		err = s.store.CreateInvitedUser(ctx, mail)
	}
	if err != nil {
		return nil, fmt.Errorf("invite user: %w", err)
	}
	return u, nil
}

// invited prepares n for an invitation.
func (n *NewUser) invited() {
	if strings.TrimSpace(n.Name) == "" {
		n.Name, _, _ = strings.Cut(strings.TrimSpace(n.Email), "@")
	}
	n.Password = ""
}

// CheckNewUser returns the faults of a user without a password, who would be invited or not, as an
// [*InvalidError]. It does not check whether the address is taken.
func (s *Service) CheckNewUser(n NewUser, invited bool) error {
	if invited {
		n.invited()
	}
	var fs faults
	n.user(&fs, s.timezone, s.instant())
	return fs.Err()
}

// InviteAgain mails a new link to a user who has no password yet. Earlier links end. It returns an
// [*InvalidError] for a user who has a password or is disabled.
func (s *Service) InviteAgain(ctx context.Context, id int64) (*User, error) {
	u, err := s.store.User(ctx, id)
	if err == nil {
		u, err = s.store.AddInvitation(ctx, s.links.newMail(u, InvitationLink, callerName(ctx), s.instant()), (*User).checkInvitable)
	}
	return u, wrap(fmt.Sprintf("invite user %d", id), err)
}

func (u *User) checkInvitable() error {
	switch {
	case !u.Active():
		return fault.Invalid("path.id", "disabled", "is a disabled user")
	case u.PasswordHash != "":
		return fault.Invalid("path.id", "has_password", "is a user with a password; reset the password instead")
	}
	return nil
}

func callerName(ctx context.Context) string {
	if p, ok := FromContext(ctx); ok {
		return p.Name
	}
	return ""
}

// maxResets limits the valid reset links of a user, and so the mails that strangers can cause.
const maxResets = 3

// answerReset is how long [Service.RequestReset] takes at least, so that its duration does not
// show whether there is such a user.
const answerReset = 250 * time.Millisecond

// RequestReset mails a link to choose a new password to the user with this address. It returns nil
// too if there is no such user, or one who cannot sign in with a password, or who has got several
// links within the last hour. After too many requests it returns a [*RateLimitError].
func (s *Service) RequestReset(ctx context.Context, email string, from Client) error {
	email = fault.FoldEmail(email)
	networks := Networks(from.IP)
	charges := []charge{{s.limiter, limitKey("reset", email)}}
	for _, n := range networks {
		charges = append(charges, charge{s.wide, limitKey("reset-ip", n)})
	}
	if err := s.attempts.charge(ctx, charges); err != nil {
		return fmt.Errorf("request password reset: %w", err)
	}
	answer := time.NewTimer(s.answerReset)
	defer answer.Stop()
	err := s.mailReset(ctx, email)
	select {
	case <-answer.C:
	case <-ctx.Done():
	}
	return wrap("request password reset", err)
}

func (s *Service) mailReset(ctx context.Context, email string) error {
	u, err := s.UserByEmail(ctx, email)
	if errors.Is(err, ErrNotFound) || err == nil && !u.resettable(s.instant()) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.store.AddReset(ctx, s.links.newMail(u, ResetLink, "", s.instant()), maxResets)
}

// resettable reports whether the user may choose a password by a mailed link. The user of a
// program, who never had a password, may not, nor a user whose invitation is over.
func (u *User) resettable(now time.Time) bool {
	return u.Active() && (u.PasswordHash != "" || now.Before(u.InvitedUntil))
}

// CheckLink returns a link and its user. It returns [ErrLinkInvalid] for a wrong, used or expired
// secret and for a disabled user.
func (s *Service) CheckLink(ctx context.Context, secret string, from Client) (*PasswordLink, *User, error) {
	var link *PasswordLink
	var user *User
	err := s.attempts.limited(ctx, s.linkCharges(from), func() (err error) {
		link, user, err = s.link(ctx, secret)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("check password link: %w", err)
	}
	return link, user, nil
}

func (s *Service) linkCharges(from Client) []charge {
	return []charge{{s.limiter, limitKey("link", Networks(from.IP)[0])}}
}

func (s *Service) link(ctx context.Context, secret string) (*PasswordLink, *User, error) {
	if !IsSecret(secret) {
		return nil, nil, ErrLinkInvalid
	}
	link, user, err := s.store.LinkByHash(ctx, hashSecret(secret))
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil, ErrLinkInvalid
	case err != nil:
		return nil, nil, err
	case !link.validFor(user, s.instant()):
		return nil, nil, ErrLinkInvalid
	}
	return link, user, nil
}

func (l *PasswordLink) validFor(u *User, now time.Time) bool {
	return now.Before(l.ExpiresAt) && u.Active()
}

// Choice is what the reader of a link chooses. Fields that are nil stay as they are.
type Choice struct {
	Password               string
	Name, Locale, Timezone *string
	EndTokens, EndFeeds    bool // end API tokens and calendar feeds
	EndPasskeys            bool // remove passkeys
}

// UseLink sets the password of the link's user and signs them in. All links and all other sessions
// of the user end. Errors are those of [Service.CheckLink], a [*SecondFactorError] after the password
// has been set, and an [*InvalidError], which leaves
// the link valid.
func (s *Service) UseLink(ctx context.Context, secret string, c Choice, from Client) (*SignIn, error) {
	// Checked before the fields, so that only the owner of a link can make us hash passwords.
	_, u, err := s.CheckLink(ctx, secret, from)
	if err != nil {
		return nil, err
	}
	if c.Password == "" {
		return nil, fault.Invalid("body.password", "required", "is required")
	}
	patch := UserPatch{Password: &c.Password, Name: c.Name, Locale: c.Locale, Timezone: c.Timezone, EndTokens: &c.EndTokens, EndFeeds: &c.EndFeeds}
	hash, err := s.checkPatch(ctx, u.ID, &patch)
	if err != nil {
		return nil, fmt.Errorf("use password link: %w", err)
	}
	// The user is the actor, for the audit log.
	u, err = s.store.UseLink(WithPrincipal(ctx, principal(u, &Token{})), hashSecret(secret), func(l *PasswordLink, u *User) (Revocation, error) {
		now := s.instant()
		if !l.validFor(u, now) {
			return Revocation{}, ErrLinkInvalid
		}
		patch.apply(u, now)
		u.setPassword(hash)
		return Revocation{Sessions: true, API: c.EndTokens, Feeds: c.EndFeeds, Passkeys: c.EndPasskeys, Links: true}, nil
	})
	if errors.Is(err, ErrNotFound) { // used meanwhile
		err = ErrLinkInvalid
	}
	if err != nil {
		return nil, fmt.Errorf("use password link: %w", err)
	}
	return s.admit(ctx, u, from)
}
