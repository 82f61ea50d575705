package account

import (
	"cmp"
	"net/mail"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
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
	Away                    *Away // the zero Away: there again
}

// MePatch is what users may change of themselves. Password needs CurrentPassword.
type MePatch struct {
	Name, Phone, Locale, Timezone *string
	Password, CurrentPassword     *string
	Away                          *Away // the zero Away: there again
}

const (
	maxEmail         = 254 // RFC 5321 4.5.3.1.3, without the angle brackets
	maxName          = 200
	maxLocale        = 35 // RFC 5646 4.4.1
	minPassword      = 8
	maxPasswordBytes = 256 // hashing more buys nobody anything
)

var (
	phonePattern  = regexp.MustCompile(`^\+[1-9][0-9]{3,14}$`) // E.164
	localePattern = regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$`)
	phoneFiller   = strings.NewReplacer(" ", "", "-", "", ".", "", "(", "", ")", "", "/", "")
)

// faults gathers what is wrong with a request.
type faults []Fault

func (fs *faults) add(field, code, message string) {
	*fs = append(*fs, Fault{"body." + field, code, message})
}

func (fs faults) err() error {
	if len(fs) == 0 {
		return nil
	}
	return &InvalidError{fs}
}

// profile checks and normalises the fields that are given of a user; nil ones are left alone.
func (fs *faults) profile(email, name, phone, locale, timezone *string) {
	if email != nil {
		*email = fs.email(*email)
	}
	if name != nil {
		*name = fs.text("name", *name, maxName)
	}
	if phone != nil {
		*phone = phoneFiller.Replace(strings.TrimSpace(*phone))
		if *phone != "" && !phonePattern.MatchString(*phone) {
			fs.add("phone", "invalid_phone", "is not an international number like +4930123")
		}
	}
	if locale != nil && (len(*locale) > maxLocale || !localePattern.MatchString(*locale)) {
		fs.add("locale", "invalid_locale", "is not a language tag like en or zh-CN")
	}
	if timezone != nil && !isTimezone(*timezone) {
		fs.add("timezone", "unknown_timezone", "is not an IANA time zone like Europe/Berlin")
	}
}

func (fs *faults) email(s string) string {
	s = strings.TrimSpace(s)
	switch addr, err := mail.ParseAddress(s); {
	case s == "":
		fs.add("email", "required", "is required")
	case len(s) > maxEmail:
		fs.add("email", "too_long", "has more than 254 bytes")
	case err != nil || addr.Address != s: // also refuses "Name <address>"
		fs.add("email", "invalid_email", "is not an e-mail address")
	}
	return normalEmail(s)
}

// normalEmail is the form in which addresses are stored and compared. That the local part
// may depend on case is a freedom that no provider uses and that people get wrong.
func normalEmail(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// text is a line that people read.
func (fs *faults) text(field, s string, most int) string {
	s = strings.TrimSpace(s)
	switch {
	case !visible(s):
		fs.add(field, "required", "is required")
	case utf8.RuneCountInString(s) > most:
		fs.add(field, "too_long", "has more than "+strconv.Itoa(most)+" characters")
	case !utf8.ValidString(s) || strings.ContainsFunc(s, disturbs):
		fs.add(field, "control_character", "holds a control character or a line break")
	}
	return s
}

// visible reports whether a text shows anything at all: zero-width characters alone do not.
func visible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsSpace(r) && r != '\u2800' && // a braille cell without dots
			!unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
	})
}

// disturbs reports whether a character has no place in a line: control characters, and those
// that turn the writing around what follows, beyond the line itself.
func disturbs(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) && r != '\u200e' && r != '\u200f' && r != '\u061c'
}

func (fs *faults) role(r Role) {
	if !slices.Contains(Roles, r) {
		fs.add("role", "unknown_value", "is member, manager or admin")
	}
}

func (fs *faults) password(p string) {
	switch {
	case len(p) > maxPasswordBytes:
		fs.add("password", "too_long", "has more than 256 bytes")
	case utf8.RuneCountInString(p) < minPassword:
		fs.add("password", "too_short", "has fewer than 8 characters")
	case !utf8.ValidString(p):
		fs.add("password", "malformed", "is not UTF-8")
	}
}

// isTimezone refuses "Local", which is another zone on each machine.
func isTimezone(name string) bool {
	if name == "" || name == "Local" {
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
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
	return fs.err()
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}
