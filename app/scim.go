package app

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"punctual/account"
	"punctual/account/scim"
	"punctual/app/leaving"
	"punctual/app/problem"
	"punctual/meeting"
)

// registerSCIM adds the users and groups for directories of people. Without a token with the scope scim,
// nobody can read or write anything.
func (a *Application) registerSCIM(r *gin.Engine) {
	server := &scim.Server{
		Accounts: a.accounts, Base: strings.TrimSuffix(a.config.HTTP.BaseURL, "/") + scim.Root, Leave: a.leaveByDirectory, Log: a.log,
	}
	serve := func(c *gin.Context) {
		p := a.directoryToken(c)
		if p == nil {
			return
		}
		ctx := account.WithPrincipal(c.Request.Context(), p)
		refuse := func(p *problem.Problem) { refuseSCIM(c, p) }
		a.limits.ofToken(c.Request.WithContext(ctx), p, false, refuse, func(r *http.Request) { server.ServeHTTP(c.Writer, r) })
	}
	for _, method := range scim.Methods {
		r.Handle(method, scim.Root+"*path", serve)
	}
}

func refuseSCIM(c *gin.Context, p *problem.Problem) {
	for k, v := range p.GetHeaders() {
		if k != "Content-Type" {
			c.Header(k, v[0])
		}
	}
	scim.Refuse(c.Writer, p.Status, p.Title)
}

// directoryToken returns the principal of a request's token, or answers it and returns nil. Browsers add
// no token on their own, so no other site can make them send such requests.
func (a *Application) directoryToken(c *gin.Context) *account.Principal {
	ctx, networks := c.Request.Context(), account.Networks(c.ClientIP())
	scheme, secret, _ := strings.Cut(c.GetHeader("Authorization"), " ")
	secret = strings.TrimSpace(secret)
	if !strings.EqualFold(scheme, "Bearer") || secret == "" {
		if a.limits.admit(c, networks) {
			refuseToken(c)
		}
		return nil
	}
	hash := sha256.Sum256([]byte(secret))
	known := a.limits.known.has(hash)
	if !known {
		if ok, after := a.limits.refused.Allow(ctx, networks[0]); !ok {
			refuseSCIM(c, tooMany("Too many refused requests from this address", after))
			return nil
		}
	}
	p, err := a.accounts.Authenticate(ctx, secret)
	if err == nil {
		err = account.Authorize(p, "scim")
	}
	switch {
	case err == nil:
		if !known {
			a.limits.refused.Forgive(ctx, networks[0])
			a.limits.known.add(hash)
		}
		return p
	case errors.Is(err, account.ErrForbidden):
		scim.Refuse(c.Writer, http.StatusForbidden, "The token does not have the scope scim.")
	case errors.Is(err, account.ErrUnauthorized):
		a.limits.known.remove(hash)
		refuseToken(c)
	default:
		p := problem.Of(err)
		scim.Refuse(c.Writer, p.Status, p.Title)
	}
	return nil
}

func refuseToken(c *gin.Context) {
	c.Header("WWW-Authenticate", `Bearer realm="punctual"`)
	scim.Refuse(c.Writer, http.StatusUnauthorized, "A token with the scope scim is required.")
}

// leaveByDirectory takes leave of a user whom a directory deletes, as auth.scim says.
func (a *Application) leaveByDirectory(ctx context.Context, userID int64) error {
	settings := a.latest.Load().Auth.SCIM
	plan := leaving.Plan{Meetings: leaving.Choice(settings.Meetings)}
	if plan.Meetings == leaving.HandOver {
		to, err := a.accounts.UserByEmail(ctx, settings.HandOverTo)
		switch {
		case errors.Is(err, account.ErrNotFound), err == nil && (!to.Active() || to.ID == userID):
			a.log.Warn("auth.scim.hand_over_to must be another active user, meetings kept", "user_id", userID)
			plan.Meetings = leaving.Keep
		case err != nil:
			return err
		default:
			plan.ToUserID = to.ID
		}
	}
	by, _ := account.FromContext(ctx)
	_, err := a.leaving.Leave(ctx, leaving.Admin{ID: by.UserID, Name: by.Name}, userID, plan)
	if _, running := errors.AsType[*meeting.StateError](err); running { // the user is leaving already
		return nil
	}
	if err != nil {
		return fmt.Errorf("leave by directory: %w", err)
	}
	return nil
}
