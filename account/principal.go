package account

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Principal is the caller of a request. It is read-only.
type Principal struct {
	UserID   int64
	Email    string
	Name     string
	Role     Role
	Locale   string
	Timezone string

	Groups  []int64   // ascending
	ActsFor []ActsFor // by ID

	CalendarMails bool // own meetings arrive as mails for the calendar

	TokenID int64
	Kind    TokenKind
	Scopes  []Scope   // nil: all
	Since   time.Time // when the token was created
	Until   time.Time // when the token expires; zero: never
}

func principal(u *User, t *Token) *Principal {
	return &Principal{
		UserID: u.ID, Email: u.Email, Name: u.Name, Role: u.Role, Locale: u.Locale, Timezone: u.Timezone, CalendarMails: u.CalendarMails,
		Groups: u.Groups, ActsFor: u.ActsFor,
		TokenID: t.ID, Kind: t.Kind, Scopes: t.Scopes, Since: t.CreatedAt, Until: t.ExpiresAt,
	}
}

// HasScope reports whether the token has s: it has no scopes, names s, or names a scope that
// includes s ("topics:produce" includes "topics:produce:orders").
func (p *Principal) HasScope(s Scope) bool {
	return p.Scopes == nil || slices.ContainsFunc(p.Scopes, func(have Scope) bool {
		return s == have || strings.HasPrefix(string(s), string(have)+":")
	})
}

// grants reports whether the token itself gives the right to the topic scope s, for one topic at
// least, independent of the role of its user.
func (p *Principal) grants(s Scope) bool {
	return s.grantsRight() && slices.ContainsFunc(p.Scopes, func(have Scope) bool {
		return have == s || strings.HasPrefix(string(have), string(s)+":")
	})
}

// AtDoor reports whether the principal is a device at the door of a room.
func (p *Principal) AtDoor() bool { return p.Door() != 0 }

// Door returns the room of a device at a door, or 0 for other principals.
func (p *Principal) Door() (roomID int64) {
	for _, s := range p.Scopes {
		if room, ok := strings.CutPrefix(string(s), string(atDoor)+":"); ok {
			id, err := strconv.ParseInt(room, 10, 64)
			if err != nil || id <= 0 {
				return -1 // still restricted to door operations, but of no room
			}
			return id
		}
	}
	return 0
}

// MustEnroll reports whether the session can do nothing but set up a second factor.
func (p *Principal) MustEnroll() bool { return slices.Contains(p.Scopes, enrolling) }

// isAppPassword reports whether the token is for calendar programs.
func (p *Principal) isAppPassword() bool { return slices.Contains(p.Scopes, CalDAV) }

type principalKey struct{}

// WithPrincipal returns a context for a request by p.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// FromContext returns the caller of the request, or false if nobody is signed in.
func FromContext(ctx context.Context) (*Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(*Principal)
	return p, ok && p != nil
}

type recheckKey struct{}

// WithRecheck returns a context in which [Recheck] calls check.
func WithRecheck(ctx context.Context, check func(context.Context) error) context.Context {
	return context.WithValue(ctx, recheckKey{}, check)
}

// Recheck returns an error if the caller of the request check no longer call its operation. Call it
// after a long wait, before acting. Without a caller it returns nil.
func Recheck(ctx context.Context) error {
	if check, ok := ctx.Value(recheckKey{}).(func(context.Context) error); ok {
		return check(ctx)
	}
	return nil
}
