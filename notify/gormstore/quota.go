package gormstore

import (
	"fmt"
	"time"

	"gorm.io/gorm"

	"punctual/notify"
)

// quotaSpan is what a quota is for.
const quotaSpan = 24 * time.Hour

// Limiting returns the ledger with quotas: how many notifications on a channel one organizer may
// have sent within a day to people without an account; 0: any number. It is asked at each
// [Ledger.Insert].
func (l *Ledger) Limiting(quota func(notify.Channel) int) *Ledger {
	limited := *l
	limited.quota = quota
	return &limited
}

// sender is an organizer on a channel.
type sender struct {
	Organizer string
	Channel   notify.Channel
}

// limit makes skipped what is beyond the quota of its organizer. Cancellations have as much again,
// so that people are not left with an invitation to a meeting that does not take place.
func (l *Ledger) limit(tx *gorm.DB, ns []*notify.Notification, now time.Time) error {
	if l.quota == nil {
		return nil
	}
	var outside []*notify.Notification
	var organizers []string
	for _, n := range ns {
		if n.To.UserID == 0 && n.Organizer() != "" && state(n) == string(notify.Pending) && l.quota(n.Channel) > 0 {
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
	err := tx.Raw(`SELECT organizer, channel, count(*) AS sent FROM notifications
		WHERE organizer IN ? AND organizer <> '' AND user_id IS NULL AND created_at > ?
			AND state IN ('pending', 'sending', 'sent', 'failed')
		GROUP BY organizer, channel`, organizers, micro(now.Add(-quotaSpan))).Scan(&rows).Error
	if err != nil {
		return fmt.Errorf("count what was sent: %w", err)
	}
	sent := map[sender]int{}
	for _, r := range rows {
		sent[sender{r.Organizer, r.Channel}] = r.Sent
	}
	for _, n := range outside {
		by, quota := sender{n.Organizer(), n.Channel}, l.quota(n.Channel)
		most := quota
		if n.Kind == notify.Cancellation {
			most = 2 * quota
		}
		if sent[by] >= most {
			n.State = notify.Skipped
			n.LastError = fmt.Sprintf("not sent: %s reached the limit of %d messages a day to people without an account", by.Organizer, quota)
			continue
		}
		sent[by]++
	}
	return nil
}
