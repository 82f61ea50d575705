package app

import (
	"context"
	"crypto/subtle"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"

	"punctual/account"
	"punctual/app/config"
	"punctual/app/database"
	"punctual/app/problem"
	"punctual/meeting/mailroom"
	"punctual/notify"
	"punctual/notify/bounce"
)

// refusedRecipient marks an address that the mail server refused. Nothing is sent before a.bounces is set.
func (a *Application) refusedRecipient(ctx context.Context, address, reply, messageID string) {
	a.bounces.Refused(ctx, address, reply, messageID)
}

// bouncer implements [mailroom.Bouncer].
type bouncer struct{ *notify.Bounces }

var _ mailroom.Bouncer = bouncer{}

// Gone implements [mailroom.Bouncer].
func (bouncer) Gone(status string) bool { return notify.AddressGone(status) }

// maxEvents is the size of a request with events of a mail provider.
const maxEvents = 1 << 20

// registerEmailCallbacks adds the address to which the mail provider posts bounces and complaints.
func (a *Application) registerEmailCallbacks(r *gin.Engine) {
	r.POST(config.EmailCallbacks+":secret", func(c *gin.Context) {
		settings := a.latest.Load().Email.Events
		if settings.Provider == "" {
			problem.Write(c, problem.OfStatus(http.StatusNotFound, "email.events is not configured.", nil))
			return
		}
		if subtle.ConstantTimeCompare([]byte(settings.Secret), []byte(c.Param("secret"))) != 1 {
			if a.limits.admit(c, account.Networks(c.ClientIP())) {
				problem.Write(c, problem.OfStatus(http.StatusForbidden, "The address is invalid.", nil))
			}
			return
		}
		body, err := io.ReadAll(c.Request.Body)
		if err != nil {
			p := problem.TooLarge(err)
			if p == nil {
				p = problem.OfStatus(http.StatusBadRequest, "The request could not be read.", nil)
			}
			problem.Write(c, p)
			return
		}
		events, confirm, err := bounce.Read(settings.Provider, body)
		if err != nil {
			problem.Write(c, problem.OfStatus(http.StatusUnprocessableEntity, err.Error(), nil))
			return
		}
		if confirm != "" {
			a.log.WarnContext(c.Request.Context(), "the mail provider wants its subscription confirmed, open the address once", "address", confirm)
		}
		for _, e := range events {
			if err := a.bounces.Event(c.Request.Context(), e.Address, e.Reason, e.MessageID); err != nil { // the provider retries
				a.log.ErrorContext(c.Request.Context(), "recording mail events failed", "error", err)
				status := http.StatusInternalServerError
				if database.Unavailable(err) {
					status = http.StatusServiceUnavailable
				}
				problem.Write(c, problem.OfStatus(status, "The events could not be recorded.", nil))
				return
			}
		}
		c.Status(http.StatusNoContent)
	})
}
