package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"punctual/account"
	"punctual/account/oidc"
)

// Providers serves the sign-in with identity providers to browsers, under /auth/{provider}:
// GET /auth/{provider}?return=/path sends the browser to the provider,
// GET /auth/{provider}/callback signs in and shows the path, and
// POST /auth/{provider}/logout takes a logout token of the provider.
type Providers struct {
	Accounts *account.Service
	List     []*oidc.Provider        // in the order of their buttons
	Admit    func(*gin.Context) bool // false: the request is one too many, and has been answered
	Log      *slog.Logger
}

// CallbackPath returns the path to which a provider sends browsers back.
func CallbackPath(provider string) string { return providerPath(provider) + "/callback" }

// LogoutPath returns the path that takes logout tokens of a provider.
func LogoutPath(provider string) string { return providerPath(provider) + "/logout" }

func providerPath(provider string) string { return "/auth/" + provider }

// Register adds the routes to r.
func (ps *Providers) Register(r *gin.Engine) {
	for _, p := range ps.List {
		admitted := func(handle func(*gin.Context, *oidc.Provider)) gin.HandlerFunc {
			return func(c *gin.Context) {
				if ps.Admit(c) {
					handle(c, p)
				}
			}
		}
		r.GET(providerPath(p.ID), admitted(ps.begin))
		r.GET(CallbackPath(p.ID), admitted(ps.finish))
		r.POST(LogoutPath(p.ID), admitted(ps.signedOut))
	}
}

// attemptTTL is how long people may take to sign in at a provider.
const attemptTTL = 15 * time.Minute

func (ps *Providers) begin(c *gin.Context, p *oidc.Provider) {
	address, attempt, err := p.Begin(ownPath(c.Query("return")))
	if err != nil {
		ps.refuse(c, p, err)
		return
	}
	value, err := json.Marshal(attempt)
	if err != nil {
		ps.refuse(c, p, err)
		return
	}
	ps.setCookie(c, account.AttemptCookie(ps.Accounts.Secure()), base64.RawURLEncoding.EncodeToString(value), time.Now().Add(attemptTTL))
	c.Header("Cache-Control", "no-store")
	c.Redirect(http.StatusSeeOther, address)
}

func (ps *Providers) finish(c *gin.Context, p *oidc.Provider) {
	attempt := ps.attempt(c)
	ps.setCookie(c, account.AttemptCookie(ps.Accounts.Secure()), "", time.Unix(1, 0))
	c.Header("Cache-Control", "no-store")
	id, err := p.Finish(c.Request.Context(), attempt, oidc.Answer{
		State: c.Query("state"), Code: c.Query("code"), Issuer: c.Query("iss"), Fault: c.Query("error"),
	})
	if err != nil {
		ps.refuse(c, p, err)
		return
	}
	from := account.Client{IP: c.ClientIP(), Agent: c.GetHeader("User-Agent")}
	if device, err := c.Cookie(account.DeviceCookie(ps.Accounts.Secure())); err == nil {
		from.Device = device
	}
	in, err := ps.Accounts.LoginWith(c.Request.Context(), id, from)
	if err != nil {
		ps.refuse(c, p, err)
		return
	}
	secure := ps.Accounts.Secure()
	ps.setCookie(c, account.SessionCookie(secure), in.Secret, in.ExpiresAt)
	ps.setCookie(c, account.DeviceCookie(secure), in.Device, time.Now().Add(account.DeviceTTL))
	c.Redirect(http.StatusSeeOther, attempt.Return)
}

// attempt returns the attempt of the browser, or an empty one.
func (ps *Providers) attempt(c *gin.Context) (a oidc.Attempt) {
	value, err := c.Cookie(account.AttemptCookie(ps.Accounts.Secure()))
	if err != nil {
		return oidc.Attempt{}
	}
	text, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || json.Unmarshal(text, &a) != nil {
		return oidc.Attempt{}
	}
	a.Return = ownPath(a.Return)
	return a
}

// refuse shows the sign-in page with the reason.
func (ps *Providers) refuse(c *gin.Context, p *oidc.Provider, err error) {
	reason := "failed"
	for _, known := range []struct {
		err    error
		reason string
	}{
		{oidc.ErrUnknownAttempt, "expired"}, {oidc.ErrDenied, "denied"}, {account.ErrNoAccount, "no_account"},
		{account.ErrUnverifiedEmail, "unverified_email"}, {account.ErrDisabled, "disabled"}, {account.ErrOtherIdentity, "other_identity"},
	} {
		if errors.Is(err, known.err) {
			reason = known.reason
		}
	}
	level := slog.LevelInfo
	if reason == "failed" {
		level = slog.LevelWarn
	}
	ps.Log.Log(c.Request.Context(), level, "sign-in with a provider refused", "provider", p.ID, "reason", reason, "error", err)
	c.Redirect(http.StatusSeeOther, "/?"+url.Values{"sign_in": {reason}, "provider": {p.ID}}.Encode())
}

func (ps *Providers) signedOut(c *gin.Context, p *oidc.Provider) {
	c.Header("Cache-Control", "no-store")
	logout, err := p.SignedOut(c.Request.Context(), c.PostForm("logout_token"))
	if err == nil {
		if err = ps.Accounts.EndSessions(c.Request.Context(), logout); err == nil {
			c.Status(http.StatusOK)
			return
		}
		if !errors.Is(err, account.ErrLogoutRepeated) && !errors.Is(err, account.ErrLogoutTime) {
			ps.Log.ErrorContext(c.Request.Context(), "sessions not ended", "provider", p.ID, "error", err)
			c.Status(http.StatusServiceUnavailable)
			return
		}
	}
	ps.Log.WarnContext(c.Request.Context(), "logout token refused", "provider", p.ID, "error", err)
	c.JSON(http.StatusBadRequest, gin.H{"error": "invalid_request"}) // OpenID Connect Back-Channel Logout 1.0, section 2.8
}

func (ps *Providers) setCookie(c *gin.Context, name, value string, expires time.Time) {
	http.SetCookie(c.Writer, new(cookie(ps.Accounts.Secure(), name, value, expires)))
}

// ownPath returns a path of this page. Everything else becomes "/", so that nobody can send people
// elsewhere after their sign-in.
func ownPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	return path
}
