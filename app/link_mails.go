package app

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"punctual/account"
	accountstore "punctual/account/gormstore"
	"punctual/notify"
	ledger "punctual/notify/gormstore"
)

// linkMails records the mails to users about their accounts in the ledger. Those of password links are due at once,
// and expire with their link.
type linkMails struct {
	ledger    *ledger.Ledger
	scheduler notify.Scheduler
}

var _ accountstore.Mails = linkMails{}

func (l linkMails) Insert(tx *gorm.DB, m *account.LinkMail) (sent func(context.Context), err error) {
	kind := notify.PasswordReset
	if m.Link.Kind == account.InvitationLink {
		kind = notify.InviteUser
	}
	deadline := m.Link.ExpiresAt
	ns := []notify.Notification{{
		DedupeKey: fmt.Sprintf("%s:%d", kind, m.Link.ID),
		Kind:      kind,
		Channel:   notify.Email,
		To:        notify.Recipient{UserID: m.To.ID, Name: m.To.Name, Address: m.To.Email, Locale: m.To.Locale, Timezone: m.To.Timezone},
		Facts:     notify.Facts{By: m.By, Deadline: &deadline, LinkSeed: m.Seed, Timezone: m.To.Timezone},
		Due:       m.Link.CreatedAt,
		Expires:   deadline,
		State:     notify.Pending,
		Version:   1,
	}}
	if err := l.ledger.Insert(tx, ns); err != nil {
		return nil, err
	}
	return func(ctx context.Context) { l.scheduler.Schedule(ctx, ns[0].Message()) }, nil
}

// Added implements [accountstore.Mails].
func (l linkMails) Added(tx *gorm.DB, m account.AddedMail) error {
	return l.ledger.Insert(tx, []notify.Notification{{
		DedupeKey: fmt.Sprintf("%s:%s", notify.SignInAdded, m.Key),
		Kind:      notify.SignInAdded,
		Channel:   notify.Email,
		To:        notify.Recipient{UserID: m.To.ID, Name: m.To.Name, Address: m.To.Email, Locale: m.To.Locale, Timezone: m.To.Timezone},
		Facts:     notify.Facts{Reason: string(m.What), Title: m.Name, Timezone: m.To.Timezone},
		Due:       time.Now(),
		State:     notify.Pending,
		Version:   1,
	}})
}
