package account

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Principal is who makes a request. It is read only once made.
type Principal struct {
	UserID   int64
	Email    string
	Name     string
	Role     Role
	Locale   string
	Timezone string
	TokenID  int64
	Kind     TokenKind // of the token: Session or API
	Scopes   []Scope   // of the token; nil: all
	Until    time.Time // when the token expires; zero: never
}

func principal(u *User, t *Token) *Principal {
	return &Principal{
		UserID: u.ID, Email: u.Email, Name: u.Name, Role: u.Role, Locale: u.Locale, Timezone: u.Timezone,
		TokenID: t.ID, Kind: t.Kind, Scopes: t.Scopes, Until: t.ExpiresAt,
	}
}

// HasScope tells whether the token reaches s: it has no scopes, names s, or names what s is a
// part of ("topics:produce" reaches "topics:produce:orders").
func (p *Principal) HasScope(s Scope) bool {
	return p.Scopes == nil || slices.ContainsFunc(p.Scopes, func(have Scope) bool {
		return s == have || strings.HasPrefix(string(s), string(have)+":")
	})
}

// grants tells whether the token itself gives the right to s, a scope of topics, for one topic
// at least, whatever the role of its user.
func (p *Principal) grants(s Scope) bool {
	return s.ofTopics() && slices.ContainsFunc(p.Scopes, func(have Scope) bool {
		return have == s || strings.HasPrefix(string(have), string(s)+":")
	})
}

// AtDoor tells whether the principal is a device at a room's door.
func (p *Principal) AtDoor() bool { return p.Door() != 0 }

// Door is the room at whose door the principal is a device; 0: it is none.
func (p *Principal) Door() (roomID int64) {
	for _, s := range p.Scopes {
		if room, ok := strings.CutPrefix(string(s), string(atDoor)+":"); ok {
			id, err := strconv.ParseInt(room, 10, 64)
			if err != nil || id <= 0 {
				return -1 // a door of no room: nothing but a door all the same
			}
			return id
		}
	}
	return 0
}

type principalKey struct{}

// WithPrincipal returns a context of a request that p makes.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// FromContext tells who makes the request; false: nobody signed in.
func FromContext(ctx context.Context) (*Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(*Principal)
	return p, ok && p != nil
}

type recheckKey struct{}

// WithRecheck returns a context in which [Recheck] calls may.
func WithRecheck(ctx context.Context, may func(context.Context) error) context.Context {
	return context.WithValue(ctx, recheckKey{}, may)
}

// Recheck is nil if the caller of the request may still call its operation. It is for what waits long
// before it acts. In a context without a caller it is nil.
func Recheck(ctx context.Context) error {
	if may, ok := ctx.Value(recheckKey{}).(func(context.Context) error); ok {
		return may(ctx)
	}
	return nil
}
