package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/account/rest"
)

// PasskeyBody is a passkey.
type PasskeyBody struct {
	ID         int64      `json:"id"`
	Name       string     `json:"name"`
	Synced     bool       `json:"synced" doc:"Whether the passkey is copied to the user's other devices"`
	Usable     bool       `json:"usable" doc:"Whether it signs in here; false after the domain of passkeys has changed"`
	LastUsedAt *time.Time `json:"last_used_at" doc:"null if never"`
	CreatedAt  time.Time  `json:"created_at"`
}

// synced is the flag "backup state" of authenticator data (Web Authentication, section 6.1).
const synced = 1 << 4

func (h *handlers) passkey(p *account.Passkey) PasskeyBody {
	return PasskeyBody{
		ID: p.ID, Name: p.Name, Synced: p.Flags&synced != 0, Usable: p.Domain == h.svc.PasskeyDomain(),
		LastUsedAt: rest.OrNull(p.LastUsedAt), CreatedAt: p.CreatedAt,
	}
}

type passkeysOutput struct {
	Body struct {
		Items []PasskeyBody `json:"items" nullable:"false"`
	}
}

type passkeyOutput struct{ Body PasskeyBody }

// passkeyAnswer is a PublicKeyCredential as browsers write it with toJSON (Web Authentication, level 3).
type passkeyAnswer json.RawMessage

func (passkeyAnswer) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

func (a *passkeyAnswer) UnmarshalJSON(b []byte) error { return (*json.RawMessage)(a).UnmarshalJSON(b) }

// passkeyOptions are options as browsers read them with parseRequestOptionsFromJSON or
// parseCreationOptionsFromJSON.
type passkeyOptions json.RawMessage

func (passkeyOptions) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

func (o passkeyOptions) MarshalJSON() ([]byte, error) { return o, nil }

type passkeyOptionsOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         struct {
		Options passkeyOptions `json:"options" doc:"For the browser's PublicKeyCredential.parseRequestOptionsFromJSON or parseCreationOptionsFromJSON; valid for ten minutes, once"`
	}
}

func optionsShown(options json.RawMessage, err error) (*passkeyOptionsOutput, error) {
	if err != nil {
		return nil, err
	}
	out := &passkeyOptionsOutput{CacheControl: "no-store"}
	out.Body.Options = passkeyOptions(options)
	return out, nil
}

type beginPasskeyLoginInput struct {
	Body struct {
		Challenge string `json:"challenge,omitempty" maxLength:"200" doc:"From the problem second_factor_required, to confirm that sign-in; omitted to sign in without a password"`
	}
}

type passkeyLoginInput struct {
	Body struct {
		Credential passkeyAnswer `json:"credential" doc:"The browser's response, as returned by its toJSON"`
	}
}

type beginPasskeyInput struct {
	Body struct {
		CurrentPassword string `json:"current_password,omitempty" format:"password" doc:"Required ten minutes after the sign-in"`
	}
}

type addPasskeyInput struct {
	Body struct {
		Name       string        `json:"name,omitempty" maxLength:"200" doc:"Defaults to the name of the device or program that holds it"`
		Credential passkeyAnswer `json:"credential" doc:"The browser's response, as returned by its toJSON"`
	}
}

type renamePasskeyInput struct {
	IDInput
	Body struct {
		Name string `json:"name" maxLength:"200"`
	}
}

type userPasskeyInput struct {
	IDInput
	PasskeyID int64 `path:"passkey_id" minimum:"1"`
}

