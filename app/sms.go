package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"punctual/account"
	"punctual/app/config"
	"punctual/app/database"
	"punctual/app/problem"
	"punctual/notify"
	"punctual/notify/sms"
)

// smsBudget limits the text messages of a day, in the zone of the organization.
type smsBudget struct {
	app *Application
	now func() time.Time
}

var _ sms.Budget = smsBudget{}

func (b smsBudget) Reserve(ctx context.Context, segments int) (release func(context.Context), err error) {
	c, ledger := b.app.latest.Load(), b.app.ledger
	limit := c.SMS.DailySegments
	zone, err := time.LoadLocation(c.Booking.Timezone)
	if err != nil {
		zone = time.UTC
	}
	day := b.now().In(zone).Format(time.DateOnly)
	ok, err := ledger.ReserveSegments(ctx, day, segments, limit)
	if err != nil {
		return nil, notify.Unavailable(err)
	}
	if !ok {
		if err := b.notifyAdmins(ctx, day, limit); err != nil {
			b.app.log.WarnContext(ctx, "sms limit reached, notifying admins failed", "error", err)
		}
		return nil, notify.Off(fmt.Sprintf("not sent: the text messages of %s reached sms.daily_segments (%d)", day, limit))
	}
	return func(ctx context.Context) {
		if err := ledger.ReleaseSegments(ctx, day, segments); err != nil {
			b.app.log.WarnContext(ctx, "releasing unused sms segments failed", "segments", segments, "error", err)
		}
	}, nil
}

func (b smsBudget) notifyAdmins(ctx context.Context, day string, limit int) error {
	admins, err := b.app.people.ActiveAdmins(ctx)
	if err != nil {
		return err
	}
	now := b.now()
	ns := make([]notify.Notification, len(admins))
	for i, u := range admins {
		ns[i] = notify.Notification{
			DedupeKey: fmt.Sprintf("%s:%s:%d", notify.SMSLimit, day, u.ID), Kind: notify.SMSLimit, Channel: notify.Email,
			To:    notify.Recipient{UserID: u.ID, Name: u.Name, Address: u.Email, Locale: u.Locale, Timezone: u.Timezone},
			Facts: notify.Facts{Count: limit, Timezone: u.Timezone}, Due: now, State: notify.Pending, Version: 1,
		}
	}
	if err := b.app.ledger.NotifySMSLimit(ctx, day, ns); err != nil {
		return err
	}
	for _, n := range ns {
		if n.ID != 0 {
			b.app.log.WarnContext(ctx, "sms limit reached, further messages of today are skipped", "day", day, "limit", limit)
			b.app.scheduler.Schedule(ctx, n.Message())
		}
	}
	return nil
}

// maxReceipts is the size of a request with reports: Alibaba Cloud sends several hundred at once.
const maxReceipts = 256 << 10

// registerSMSCallbacks adds the addresses to which providers report what became of text messages. Only those
// of the driver in force exist.
func (a *Application) registerSMSCallbacks(r *gin.Engine) {
	type read func(c *gin.Context, s config.SMS, body []byte, now time.Time) ([]notify.Receipt, error)
	route := func(driver, path string, read read, accepted func(*gin.Context)) {
		r.POST(config.SMSCallbacks+path, func(c *gin.Context) {
			settings := a.latest.Load().SMS
			if settings.Driver != driver {
				problem.Write(c, problem.OfStatus(http.StatusNotFound, "sms.driver is not "+driver+".", nil))
				return
			}
			body, err := io.ReadAll(c.Request.Body)
			if err != nil {
				problem.Write(c, problem.OfStatus(http.StatusRequestEntityTooLarge, "The request is too large.", nil))
				return
			}
			rs, err := read(c, settings, body, time.Now())
			if errors.Is(err, sms.ErrSignature) {
				if a.limits.admit(c, account.Networks(c.ClientIP())) {
					problem.Write(c, problem.OfStatus(http.StatusForbidden, "The signature is invalid.", nil))
				}
				return
			}
			if err != nil {
				problem.Write(c, problem.OfStatus(http.StatusUnprocessableEntity, err.Error(), nil))
				return
			}
			if err := a.notifications.Receive(c.Request.Context(), rs); err != nil { // the provider retries
				a.log.ErrorContext(c.Request.Context(), "recording sms receipts failed", "error", err)
				status := http.StatusInternalServerError
				if database.Unavailable(err) {
					status = http.StatusServiceUnavailable
				}
				problem.Write(c, problem.OfStatus(status, "The report could not be recorded.", nil))
				return
			}
			accepted(c)
		})
	}
	none := func(c *gin.Context) { c.Status(http.StatusNoContent) }
	base := strings.TrimRight(a.config.HTTP.BaseURL, "/")
	route("twilio", "twilio", func(c *gin.Context, s config.SMS, body []byte, now time.Time) ([]notify.Receipt, error) {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, fmt.Errorf("must be a form: %w", err)
		}
		// behind a proxy, the address that was called is known only from the settings
		return sms.TwilioReceipts(s.Twilio.AuthToken, base+c.Request.URL.RequestURI(), form, c.GetHeader("X-Twilio-Signature"), now)
	}, none)
	route("http", "http", func(c *gin.Context, s config.SMS, body []byte, now time.Time) ([]notify.Receipt, error) {
		return sms.GatewayReceipts(s.HTTP.ReceiptSecret, c.GetHeader("X-Punctual-Signature"), body, now)
	}, none)
	route("aliyun", "aliyun/:secret", func(c *gin.Context, s config.SMS, body []byte, now time.Time) ([]notify.Receipt, error) {
		return sms.AliyunReceipts(s.Aliyun.ReceiptSecret, c.Param("secret"), body, now)
	}, func(c *gin.Context) { c.JSON(http.StatusOK, gin.H{"code": 0, "msg": "OK"}) })
}
