package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/account/fault"
	"punctual/account/rest"
)

// UserBody is a user.
type UserBody struct {
	ID            int64        `json:"id"`
	Email         string       `json:"email"`
	Name          string       `json:"name"`
	Role          account.Role `json:"role" enum:"member,manager,admin"`
	Phone         string       `json:"phone"`
	Locale        string       `json:"locale" doc:"BCP 47 language tag"`
	Timezone      string       `json:"timezone" doc:"IANA time zone name"`
	Disabled      bool         `json:"disabled"`
	Invited       *time.Time   `json:"invited_until" doc:"When the link in the user's invitation expires or has expired; null without an open invitation"`
	Away          *AwayBody    `json:"away" doc:"Current or planned absence; null if there is none"`
	CalendarMails bool         `json:"calendar_mails" doc:"Whether the meetings that the user organizes arrive as mails for their calendar"`
	ActsFor       []Principal  `json:"acts_for" nullable:"false" doc:"Users for whom the user acts as delegate; for their names see /me/principals"`
	Version       int64        `json:"version"`
	CreatedAt     time.Time    `json:"created_at"`
	UpdatedAt     time.Time    `json:"updated_at"`
}

// Principal is a user for whom another user acts as delegate.
type Principal struct {
	ID      int64 `json:"id"`
	Private bool  `json:"private" doc:"Whether private meetings are included"`
}

func userOf(u *account.User) UserBody {
	acts := make([]Principal, len(u.ActsFor))
	for i, a := range u.ActsFor {
		acts[i] = Principal{ID: a.UserID, Private: a.Private}
	}
	return UserBody{
		ID: u.ID, Email: u.Email, Name: u.Name, Role: u.Role, Phone: u.Phone, Locale: u.Locale, Timezone: u.Timezone,
		Disabled: !u.Active(), Invited: rest.OrNull(u.InvitedUntil), Away: awayOf(u.Away), CalendarMails: u.CalendarMails, ActsFor: acts, Version: u.Version, CreatedAt: u.CreatedAt, UpdatedAt: u.UpdatedAt,
	}
}

type userOutput struct {
	ETag string `header:"ETag"`
	Body UserBody
}

func outputOfUser(u *account.User) *userOutput {
	return &userOutput{ETag: rest.ETag(u.Version), Body: userOf(u)}
}

type usersOutput struct {
	Body struct {
		Items      []UserBody `json:"items" nullable:"false"`
		NextCursor *string    `json:"next_cursor" doc:"Cursor of the next page; null on the last page"`
	}
}

type createUserInput struct {
	Body struct {
		Email    string    `json:"email"`
		Name     string    `json:"name,omitempty" doc:"Required, except with invite: the invited person can change it"`
		Role     roleInput `json:"role"`
		Invite   bool      `json:"invite,omitempty" doc:"Whether to email the user a link, valid for 7 days, to choose a password; not together with password"`
		Password string    `json:"password,omitempty" format:"password" doc:"At least 8 characters, and not a common password, a sequence, or the user's name or address. If omitted, the user cannot sign in with a password"`
		Phone    string    `json:"phone,omitempty" doc:"International format, such as +4930123"`
		Locale   string    `json:"locale,omitempty" doc:"BCP 47 language tag; defaults to en"`
		Timezone string    `json:"timezone,omitempty" doc:"IANA time zone name; defaults to the installation's time zone"`
	}
}

type createUserOutput struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     UserBody
}

type updateUserInput struct {
	IDInput
	IfMatchInput
	Body struct {
		Email     *string    `json:"email,omitempty"`
		Name      *string    `json:"name,omitempty"`
		Role      *roleInput `json:"role,omitempty"`
		Password  *string    `json:"password,omitempty" format:"password" doc:"A new password, or an empty string to disable sign-in with a password. Ends the user's sessions, and also tokens, feeds and passkeys unless end_tokens, end_feeds or end_passkeys is false"`
		EndTokens *bool      `json:"end_tokens,omitempty" doc:"Whether to revoke the user's API tokens; defaults to true if password is set"`
		EndFeeds  *bool      `json:"end_feeds,omitempty" doc:"Whether to revoke the user's calendar feeds; defaults to true if password is set"`
		EndKeys   *bool      `json:"end_passkeys,omitempty" doc:"Whether to remove the user's passkeys; defaults to true if password is set"`
		Phone     *string    `json:"phone,omitempty"`
		Locale    *string    `json:"locale,omitempty"`
		Timezone  *string    `json:"timezone,omitempty"`
		Disabled  *bool      `json:"disabled,omitempty" doc:"Whether the user is disabled; true ends all sessions and revokes all tokens for good"`
		Away      AwayInput  `json:"away,omitempty" doc:"The user's absence and deputy; null ends the absence"`
	}
}

