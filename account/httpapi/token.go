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
	Scopes     []account.Scope `json:"scopes,omitempty" doc:"Omitted: all rights of the user"`
	ExpiresAt  *time.Time      `json:"expires_at,omitempty" doc:"Omitted: never"`
	LastUsedAt *time.Time      `json:"last_used_at,omitempty" doc:"Rounded to the minute; omitted: never"`
	CreatedAt  time.Time       `json:"created_at"`
}

type tokensOutput struct {
	Body struct {
		Items      []TokenBody `json:"items" nullable:"false"`
		NextCursor *string     `json:"next_cursor" doc:"For the next page; null on the last"`
	}
}

type createTokenInput struct {
	Body struct {
		Name      string          `json:"name" doc:"What it is for"`
		Scopes    []account.Scope `json:"scopes,omitempty" nullable:"false" doc:"Omitted: all rights of the user"`
		ExpiresAt time.Time       `json:"expires_at,omitempty" doc:"Left out: after auth.token_ttl of the configuration"`
	}
}

type createTokenOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         struct {
		ID    int64  `json:"id"`
		Token string `json:"token" doc:"The secret; returned only here"`
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
	LastUsedAt time.Time `json:"last_used_at" doc:"Rounded to the minute"`
	ExpiresAt  time.Time `json:"expires_at"`
	Current    bool      `json:"current" doc:"Whether this is the session of the caller"`
}

type sessionsOutput struct {
	Body struct {
		Items      []SignInBody `json:"items" nullable:"false"`
		NextCursor *string      `json:"next_cursor" doc:"For the next page; null on the last"`
	}
}

func (h *handlers) listUserSessions(ctx context.Context, in *userTokensInput) (*sessionsOutput, error) {
	tokens, next, err := h.svc.ListSessions(ctx, in.ID, in.page())
	if err != nil {
		return nil, err
	}
	out := &sessionsOutput{}
	out.Body.Items, out.Body.NextCursor = make([]SignInBody, len(tokens)), rest.OrNull(next)
	for i, t := range tokens {
		out.Body.Items[i] = SignInBody{t.ID, t.CreatedAt, t.LastUsedAt, t.ExpiresAt, t.ID == caller(ctx).TokenID}
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
		Name      string          `json:"name" doc:"What it is for"`
		Scopes    []account.Scope `json:"scopes" nullable:"false" doc:"topics:produce, topics:consume or topics:admin; append a colon and a name to limit it to one topic" example:"[\"topics:produce:orders\"]"`
		ExpiresAt time.Time       `json:"expires_at,omitempty" doc:"Left out: after auth.token_ttl of the configuration"`
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
