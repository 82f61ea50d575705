package gormstore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"punctual/notify"
)

// batch limits the rows of one statement: enough to make its fixed cost negligible, few enough to
// keep a parameter below some megabytes.
const batch = 2000

// Insert stores ns in the transaction tx and sets the ID of each. A notification whose DedupeKey
// exists, in the table or earlier in ns, is ignored and keeps ID 0. It runs one statement per
// batch, with constant text.
func (l *Ledger) Insert(tx *gorm.DB, ns []notify.Notification) error {
	// Sorted by key, so that two transactions that insert some of the same notifications cannot
	// deadlock.
	order := make([]*notify.Notification, len(ns))
	for i := range ns {
		ns[i].ID = 0
		order[i] = &ns[i]
	}
	slices.SortStableFunc(order, func(a, b *notify.Notification) int {
		return cmp.Compare(a.DedupeKey, b.DedupeKey)
	})
	now := micro(tx.NowFunc())
	if err := l.applyQuota(tx, order, now); err != nil {
		return err
	}
	for part := range slices.Chunk(order, batch) {
		if err := insert(tx, part, now); err != nil {
			return fmt.Errorf("insert %d notifications: %w", len(ns), err)
		}
	}
	return nil
}

// Withdraw cancels the pending notifications of some kinds about these meetings, in the
// transaction tx. Without kinds it cancels reminders. It does not stop a notification that is
// being sent.
func (l *Ledger) Withdraw(tx *gorm.DB, meetingIDs []int64, kinds ...notify.Kind) error {
	if len(kinds) == 0 {
		kinds = []notify.Kind{notify.Reminder}
	}
	err := statements.Exec(tx, "withdraw", micro(tx.NowFunc()), list(meetingIDs), list(kinds)).Error
	if err != nil {
		return fmt.Errorf("withdraw notifications: %w", err)
	}
	return nil
}

// Outdate supersedes the pending notifications of the same threads and scopes as ns, in the transaction tx.
// It does not stop a notification that is being sent.
func (l *Ledger) Outdate(tx *gorm.DB, ns []notify.Notification, reason string) error {
	for _, n := range ns {
		err := tx.Model(&row{}).Where("thread = ? AND thread <> '' AND scope = ? AND state = 'pending'", n.Thread(), n.Scope()).
			Updates(map[string]any{"state": notify.Superseded, "last_error": reason, "updated_at": micro(tx.NowFunc())}).Error
		if err != nil {
			return fmt.Errorf("supersede notifications: %w", err)
		}
	}
	return nil
}

// insert sets the IDs of the rows that it inserts.
func insert(tx *gorm.DB, ns []*notify.Notification, now time.Time) error {
	rows := make([][17]any, len(ns))
	for i, n := range ns {
		facts, err := json.Marshal(n.Facts)
		if err != nil {
			return fmt.Errorf("facts: %w", err)
		}
		var expires any
		if !n.Expires.IsZero() {
			expires = n.Expires.UnixMicro()
		}
		rows[i] = [...]any{
			n.DedupeKey, n.Kind, n.Channel, n.MeetingID, n.To.UserID, n.To.Name, n.To.Address, n.To.Locale,
			n.To.Timezone, string(facts), n.Due.UnixMicro(), expires, state(n), n.LastError,
			n.Thread(), n.Scope(), n.Organizer(),
		}
	}
	var inserted []row
	if err := statements.Raw(tx, "insert", list(rows), now).Find(&inserted).Error; err != nil {
		return err
	}
	ids := make(map[string]int64, len(inserted))
	for _, r := range inserted {
		ids[r.DedupeKey] = r.ID
	}
	for _, n := range ns {
		n.ID = ids[n.DedupeKey]
		delete(ids, n.DedupeKey) // only the first of several with the same key was inserted
	}
	return nil
}

func state(n *notify.Notification) string {
	return string(cmp.Or(n.State, notify.Pending))
}
