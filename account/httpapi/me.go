package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/account/rest"
)

type updateMeInput struct {
	IfMatchInput
	Body struct {
		Name            *string `json:"name,omitempty"`
		Phone           *string `json:"phone,omitempty"`
		Locale          *string `json:"locale,omitempty"`
		Timezone        *string `json:"timezone,omitempty"`
		Password        *string `json:"password,omitempty" format:"password" doc:"A new password; requires current_password and ends all other sessions"`
		CurrentPassword *string `json:"current_password,omitempty" format:"password"`
		EndTokens       bool    `json:"end_tokens,omitempty" doc:"Whether to revoke all my API tokens"`
		EndFeeds        bool    `json:"end_feeds,omitempty" doc:"Whether to revoke all my calendar feeds"`

		CalendarMails *bool `json:"calendar_mails,omitempty" doc:"Whether my own meetings arrive as mails for my calendar"`

		Away AwayInput `json:"away,omitempty" doc:"My absence and my deputy; null ends the absence"`
	}
}

func (h *handlers) registerMe(api huma.API) {
	huma.Register(api, operation("me", http.MethodGet, "/me", "People", "Get my account"), h.me)
	huma.Register(api, operation("update-me", http.MethodPatch, "/me", "People", "Change my account",
		http.StatusPreconditionFailed, http.StatusUnprocessableEntity, http.StatusTooManyRequests), h.updateMe)
	huma.Register(api, operation("list-deputies", http.MethodGet, "/me/deputies", "People", "List the users who can decide for me while I am away, by name"), h.deputies)
}

// DeputyBody is a user who can decide for another.
type DeputyBody struct {
	ID   int64        `json:"id"`
	Name string       `json:"name"`
	Role account.Role `json:"role" enum:"manager,admin"`
}

type deputiesOutput struct {
	Body struct {
		Items []DeputyBody `json:"items" nullable:"false"`
	}
}

func (h *handlers) deputies(ctx context.Context, _ *struct{}) (*deputiesOutput, error) {
	users, err := h.svc.Deputies(ctx, caller(ctx))
	if err != nil {
		return nil, err
	}
	out := &deputiesOutput{}
	out.Body.Items = make([]DeputyBody, len(users))
	for i, u := range users {
		out.Body.Items[i] = DeputyBody{ID: u.ID, Name: u.Name, Role: u.Role}
	}
	return out, nil
}

// MeBody is the caller's account.
type MeBody struct {
	UserBody
	Groups []GroupName `json:"groups" nullable:"false" doc:"Groups that I am a member of, by name"`
}

type meOutput struct {
	ETag string `header:"ETag"`
	Body MeBody
}

func (h *handlers) outputOfMe(ctx context.Context, u *account.User) (*meOutput, error) {
	groups, err := h.groupsOf(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	return &meOutput{ETag: rest.ETag(u.Version), Body: MeBody{userOf(u), groups}}, nil
}

func (h *handlers) me(ctx context.Context, _ *struct{}) (*meOutput, error) {
	u, err := h.svc.User(ctx, caller(ctx).UserID)
	if err != nil {
		return nil, err
	}
	return h.outputOfMe(ctx, u)
}

func (h *handlers) updateMe(ctx context.Context, in *updateMeInput) (*meOutput, error) {
	b := &in.Body
	u, err := h.svc.UpdateMe(ctx, caller(ctx), rest.IfMatch(in.IfMatch), account.MePatch{
		Name: b.Name, Phone: b.Phone, Locale: b.Locale, Timezone: b.Timezone,
		Password: b.Password, CurrentPassword: b.CurrentPassword, Away: b.Away.away(),
		EndTokens: b.EndTokens, EndFeeds: b.EndFeeds, CalendarMails: b.CalendarMails,
	})
	if err != nil {
		return nil, err
	}
	return h.outputOfMe(ctx, u)
}
