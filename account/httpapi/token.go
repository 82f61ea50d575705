package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/account/rest"
)

// TokenBody is an API token.
type TokenBody struct {
	ID         int64           `json:"id"`
	Name       string          `json:"name"`
	Scopes     []account.Scope `json:"scopes,omitempty" doc:"What the token may do; omitted if it has all rights of the user"`
	ExpiresAt  *time.Time      `json:"expires_at,omitempty" doc:"When the token expires; omitted if it never does"`
	LastUsedAt *time.Time      `json:"last_used_at,omitempty" doc:"When the token was last used, to the minute; omitted if never"`
	CreatedAt  time.Time       `json:"created_at"`
}

type tokensOutput struct {
	Body struct {
		Items      []TokenBody `json:"items" nullable:"false"`
		NextCursor *string     `json:"next_cursor" doc:"Cursor of the next page; null on the last page"`
	}
}

type createTokenInput struct {
	Body struct {
		Name      string          `json:"name" doc:"What the token is for"`
		Scopes    []account.Scope `json:"scopes,omitempty" nullable:"false" doc:"What the token may do; if omitted, it has all rights of the user"`
		ExpiresAt time.Time       `json:"expires_at,omitempty" doc:"When the token expires; defaults to auth.token_ttl from now"`
	}
}

type createTokenOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         struct {
		ID    int64  `json:"id"`
		Token string `json:"token" doc:"The secret token; returned only once"`
	}
}

func (h *handlers) registerTokens(api huma.API) {
	huma.Register(api, operation("list-my-tokens", http.MethodGet, "/me/tokens", "People", "List my API tokens",
		http.StatusUnprocessableEntity), h.listTokens)
	create := operation("create-my-token", http.MethodPost, "/me/tokens", "People", "Create an API token", http.StatusUnprocessableEntity)
	create.DefaultStatus = http.StatusCreated
	huma.Register(api, create, h.createToken)
	remove := operation("delete-my-token", http.MethodDelete, "/me/tokens/{id}", "People", "Delete an API token", http.StatusNotFound)
	remove.DefaultStatus = http.StatusNoContent
	huma.Register(api, remove, h.deleteToken)

	huma.Register(api, operation("list-user-tokens", http.MethodGet, "/users/{id}/tokens", "People", "List the API tokens of a user",
		http.StatusNotFound, http.StatusUnprocessableEntity), h.listUserTokens)
	create = operation("create-user-token", http.MethodPost, "/users/{id}/tokens", "People", "Create an API token for a program, with topic scopes only",
		http.StatusNotFound, http.StatusUnprocessableEntity)
	create.DefaultStatus = http.StatusCreated
	huma.Register(api, create, h.createUserToken)
	remove = operation("delete-user-token", http.MethodDelete, "/users/{id}/tokens/{token_id}", "People", "Delete an API token of a user", http.StatusNotFound)
	remove.DefaultStatus = http.StatusNoContent
	huma.Register(api, remove, h.deleteUserToken)

	huma.Register(api, operation("list-my-sessions", http.MethodGet, "/me/sessions", "People", "List where I am signed in",
		http.StatusUnprocessableEntity), h.listMySessions)
	remove = operation("delete-my-session", http.MethodDelete, "/me/sessions/{id}", "People", "Sign out elsewhere", http.StatusNotFound)
	remove.DefaultStatus = http.StatusNoContent
	huma.Register(api, remove, h.deleteMySession)

	huma.Register(api, operation("list-user-sessions", http.MethodGet, "/users/{id}/sessions", "People", "List the sessions of a user",
		http.StatusNotFound, http.StatusUnprocessableEntity), h.listUserSessions)
	remove = operation("delete-user-session", http.MethodDelete, "/users/{id}/sessions/{session_id}", "People", "End a session of a user", http.StatusNotFound)
	remove.DefaultStatus = http.StatusNoContent
	huma.Register(api, remove, h.deleteUserSession)
}

// SignInBody is a session.
type SignInBody struct {
	ID         int64     `json:"id"`
	CreatedAt  time.Time `json:"created_at" doc:"When the user signed in"`
	LastUsedAt time.Time `json:"last_used_at" doc:"When the session was last used, to the minute"`
	ExpiresAt  time.Time `json:"expires_at"`
	Address    string    `json:"address" doc:"Address of the client that signed in; empty for sessions from before an upgrade"`
	Device     string    `json:"device" doc:"Browser and system of that client; empty if unknown" example:"Firefox on Windows"`
	Current    bool      `json:"current" doc:"Whether this is the caller's own session"`
}

type sessionsOutput struct {
	Body struct {
		Items      []SignInBody `json:"items" nullable:"false"`
		NextCursor *string      `json:"next_cursor" doc:"Cursor of the next page; null on the last page"`
	}
}

