package account

import (
	"context"
	"fmt"
	"slices"
	"time"

	"punctual/account/fault"
)

const maxScopes = 50

// MaxTokens limits the API tokens of a user and the devices of a door. Concurrent requests may
// exceed it by a few.
const MaxTokens = 200

// ErrTooManyTokens is what a [Store] returns when a user has [MaxTokens].
var ErrTooManyTokens = fault.Invalid("body", "too_many", "must not exceed %d tokens; end one first", MaxTokens)

// CreateToken creates an API token for p's user. The secret is returned only here. Only admins can
// grant topic scopes and scim.
func (s *Service) CreateToken(ctx context.Context, p *Principal, n NewToken) (t *Token, secret string, err error) {
	return s.createToken(ctx, p.UserID, n, func(scope Scope) (code, message string) {
		if scope.grantsRight() && p.Role != Admin {
			return "not_allowed", "is for an admin to give"
		}
		return "", ""
	})
}

// CreateUserToken creates an API token for another user on behalf of an admin. It can have topic
// scopes and scim only, so that an admin cannot act as another user.
func (s *Service) CreateUserToken(ctx context.Context, userID int64, n NewToken) (t *Token, secret string, err error) {
	u, err := s.store.User(ctx, userID)
	if err == nil && !u.Active() {
		err = fault.Invalid("path.id", "disabled", "is disabled")
	}
	if err != nil {
		return nil, "", fmt.Errorf("create token of user %d: %w", userID, err)
	}
	if n.Scopes == nil {
		n.Scopes = []Scope{}
	}
	return s.createToken(ctx, userID, n, func(scope Scope) (code, message string) {
		if !scope.grantsRight() {
			return "not_allowed", "is for the user to give; a token made for somebody else has scopes of topics, or scim, alone"
		}
		return "", ""
	})
}

// createToken rejects each scope for which refuse returns a code.
func (s *Service) createToken(ctx context.Context, userID int64, n NewToken, refuse func(Scope) (code, message string)) (t *Token, secret string, err error) {
	now := s.instant()
	var fs faults
	n.Name = fs.text("name", n.Name)
	maxTTL := time.Duration(s.maxTokenTTL.Load())
	if n.ExpiresAt.IsZero() {
		n.ExpiresAt = s.defaultExpiry(now)
	}
	if !n.ExpiresAt.IsZero() && !n.ExpiresAt.After(now) {
		fs.add("expires_at", "in_past", "must be in the future")
	}
	if maxTTL > 0 && n.ExpiresAt.After(now.Add(maxTTL)) {
		fs.add("expires_at", "too_late", "must be within %s", maxTTL)
	}
	if n.Scopes != nil && len(n.Scopes) == 0 {
		fs.add("scopes", "too_few", "names no scope; without scopes a token has all rights")
	}
	if len(n.Scopes) > maxScopes {
		fs.add("scopes", "too_many", "must have at most %d scopes", maxScopes)
	}
	if len(n.Scopes) > 1 && slices.Contains(n.Scopes, CalDAV) {
		fs.add("scopes", "not_alone", "must name caldav alone; create another token for the rest")
	}
	for i, scope := range n.Scopes {
		if !scope.known() {
			fs.add(fmt.Sprintf("scopes[%d]", i), "unknown_value", "is no scope")
		} else if code, message := refuse(scope); code != "" {
			fs.add(fmt.Sprintf("scopes[%d]", i), code, "%s", message)
		}
	}
	if err := fs.Err(); err != nil {
		return nil, "", fmt.Errorf("create token: %w", err)
	}
	scopes := slices.Clone(n.Scopes)
	slices.Sort(scopes)
	secret = newSecret()
	t = &Token{
		UserID: userID, Kind: API, Name: n.Name, Hash: hashSecret(secret), Scopes: slices.Compact(scopes),
		CreatedAt: now,
	}
	if !n.ExpiresAt.IsZero() {
		t.ExpiresAt = n.ExpiresAt.UTC()
	}
	if err := s.store.CreateToken(ctx, t); err != nil {
		return nil, "", fmt.Errorf("create token: %w", err)
	}
	return t, secret, nil
}

func (s *Service) defaultExpiry(now time.Time) time.Time {
	ttl, maxTTL := time.Duration(s.tokenTTL.Load()), time.Duration(s.maxTokenTTL.Load())
	if maxTTL > 0 && (ttl == 0 || ttl > maxTTL) {
		ttl = maxTTL
	}
	if ttl == 0 {
		return time.Time{}
	}
	return now.Add(ttl)
}

// ListTokens returns the API tokens of p's user, including expired ones that are not yet deleted.
func (s *Service) ListTokens(ctx context.Context, p *Principal, page Page) (tokens []*Token, next string, err error) {
	tokens, next, err = s.store.ListTokens(ctx, p.UserID, API, page.bounded())
	return tokens, next, wrap("list tokens", err)
}

// DeleteToken deletes an API token of p's user. For a token of another user it returns
// [ErrNotFound].
func (s *Service) DeleteToken(ctx context.Context, p *Principal, id int64) error {
	return wrap("delete token", s.store.DeleteToken(ctx, p.UserID, id, API))
}

// ListSessions returns the sessions of a user by sign-in time.
func (s *Service) ListSessions(ctx context.Context, userID int64, page Page) (tokens []*Token, next string, err error) {
	if _, err := s.store.User(ctx, userID); err != nil {
		return nil, "", wrap("list sessions", err)
	}
	tokens, next, err = s.store.ListTokens(ctx, userID, Session, page.bounded())
	return tokens, next, wrap("list sessions", err)
}

// DeleteSession ends a session of a user. For a session of another user it returns [ErrNotFound].
func (s *Service) DeleteSession(ctx context.Context, userID, id int64) error {
	return wrap("delete session", s.store.DeleteToken(ctx, userID, id, Session))
}
