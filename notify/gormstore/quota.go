package gormstore

import (
	"fmt"
	"time"

	"gorm.io/gorm"

	"punctual/notify"
)

// quotaSpan is the period of a quota.
const quotaSpan = 24 * time.Hour

// WithQuota returns a copy of the ledger with quotas: the number of notifications per channel that
// one organizer may send within a day to people without an account; 0: unlimited. [Ledger.Insert]
// calls quota each time.
func (l *Ledger) WithQuota(quota func(notify.Channel) int) *Ledger {
	copied := *l
	copied.quota = quota
	return &copied
}

// sender is an organizer on a channel.
type sender struct {
	Organizer string
	Channel   notify.Channel
}

// applyQuota marks notifications beyond the quota of their organizer as skipped. Cancellations
// have twice the quota, so that nobody is left with an invitation to a cancelled meeting.
func (l *Ledger) applyQuota(tx *gorm.DB, ns []*notify.Notification, now time.Time) error {
	if l.quota == nil {
		return nil
	}
	var outside []*notify.Notification
	var organizers []string
	for _, n := range ns {
		if n.To.UserID == 0 && !n.Posted() && n.Organizer() != "" && state(n) == string(notify.Pending) && l.quota(n.Channel) > 0 {
			outside = append(outside, n)
			organizers = append(organizers, n.Organizer())
		}
	}
	if len(outside) == 0 {
		return nil
	}
	var rows []struct {
		Organizer string
		Channel   notify.Channel
		Sent      int
	}
	err := tx.Model(&row{}).Select("organizer, channel, count(*) AS sent").
		Where("organizer IN ? AND organizer <> '' AND user_id IS NULL AND created_at > ?", organizers, micro(now.Add(-quotaSpan))).
		Where("state IN ('pending', 'sending', 'sent', 'failed')").Group("organizer, channel").Find(&rows).Error
	if err != nil {
		return fmt.Errorf("count sent notifications: %w", err)
	}
	sent := map[sender]int{}
	for _, r := range rows {
		sent[sender{r.Organizer, r.Channel}] = r.Sent
	}
	for _, n := range outside {
		by, quota := sender{n.Organizer(), n.Channel}, l.quota(n.Channel)
		limit := quota
		if n.Kind == notify.Cancellation {
			limit = 2 * quota
		}
		if sent[by] >= limit {
			n.State = notify.Skipped
			n.LastError = fmt.Sprintf("not sent: %s reached the limit of %d messages a day to people without an account", by.Organizer, quota)
			continue
		}
		sent[by]++
	}
	return nil
}
