package account

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
)

// Role of a user.
type Role string

const (
	Member  Role = "member"  // books meetings
	Manager Role = "manager" // also approves requests for rooms that name them as approver
	Admin   Role = "admin"   // may do everything
)

// Roles from the fewest to the most rights.
var Roles = []Role{Member, Manager, Admin}

// Covers reports whether r has at least the rights of other. An unknown role covers nothing.
func (r Role) Covers(other Role) bool {
	have, want := slices.Index(Roles, r), slices.Index(Roles, other)
	return want >= 0 && have >= want
}

// User is a person who may sign in, unless disabled.
type User struct {
	ID            int64
	Email         string // lower case; unique
	Name          string
	Role          Role
	Phone         string    // E.164, such as "+4930123", or ""
	Locale        string    // BCP 47, such as "en" or "zh-CN"
	Timezone      string    // IANA name
	CalendarMails bool      // own meetings arrive as mails for the calendar
	PasswordHash  string    // PHC string; "" disables sign-in by password
	Away          Away      // when others decide for the user
	DisabledAt    time.Time // zero: active
	InvitedUntil  time.Time // end of the open invitation; zero: none, or accepted
	Groups        []int64   // ascending; changed by [GroupStore] only
	ActsFor       []ActsFor // by ID; changed by [DelegateStore] only
	Version       int64     // incremented by each change
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// Away is a half-open absence of a user; zero: none.
type Away struct {
	From, Until time.Time
	DeputyID    int64 // a manager or admin who decides for the user; 0: nobody
}

// Active reports whether the user may sign in.
func (u *User) Active() bool { return u.DisabledAt.IsZero() }

// NewUser is the input of [Service.CreateUser]. An empty Password disables sign-in by password. An
// empty Locale or Timezone means the default.
type NewUser struct {
	Email, Name             string
	Role                    Role
	Password                string
	Phone, Locale, Timezone string
}

// UserPatch changes the fields that are not nil. The service normalizes the values.
type UserPatch struct {
	Email, Name             *string
	Role                    *Role
	Password                *string // "" disables sign-in by password
	Phone, Locale, Timezone *string
	Disabled                *bool
	EndTokens, EndFeeds     *bool // end API tokens and calendar feeds; nil: if Password is set
	EndPasskeys             *bool // remove passkeys; nil: if Password is set
	Away                    *Away // the zero Away ends an absence
	CalendarMails           *bool
}

// MePatch changes the fields that users may change themselves. Password requires CurrentPassword.
type MePatch struct {
	Name, Phone, Locale, Timezone *string
	Password, CurrentPassword     *string
	EndTokens, EndFeeds           bool  // end API tokens and calendar feeds
	CalendarMails                 *bool // own meetings arrive as mails for the calendar
	Away                          *Away // the zero Away ends an absence
}

const (
	maxName          = fault.MaxName
	minPassword      = 8
	maxPasswordBytes = 256 // longer passwords add no security
)

type faults struct{ fault.List }

func (fs *faults) add(field, code, format string, args ...any) {
	fs.Add("body."+field, code, format, args...)
}

func (fs *faults) profile(email, name, phone, locale, timezone *string) {
	if email != nil {
		*email = fs.email(*email)
	}
	if name != nil {
		*name = fs.text("name", *name)
	}
	if phone != nil {
		*phone = fs.Phone("body.phone", *phone)
	}
	if locale != nil {
		*locale = fs.Locale("body.locale", *locale)
	}
	if timezone != nil {
		fs.Zone("body.timezone", *timezone)
	}
}

func (fs *faults) email(s string) string { return fault.FoldEmail(fs.Email("body.email", s)) }

func (fs *faults) text(field, s string) string {
	s = strings.TrimSpace(s)
	if !fault.Visible(s) {
		fs.add(field, "required", "is required")
	} else {
		fs.Line("body."+field, s, maxName)
	}
	return s
}

// NameFor returns the name of a user whom somebody else names, such as a provider of accounts or a calendar: adjusted
// rather than refused. Without a usable name it is the local part of the email address.
func NameFor(email, name string) string {
	if name = fault.AsLine(name, maxName); name == "" {
		name, _, _ = strings.Cut(email, "@")
	}
	return name
}

func (fs *faults) role(r Role) {
	if !slices.Contains(Roles, r) {
		fs.add("role", "unknown_value", "must be member, manager or admin")
	}
}

func (n NewUser) user(fs *faults, defaultTimezone string, now time.Time) *User {
	n.Locale = cmp.Or(n.Locale, "en")
	n.Timezone = cmp.Or(n.Timezone, defaultTimezone)
	fs.profile(&n.Email, &n.Name, &n.Phone, &n.Locale, &n.Timezone)
	fs.role(n.Role)
	return &User{
		Email: n.Email, Name: n.Name, Role: n.Role, Phone: n.Phone, Locale: n.Locale, Timezone: n.Timezone,
		Version: 1, CreatedAt: now, UpdatedAt: now,
	}
}

func (p *UserPatch) apply(u *User, now time.Time) {
	set(&u.Email, p.Email)
	set(&u.Name, p.Name)
	set(&u.Role, p.Role)
	set(&u.Phone, p.Phone)
	set(&u.Locale, p.Locale)
	set(&u.Timezone, p.Timezone)
	set(&u.Away, p.Away)
	set(&u.CalendarMails, p.CalendarMails)
	switch {
	case p.Disabled == nil:
	case !*p.Disabled:
		u.DisabledAt = time.Time{}
	case u.Active():
		u.DisabledAt = now
	}
	u.UpdatedAt = now
}

func (p *UserPatch) checkAdminLeft(u *User) error {
	var fs faults
	if u.Role != Admin {
		fs.add("role", "last_admin", "would leave no active admin")
	}
	if !u.Active() {
		fs.add("disabled", "last_admin", "would leave no active admin")
	}
	return fs.Err()
}

// setPassword also ends an invitation, because it was for choosing a password.
func (u *User) setPassword(hash string) {
	u.PasswordHash, u.InvitedUntil = hash, time.Time{}
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}
