package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
)

type requestResetInput struct {
	Body struct {
		Email string `json:"email" maxLength:"320"`
	}
}

type linkInput struct {
	Body struct {
		Token string `json:"token" maxLength:"200" doc:"Token from the link in the email"`
	}
}

// LinkBody is a link by which a user chooses a password.
type LinkBody struct {
	Kind      account.LinkKind `json:"kind" enum:"invitation,reset"`
	ExpiresAt time.Time        `json:"expires_at"`
	Email     string           `json:"email"`
	Name      string           `json:"name"`
	Locale    string           `json:"locale"`
	Timezone  string           `json:"timezone"`
}

type linkOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         LinkBody
}

type confirmResetInput struct {
	Body struct {
		Token     string  `json:"token" maxLength:"200" doc:"Token from the link in the email"`
		Password  string  `json:"password" format:"password" doc:"The new password; ends all sessions of the user"`
		Name      *string `json:"name,omitempty"`
		Locale    *string `json:"locale,omitempty"`
		Timezone  *string `json:"timezone,omitempty"`
		EndTokens bool    `json:"end_tokens,omitempty" doc:"Whether to revoke all API tokens of the user"`
		EndFeeds  bool    `json:"end_feeds,omitempty" doc:"Whether to revoke all calendar feeds of the user"`
		EndKeys   bool    `json:"end_passkeys,omitempty" doc:"Whether to remove all passkeys of the user"`
	}
}

func (h *handlers) registerPasswordReset(api huma.API) {
	request := operation("request-password-reset", http.MethodPost, "/auth/password-reset", "People",
		"Email a link to choose a new password; answers 202 whether or not the address belongs to a user",
		http.StatusUnprocessableEntity, http.StatusTooManyRequests)
	request.DefaultStatus = http.StatusAccepted
	request.Middlewares = huma.Middlewares{h.noteClient}
	huma.Register(api, request, h.requestReset)

	check := operation("check-password-link", http.MethodPost, "/auth/password-reset/check", "People",
		"Check the link of an invitation or a password reset, without using it",
		http.StatusUnauthorized, http.StatusUnprocessableEntity, http.StatusTooManyRequests)
	check.Middlewares = huma.Middlewares{h.noteClient}
	huma.Register(api, check, h.checkLink)

	confirm := operation("confirm-password-reset", http.MethodPost, "/auth/password-reset/confirm", "People",
		"Choose a password with the link of an invitation or a password reset, and sign in",
		http.StatusUnauthorized, http.StatusUnprocessableEntity, http.StatusTooManyRequests)
	confirm.Middlewares = huma.Middlewares{h.noteClient}
	huma.Register(api, confirm, h.confirmReset)
}

func (h *handlers) requestReset(ctx context.Context, in *requestResetInput) (*struct{}, error) {
	return nil, h.svc.RequestReset(ctx, in.Body.Email, client(ctx))
}

func (h *handlers) checkLink(ctx context.Context, in *linkInput) (*linkOutput, error) {
	l, u, err := h.svc.CheckLink(ctx, in.Body.Token, client(ctx))
	if err != nil {
		return nil, err
	}
	return &linkOutput{CacheControl: "no-store", Body: LinkBody{
		Kind: l.Kind, ExpiresAt: l.ExpiresAt, Email: u.Email, Name: u.Name, Locale: u.Locale, Timezone: u.Timezone,
	}}, nil
}

func (h *handlers) confirmReset(ctx context.Context, in *confirmResetInput) (*sessionOutput, error) {
	b := &in.Body
	s, err := h.svc.UseLink(ctx, b.Token, account.Choice{
		Password: b.Password, Name: b.Name, Locale: b.Locale, Timezone: b.Timezone, EndTokens: b.EndTokens, EndFeeds: b.EndFeeds, EndPasskeys: b.EndKeys,
	}, client(ctx))
	if err != nil {
		return nil, err
	}
	return h.session(s), nil
}
