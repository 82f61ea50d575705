package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/account/fault"
	"punctual/account/rest"
)

// SecondFactorBody says whether sign-ins of a user need a code.
type SecondFactorBody struct {
	Enabled       bool                     `json:"enabled" doc:"Whether sign-ins with a password need a code of an authenticator app"`
	EnabledAt     *time.Time               `json:"enabled_at" doc:"null if it is off"`
	RecoveryCodes int                      `json:"recovery_codes" doc:"Number of unused recovery codes"`
	Mode          account.SecondFactorMode `json:"mode" enum:"optional,required,off" doc:"The installation's auth.second_factor"`
}

type secondFactorOutput struct{ Body SecondFactorBody }

// EnrollmentBody is a new secret for an authenticator app.
type EnrollmentBody struct {
	Secret string `json:"secret" doc:"Secret to type into the app, in base32"`
	URI    string `json:"uri" doc:"otpauth address, which apps read as a QR code" example:"otpauth://totp/Punctual:ada@example.org?..."`
}

type enrollmentOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         EnrollmentBody
}

type codeInput struct {
	Body struct {
		Code string `json:"code" maxLength:"100" doc:"Current code of the app"`
	}
}

type bothInput struct {
	Body struct {
		CurrentPassword string `json:"current_password" format:"password"`
		Code            string `json:"code" maxLength:"100" doc:"Current code of the app, or a recovery code"`
	}
}

type recoveryCodesOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         struct {
		RecoveryCodes []string `json:"recovery_codes" nullable:"false" doc:"Recovery codes, each usable once instead of a code; returned only once"`
	}
}

type confirmLoginInput struct {
	Body struct {
		Challenge string        `json:"challenge" maxLength:"200" doc:"From the problem second_factor_required; valid for five minutes"`
		Code      string        `json:"code,omitempty" maxLength:"100" doc:"Current code of the app, or a recovery code; each is accepted once"`
		Passkey   passkeyAnswer `json:"passkey,omitempty" doc:"Instead of a code: the browser's answer to the options of POST /auth/passkey/options"`
	}
}

func (h *handlers) registerSecondFactor(api huma.API) {
	confirm := operation("confirm-login", http.MethodPost, "/auth/login/confirm", "People", "Finish a sign-in with a code or a passkey",
		http.StatusUnauthorized, http.StatusUnprocessableEntity, http.StatusTooManyRequests)
	confirm.Middlewares = huma.Middlewares{h.noteClient}
	huma.Register(api, confirm, h.confirmLogin)

	huma.Register(api, operation("get-second-factor", http.MethodGet, "/me/second-factor", "People", "Get my two-step verification"), h.mySecondFactor)
	huma.Register(api, operation("enroll-second-factor", http.MethodPost, "/me/second-factor", "People",
		"Get a secret for an authenticator app; replaces one that is not confirmed", http.StatusUnprocessableEntity), h.enroll)
	huma.Register(api, operation("confirm-second-factor", http.MethodPost, "/me/second-factor/confirm", "People",
		"Turn two-step verification on with a code of the app, and get recovery codes", http.StatusUnprocessableEntity), h.confirmSecondFactor)
	renew := operation("renew-recovery-codes", http.MethodPost, "/me/second-factor/recovery-codes", "People",
		"Replace my recovery codes", http.StatusUnprocessableEntity, http.StatusTooManyRequests)
	renew.Middlewares = huma.Middlewares{h.noteClient}
	huma.Register(api, renew, h.renewRecoveryCodes)
	disable := operation("disable-second-factor", http.MethodPost, "/me/second-factor/disable", "People",
		"Turn two-step verification off", http.StatusUnprocessableEntity, http.StatusTooManyRequests)
	disable.DefaultStatus = http.StatusNoContent
	disable.Middlewares = huma.Middlewares{h.noteClient}
	huma.Register(api, disable, h.disableSecondFactor)

	huma.Register(api, operation("get-user-second-factor", http.MethodGet, "/users/{id}/second-factor", "People",
		"Get the two-step verification of a user", http.StatusNotFound), h.userSecondFactor)
	reset := operation("reset-second-factor", http.MethodDelete, "/users/{id}/second-factor", "People",
		"Turn off the two-step verification of a user who has lost the app, and end the user's sessions", http.StatusNotFound)
	reset.DefaultStatus = http.StatusNoContent
	huma.Register(api, reset, h.resetSecondFactor)
}