func (h *handlers) listUserSessions(ctx context.Context, in *userTokensInput) (*sessionsOutput, error) {
	return h.sessions(ctx, in.ID, in.page())
}

func (h *handlers) listMySessions(ctx context.Context, in *struct{ PageInput }) (*sessionsOutput, error) {
	return h.sessions(ctx, caller(ctx).UserID, in.page())
}

func (h *handlers) deleteMySession(ctx context.Context, in *struct{ IDInput }) (*struct{}, error) {
	return nil, h.svc.DeleteSession(ctx, caller(ctx).UserID, in.ID)
}

func (h *handlers) sessions(ctx context.Context, userID int64, page account.Page) (*sessionsOutput, error) {
	tokens, next, err := h.svc.ListSessions(ctx, userID, page)
	if err != nil {
		return nil, err
	}
	out := &sessionsOutput{}
	out.Body.Items, out.Body.NextCursor = make([]SignInBody, len(tokens)), rest.OrNull(next)
	for i, t := range tokens {
		out.Body.Items[i] = SignInBody{t.ID, t.CreatedAt, t.LastUsedAt, t.ExpiresAt, t.Address, t.Device, t.ID == caller(ctx).TokenID}
	}
	return out, nil
}

type userSessionInput struct {
	IDInput
	SessionID int64 `path:"session_id" minimum:"1"`
}

func (h *handlers) deleteUserSession(ctx context.Context, in *userSessionInput) (*struct{}, error) {
	return nil, h.svc.DeleteSession(ctx, in.ID, in.SessionID)
}

func (h *handlers) listTokens(ctx context.Context, in *struct{ PageInput }) (*tokensOutput, error) {
	return tokensOutputOf(h.svc.ListTokens(ctx, caller(ctx), in.page()))
}

func tokensOutputOf(tokens []*account.Token, next string, err error) (*tokensOutput, error) {
	if err != nil {
		return nil, err
	}
	out := &tokensOutput{}
	out.Body.Items, out.Body.NextCursor = make([]TokenBody, len(tokens)), rest.OrNull(next)
	for i, t := range tokens {
		out.Body.Items[i] = TokenBody{
			ID: t.ID, Name: t.Name, Scopes: t.Scopes, CreatedAt: t.CreatedAt,
			ExpiresAt: rest.OrNull(t.ExpiresAt), LastUsedAt: rest.OrNull(t.LastUsedAt),
		}
	}
	return out, nil
}

func (h *handlers) createToken(ctx context.Context, in *createTokenInput) (*createTokenOutput, error) {
	return createTokenOutputOf(h.svc.CreateToken(ctx, caller(ctx), account.NewToken{
		Name: in.Body.Name, Scopes: in.Body.Scopes, ExpiresAt: in.Body.ExpiresAt,
	}))
}

func createTokenOutputOf(t *account.Token, secret string, err error) (*createTokenOutput, error) {
	if err != nil {
		return nil, err
	}
	out := &createTokenOutput{CacheControl: "no-store"}
	out.Body.ID, out.Body.Token = t.ID, secret
	return out, nil
}

func (h *handlers) deleteToken(ctx context.Context, in *struct{ IDInput }) (*struct{}, error) {
	return nil, h.svc.DeleteToken(ctx, caller(ctx), in.ID)
}

type userTokensInput struct {
	IDInput
	PageInput
}

func (h *handlers) listUserTokens(ctx context.Context, in *userTokensInput) (*tokensOutput, error) {
	if _, err := h.svc.User(ctx, in.ID); err != nil {
		return nil, err
	}
	return tokensOutputOf(h.svc.ListTokens(ctx, &account.Principal{UserID: in.ID}, in.page()))
}

type createUserTokenInput struct {
	IDInput
	Body struct {
		Name      string          `json:"name" doc:"What the token is for"`
		Scopes    []account.Scope `json:"scopes" nullable:"false" doc:"topics:produce, topics:consume or topics:admin; append a colon and a topic name to limit it to that topic" example:"[\"topics:produce:orders\"]"`
		ExpiresAt time.Time       `json:"expires_at,omitempty" doc:"When the token expires; defaults to auth.token_ttl from now"`
	}
}

func (h *handlers) createUserToken(ctx context.Context, in *createUserTokenInput) (*createTokenOutput, error) {
	return createTokenOutputOf(h.svc.CreateUserToken(ctx, in.ID, account.NewToken{
		Name: in.Body.Name, Scopes: in.Body.Scopes, ExpiresAt: in.Body.ExpiresAt,
	}))
}

type userTokenInput struct {
	IDInput
	TokenID int64 `path:"token_id" minimum:"1"`
}

func (h *handlers) deleteUserToken(ctx context.Context, in *userTokenInput) (*struct{}, error) {
	return nil, h.svc.DeleteToken(ctx, &account.Principal{UserID: in.ID}, in.TokenID)
}
