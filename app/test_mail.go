package app

import (
	"context"
	"crypto/rand"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"gorm.io/gorm"

	"punctual/account"
	"punctual/notify"
)

type testMailOutput struct {
	Body struct {
		NotificationID int64 `json:"notification_id" doc:"Shows whether the mail was sent, see GET /notifications/{id}"`
	}
}

func (a *Application) registerTestMail(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "send-test-mail", Method: http.MethodPost, Path: "/notifications/test", DefaultStatus: http.StatusAccepted,
		Summary: "Send a test email to the caller", Tags: []string{"Notifications"},
		Errors: []int{http.StatusUnauthorized, http.StatusForbidden},
	}, a.sendTestMail)
}

// sendTestMail sends a mail as all others are sent, so that it fails like them.
func (a *Application) sendTestMail(ctx context.Context, _ *struct{}) (*testMailOutput, error) {
	p, _ := account.FromContext(ctx)
	now := time.Now().UTC()
	ns := []notify.Notification{{
		DedupeKey: string(notify.TestMail) + ":" + rand.Text(),
		Kind:      notify.TestMail,
		Channel:   notify.Email,
		To:        notify.Recipient{UserID: p.UserID, Name: p.Name, Address: p.Email, Locale: p.Locale, Timezone: p.Timezone},
		Due:       now,
		Expires:   now.Add(time.Hour),
		State:     notify.Pending,
		Version:   1,
	}}
	err := a.db.Gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return a.ledger.Insert(tx, ns) })
	if err != nil {
		return nil, err
	}
	a.scheduler.Schedule(ctx, ns[0].Message())
	out := &testMailOutput{}
	out.Body.NotificationID = ns[0].ID
	return out, nil
}
