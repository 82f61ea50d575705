package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
)

type loginInput struct {
	Body struct {
		Email    string `json:"email"`
		Password string `json:"password" format:"password"`
	}
}

type setupInput struct {
	Body struct {
		Token    string `json:"token" doc:"Token from the one-time link that is printed on first start"`
		Email    string `json:"email"`
		Name     string `json:"name"`
		Password string `json:"password" format:"password"`
		Locale   string `json:"locale,omitempty"`
		Timezone string `json:"timezone,omitempty" doc:"IANA time zone name; defaults to the installation's time zone"`
	}
}

// SessionBody is a new session.
type SessionBody struct {
	Token     string    `json:"token" doc:"Bearer token for the Authorization header"`
	ExpiresAt time.Time `json:"expires_at"`
	User      UserBody  `json:"user"`
	Enroll    bool      `json:"enroll,omitempty" doc:"Whether the session can do nothing but set up two-step verification, which the installation requires"`
}

type sessionOutput struct {
	SetCookie    []http.Cookie `header:"Set-Cookie"`
	CacheControl string        `header:"Cache-Control"`
	Body         SessionBody
}

type logoutOutput struct {
	SetCookie http.Cookie `header:"Set-Cookie"`
}

func (h *handlers) registerSignIn(api huma.API) {
	login := operation("login", http.MethodPost, "/auth/login", "People", "Sign in with a password; if the user has two-step verification, answers second_factor_required with a challenge for /auth/login/confirm",
		http.StatusUnauthorized, http.StatusUnprocessableEntity, http.StatusTooManyRequests)
	login.Middlewares = huma.Middlewares{h.noteClient}
	huma.Register(api, login, h.login)

	logout := operation("logout", http.MethodPost, "/auth/logout", "People", "Sign out")
	logout.DefaultStatus = http.StatusNoContent
	huma.Register(api, logout, h.logout)

	setup := operation("setup", http.MethodPost, "/setup", "People", "Create the first admin with the one-time link",
		http.StatusUnauthorized, http.StatusUnprocessableEntity, http.StatusTooManyRequests)
	setup.DefaultStatus = http.StatusCreated
	setup.Middlewares = huma.Middlewares{h.noteClient}
	huma.Register(api, setup, h.setup)
}

type clientKey struct{}

func (h *handlers) noteClient(ctx huma.Context, next func(huma.Context)) {
	from := account.Client{IP: h.options.ClientIP(ctx), Agent: ctx.Header("User-Agent")}
	if marks := cookies(ctx, account.DeviceCookie(h.svc.Secure())); len(marks) > 0 {
		from.Device = marks[0]
	}
	next(huma.WithValue(ctx, clientKey{}, from))
}

func client(ctx context.Context) account.Client {
	from, _ := ctx.Value(clientKey{}).(account.Client)
	return from
}

func (h *handlers) login(ctx context.Context, in *loginInput) (*sessionOutput, error) {
	s, err := h.svc.Login(ctx, in.Body.Email, in.Body.Password, client(ctx))
	if err != nil {
		return nil, err
	}
	return h.session(s), nil
}

func (h *handlers) setup(ctx context.Context, in *setupInput) (*sessionOutput, error) {
	b := &in.Body
	s, err := h.svc.Setup(ctx, b.Token, account.NewUser{Email: b.Email, Name: b.Name, Password: b.Password, Locale: b.Locale, Timezone: b.Timezone}, client(ctx))
	if err != nil {
		return nil, err
	}
	return h.session(s), nil
}

func (h *handlers) logout(ctx context.Context, _ *struct{}) (*logoutOutput, error) {
	if err := h.svc.Logout(ctx, caller(ctx)); err != nil {
		return nil, err
	}
	return &logoutOutput{SetCookie: cookie(h.svc.Secure(), account.SessionCookie(h.svc.Secure()), "", time.Unix(1, 0))}, nil
}

func (h *handlers) session(s *account.SignIn) *sessionOutput {
	secure := h.svc.Secure()
	return &sessionOutput{
		SetCookie: []http.Cookie{
			cookie(secure, account.SessionCookie(secure), s.Secret, s.ExpiresAt),
			cookie(secure, account.DeviceCookie(secure), s.Device, time.Now().Add(account.DeviceTTL)),
		},
		CacheControl: "no-store",
		Body:         SessionBody{Token: s.Secret, ExpiresAt: s.ExpiresAt, User: userOf(s.User), Enroll: s.Enroll},
	}
}

// cookie returns a cookie that scripts cannot read and that other sites cannot send, except by a
// link to us.
func cookie(secure bool, name, value string, expires time.Time) http.Cookie {
	return http.Cookie{
		Name: name, Value: value, Path: "/", Expires: expires.UTC(),
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode,
	}
}