// roleInput documents its values but leaves the check to the service, which reports all faults of
// a request at once. An enum in the schema would stop at the first.
type roleInput account.Role

func (roleInput) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Extensions: map[string]any{"enum": account.Roles}}
}

func (h *handlers) registerUsers(api huma.API) {
	huma.Register(api, operation("list-users", http.MethodGet, "/users", "People", "List users",
		http.StatusUnprocessableEntity), h.listUsers)
	create := operation("create-user", http.MethodPost, "/users", "People", "Add a user", http.StatusUnprocessableEntity)
	create.DefaultStatus = http.StatusCreated
	huma.Register(api, create, h.createUser)
	invite := operation("invite-user", http.MethodPost, "/users/{id}/invite", "People", "Email a user without a password a new link to choose one; ends earlier links",
		http.StatusNotFound, http.StatusUnprocessableEntity)
	huma.Register(api, invite, h.inviteUser)
	huma.Register(api, operation("get-user", http.MethodGet, "/users/{id}", "People", "Get a user", http.StatusNotFound), h.user)
	huma.Register(api, operation("update-user", http.MethodPatch, "/users/{id}", "People", "Change or disable a user",
		http.StatusNotFound, http.StatusPreconditionFailed, http.StatusUnprocessableEntity), h.updateUser)
}

func (h *handlers) listUsers(ctx context.Context, in *struct {
	PageInput
	Q string `query:"q" maxLength:"200" doc:"Part of a name or an address"`
}) (*usersOutput, error) {
	users, next, err := h.svc.FindUsers(ctx, in.Q, in.page())
	if err != nil {
		return nil, err
	}
	out := &usersOutput{}
	out.Body.Items, out.Body.NextCursor = make([]UserBody, len(users)), rest.OrNull(next)
	for i, u := range users {
		out.Body.Items[i] = userOf(u)
	}
	return out, nil
}

func (h *handlers) createUser(ctx context.Context, in *createUserInput) (*createUserOutput, error) {
	b := &in.Body
	create := h.svc.CreateUser
	if b.Invite {
		create = h.svc.Invite
	}
	if b.Invite && b.Password != "" {
		return nil, fault.Invalid("body.password", "contradiction", "must be omitted with invite: the invited person chooses one")
	}
	u, err := create(ctx, account.NewUser{
		Email: b.Email, Name: b.Name, Role: account.Role(b.Role), Password: b.Password, Phone: b.Phone, Locale: b.Locale, Timezone: b.Timezone,
	})
	if err != nil {
		return nil, err
	}
	return &createUserOutput{Location: fmt.Sprintf("%s/users/%d", h.base, u.ID), ETag: rest.ETag(u.Version), Body: userOf(u)}, nil
}

func (h *handlers) user(ctx context.Context, in *struct{ IDInput }) (*userOutput, error) {
	u, err := h.svc.User(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return outputOfUser(u), nil
}

func (h *handlers) inviteUser(ctx context.Context, in *struct{ IDInput }) (*userOutput, error) {
	u, err := h.svc.InviteAgain(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return outputOfUser(u), nil
}

func (h *handlers) updateUser(ctx context.Context, in *updateUserInput) (*userOutput, error) {
	b := &in.Body
	u, err := h.svc.UpdateUser(ctx, in.ID, rest.IfMatch(in.IfMatch), account.UserPatch{
		Email: b.Email, Name: b.Name, Role: (*account.Role)(b.Role), Password: b.Password,
		Phone: b.Phone, Locale: b.Locale, Timezone: b.Timezone, Disabled: b.Disabled, Away: b.Away.away(),
		EndTokens: b.EndTokens, EndFeeds: b.EndFeeds, EndPasskeys: b.EndKeys,
	})
	if err != nil {
		return nil, err
	}
	return outputOfUser(u), nil
}
