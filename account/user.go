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
	Member  Role = "member"  // books
	Manager Role = "manager" // also decides for the rooms that name them as approver
	Admin   Role = "admin"   // everything
)

// Roles from the least to the most rights.
var Roles = []Role{Member, Manager, Admin}

// Covers tells whether r has at least the rights of least. An unknown role covers nothing.
func (r Role) Covers(least Role) bool {
	have, want := slices.Index(Roles, r), slices.Index(Roles, least)
	return want >= 0 && have >= want
}

// User is a person who may sign in, unless disabled.
type User struct {
	ID           int64
	Email        string // lower case; unique
	Name         string
	Role         Role
	Phone        string    // E.164, e.g. "+4930123"; may be empty
	Locale       string    // BCP 47, e.g. "en", "zh-CN"
	Timezone     string    // IANA
	PasswordHash string    // PHC string; empty: no sign-in by password
	Away         Away      // when others decide in the user's place
	DisabledAt   time.Time // zero: active
	Version      int64     // raised by each change
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// Away is a time, half-open, in which the user is not there; the zero value: none.
type Away struct {
	From, Until time.Time
	DeputyID    int64 // a manager or admin who decides in the user's place; 0: nobody
}

// Active tells whether the user may sign in.
func (u *User) Active() bool { return u.DisabledAt.IsZero() }

// NewUser is what CreateUser needs. Password may be empty (no sign-in by password), as may
// Phone; an empty Locale or Timezone is the installation's default.
type NewUser struct {
	Email, Name             string
	Role                    Role
	Password                string
	Phone, Locale, Timezone string
}

// UserPatch changes what is not nil. The service normalises what the fields point to.
type UserPatch struct {
	Email, Name             *string
	Role                    *Role
	Password                *string // empty takes the sign-in by password away
	Phone, Locale, Timezone *string
	Disabled                *bool
	EndTokens, EndFeeds     *bool // whether API tokens and calendar feeds end; nil: with a new password
	Away                    *Away // the zero Away: there again
}

// MePatch is what users may change of themselves. Password needs CurrentPassword.
type MePatch struct {
	Name, Phone, Locale, Timezone *string
	Password, CurrentPassword     *string
	EndTokens, EndFeeds           bool  // whether API tokens and calendar feeds end, too
	Away                          *Away // the zero Away: there again
}

const (
	maxName          = fault.MaxName
	minPassword      = 8
	maxPasswordBytes = 256 // hashing more buys nobody anything
)

// faults gathers what is wrong with a request.
type faults struct{ fault.List }

func (fs *faults) add(field, code, format string, args ...any) {
	fs.Add("body."+field, code, format, args...)
}

// profile checks and normalizes the fields that are given of a user; nil ones are left alone.
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

// email returns the form in which addresses are stored.
func (fs *faults) email(s string) string { return fault.FoldEmail(fs.Email("body.email", s)) }

// text is a line that people read, and that is required.
func (fs *faults) text(field, s string) string {
	s = strings.TrimSpace(s)
	if !fault.Visible(s) {
		fs.add(field, "required", "is required")
	} else {
		fs.Line("body."+field, s, maxName)
	}
	return s
}

func (fs *faults) role(r Role) {
	if !slices.Contains(Roles, r) {
		fs.add("role", "unknown_value", "is member, manager or admin")
	}
}

// user is the checked and normalised beginning of a user.
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

// apply changes u, but for the password.
func (p *UserPatch) apply(u *User, now time.Time) {
	set(&u.Email, p.Email)
	set(&u.Name, p.Name)
	set(&u.Role, p.Role)
	set(&u.Phone, p.Phone)
	set(&u.Locale, p.Locale)
	set(&u.Timezone, p.Timezone)
	set(&u.Away, p.Away)
	switch {
	case p.Disabled == nil:
	case !*p.Disabled:
		u.DisabledAt = time.Time{}
	case u.Active():
		u.DisabledAt = now
	}
	u.UpdatedAt = now
}

// leavesNoAdmin is the fault of a change to the last active admin that makes it none.
func (p *UserPatch) leavesNoAdmin(u *User) error {
	var fs faults
	if u.Role != Admin {
		fs.add("role", "last_admin", "would leave no active admin")
	}
	if !u.Active() {
		fs.add("disabled", "last_admin", "would leave no active admin")
	}
	return fs.Err()
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}
