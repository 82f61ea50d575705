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
	Enroll   bool      `json:"enroll,omitempty" doc:"Whether the session can do nothing but set up two-step verification, which the installation requires"`

	Providers []ProviderBody `json:"providers,omitempty" doc:"Identity providers to sign in with"`
	Passkeys  bool           `json:"passkeys,omitempty" doc:"Whether passkeys can be used here"`
}

// ProviderBody is an identity provider, such as the company's.
type ProviderBody struct {
	Name string `json:"name" doc:"Text of its button"`
	Path string `json:"path" doc:"Address where a browser signs in; ?return=PATH is the page to open afterward" example:"/auth/corp"`
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
	out.Body.Passkeys = h.svc.PasskeyDomain() != ""
	for _, p := range h.options.Providers {
		out.Body.Providers = append(out.Body.Providers, ProviderBody{Name: p.Name, Path: providerPath(p.ID)})
	}
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
	out.Body.SignedIn, out.Body.User, out.Body.Enroll = true, &body, p.MustEnroll()
	return out, nil
}