func (h *handlers) confirmLogin(ctx context.Context, in *confirmLoginInput) (*sessionOutput, error) {
	confirm := func() (*account.SignIn, error) {
		return h.svc.LoginWithCode(ctx, in.Body.Challenge, in.Body.Code, client(ctx))
	}
	if in.Body.Passkey != nil {
		if in.Body.Code != "" {
			return nil, fault.Invalid("body.passkey", "contradiction", "must be omitted with a code")
		}
		confirm = func() (*account.SignIn, error) {
			return h.svc.ConfirmWithPasskey(ctx, in.Body.Challenge, in.Body.Passkey, client(ctx))
		}
	}
	s, err := confirm()
	if err != nil {
		return nil, err
	}
	return h.session(s), nil
}

func (h *handlers) secondFactor(ctx context.Context, userID int64) (*secondFactorOutput, error) {
	f, err := h.svc.SecondFactor(ctx, userID)
	if err != nil {
		return nil, err
	}
	out := &secondFactorOutput{Body: SecondFactorBody{Mode: h.svc.SecondFactorMode()}}
	if f.Enabled() {
		out.Body.Enabled, out.Body.EnabledAt, out.Body.RecoveryCodes = true, rest.OrNull(f.ConfirmedAt), len(f.RecoveryCodes)
	}
	return out, nil
}

func (h *handlers) mySecondFactor(ctx context.Context, _ *struct{}) (*secondFactorOutput, error) {
	return h.secondFactor(ctx, caller(ctx).UserID)
}

func (h *handlers) userSecondFactor(ctx context.Context, in *struct{ IDInput }) (*secondFactorOutput, error) {
	if _, err := h.svc.User(ctx, in.ID); err != nil {
		return nil, err
	}
	return h.secondFactor(ctx, in.ID)
}

func (h *handlers) enroll(ctx context.Context, _ *struct{}) (*enrollmentOutput, error) {
	secret, uri, err := h.svc.Enroll(ctx, caller(ctx))
	if err != nil {
		return nil, err
	}
	return &enrollmentOutput{CacheControl: "no-store", Body: EnrollmentBody{Secret: secret, URI: uri}}, nil
}

func (h *handlers) confirmSecondFactor(ctx context.Context, in *codeInput) (*recoveryCodesOutput, error) {
	return codesShown(h.svc.ConfirmSecondFactor(ctx, caller(ctx), in.Body.Code))
}

func (h *handlers) renewRecoveryCodes(ctx context.Context, in *bothInput) (*recoveryCodesOutput, error) {
	return codesShown(h.svc.RenewRecoveryCodes(ctx, caller(ctx), in.Body.CurrentPassword, in.Body.Code, client(ctx)))
}

func codesShown(codes []string, err error) (*recoveryCodesOutput, error) {
	if err != nil {
		return nil, err
	}
	out := &recoveryCodesOutput{CacheControl: "no-store"}
	out.Body.RecoveryCodes = codes
	return out, nil
}

func (h *handlers) disableSecondFactor(ctx context.Context, in *bothInput) (*struct{}, error) {
	return nil, h.svc.DisableSecondFactor(ctx, caller(ctx), in.Body.CurrentPassword, in.Body.Code, client(ctx))
}

func (h *handlers) resetSecondFactor(ctx context.Context, in *struct{ IDInput }) (*struct{}, error) {
	return nil, h.svc.ResetSecondFactor(ctx, in.ID)
}
