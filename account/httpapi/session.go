package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
)

// CurrentSessionBody reports whether the caller is signed in.
type CurrentSessionBody struct {
	SignedIn bool      `json:"signed_in"`
	User     *UserBody `json:"user,omitempty" doc:"The caller; omitted if not signed in"`
}

type currentSessionOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         CurrentSessionBody
}

type secretKey struct{}

func (h *handlers) registerSession(api huma.API) {
	op := operation("session", http.MethodGet, "/auth/session", "People", "Check whether the caller is signed in; unlike GET /me, never answers 401")
	op.Middlewares = huma.Middlewares{func(ctx huma.Context, next func(huma.Context)) {
		next(huma.WithValue(ctx, secretKey{}, Secret(ctx, h.svc)))
	}}
	huma.Register(api, op, h.currentSession)
}

func (h *handlers) currentSession(ctx context.Context, _ *struct{}) (*currentSessionOutput, error) {
	out := &currentSessionOutput{CacheControl: "no-store"}
	secret, _ := ctx.Value(secretKey{}).(string)
	p, err := h.svc.Authenticate(ctx, secret)
	if err == nil {
		err = account.Authorize(p, "me")
	}
	if errors.Is(err, account.ErrUnauthorized) || errors.Is(err, account.ErrForbidden) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	u, err := h.svc.User(ctx, p.UserID)
	if err != nil {
		return nil, err
	}
	body := userOf(u)
	out.Body = CurrentSessionBody{SignedIn: true, User: &body}
	return out, nil
}