func (h *handlers) registerPasskeys(api huma.API) {
	begin := operation("begin-passkey-login", http.MethodPost, "/auth/passkey/options", "People", "Get the options to sign in, or to confirm a sign-in, with a passkey",
		http.StatusUnauthorized, http.StatusUnprocessableEntity, http.StatusTooManyRequests)
	begin.Middlewares = huma.Middlewares{h.noteClient}
	huma.Register(api, begin, h.beginPasskeyLogin)
	login := operation("passkey-login", http.MethodPost, "/auth/passkey", "People", "Sign in with a passkey",
		http.StatusUnauthorized, http.StatusUnprocessableEntity, http.StatusTooManyRequests)
	login.Middlewares = huma.Middlewares{h.noteClient}
	huma.Register(api, login, h.passkeyLogin)

	huma.Register(api, operation("list-my-passkeys", http.MethodGet, "/me/passkeys", "People", "List my passkeys"), h.listMyPasskeys)
	huma.Register(api, operation("begin-passkey", http.MethodPost, "/me/passkeys/options", "People", "Get the options to add a passkey",
		http.StatusUnprocessableEntity, http.StatusTooManyRequests), h.beginPasskey)
	add := operation("add-passkey", http.MethodPost, "/me/passkeys", "People", "Add a passkey", http.StatusUnprocessableEntity)
	add.DefaultStatus = http.StatusCreated
	huma.Register(api, add, h.addPasskey)
	huma.Register(api, operation("rename-passkey", http.MethodPatch, "/me/passkeys/{id}", "People", "Rename a passkey",
		http.StatusNotFound, http.StatusUnprocessableEntity), h.renamePasskey)
	remove := operation("remove-passkey", http.MethodDelete, "/me/passkeys/{id}", "People", "Remove a passkey",
		http.StatusNotFound, http.StatusUnprocessableEntity)
	remove.DefaultStatus = http.StatusNoContent
	huma.Register(api, remove, h.removePasskey)

	huma.Register(api, operation("list-user-passkeys", http.MethodGet, "/users/{id}/passkeys", "People", "List the passkeys of a user", http.StatusNotFound), h.listUserPasskeys)
	remove = operation("remove-user-passkey", http.MethodDelete, "/users/{id}/passkeys/{passkey_id}", "People", "Remove a passkey of a user, and end the user's sessions", http.StatusNotFound)
	remove.DefaultStatus = http.StatusNoContent
	huma.Register(api, remove, h.removeUserPasskey)
}

func (h *handlers) beginPasskeyLogin(ctx context.Context, in *beginPasskeyLoginInput) (*passkeyOptionsOutput, error) {
	return optionsShown(h.svc.BeginPasskeyLogin(ctx, in.Body.Challenge, client(ctx)))
}

func (h *handlers) passkeyLogin(ctx context.Context, in *passkeyLoginInput) (*sessionOutput, error) {
	s, err := h.svc.LoginWithPasskey(ctx, in.Body.Credential, client(ctx))
	if err != nil {
		return nil, err
	}
	return h.session(s), nil
}

func (h *handlers) listMyPasskeys(ctx context.Context, _ *struct{}) (*passkeysOutput, error) {
	return h.passkeys(ctx, caller(ctx).UserID)
}

func (h *handlers) listUserPasskeys(ctx context.Context, in *struct{ IDInput }) (*passkeysOutput, error) {
	return h.passkeys(ctx, in.ID)
}

func (h *handlers) passkeys(ctx context.Context, userID int64) (*passkeysOutput, error) {
	list, err := h.svc.Passkeys(ctx, userID)
	if err != nil {
		return nil, err
	}
	out := &passkeysOutput{}
	out.Body.Items = make([]PasskeyBody, len(list))
	for i, p := range list {
		out.Body.Items[i] = h.passkey(p)
	}
	return out, nil
}

func (h *handlers) beginPasskey(ctx context.Context, in *beginPasskeyInput) (*passkeyOptionsOutput, error) {
	return optionsShown(h.svc.BeginPasskey(ctx, caller(ctx), in.Body.CurrentPassword))
}

func (h *handlers) addPasskey(ctx context.Context, in *addPasskeyInput) (*passkeyOutput, error) {
	p, err := h.svc.AddPasskey(ctx, caller(ctx), in.Body.Name, in.Body.Credential)
	if err != nil {
		return nil, err
	}
	return &passkeyOutput{h.passkey(p)}, nil
}

func (h *handlers) renamePasskey(ctx context.Context, in *renamePasskeyInput) (*passkeyOutput, error) {
	p, err := h.svc.RenamePasskey(ctx, caller(ctx), in.ID, in.Body.Name)
	if err != nil {
		return nil, err
	}
	return &passkeyOutput{h.passkey(p)}, nil
}

func (h *handlers) removePasskey(ctx context.Context, in *struct{ IDInput }) (*struct{}, error) {
	return nil, h.svc.RemovePasskey(ctx, caller(ctx), in.ID)
}

func (h *handlers) removeUserPasskey(ctx context.Context, in *userPasskeyInput) (*struct{}, error) {
	return nil, h.svc.RemoveUserPasskey(ctx, in.ID, in.PasskeyID)
}
