package gormstore

import (
	"context"
	"strings"
	"time"

	"gorm.io/gorm"

	"punctual/meeting/clock"
	"punctual/meeting/finding"
)

// BusyUsers reads the meetings that users organize from the organizer's index, and those to which they
// were invited from the index of addresses.
func (s *Store) BusyUsers(ctx context.Context, emails []string, span clock.Slot) (map[string][]clock.Slot, error) {
	lower := make([]string, len(emails))
	for i, e := range emails {
		lower[i] = strings.ToLower(e)
	}
	db := s.db.WithContext(ctx)
	var users []struct {
		ID    int64
		Email string
	}
	if err := db.Table("users").Select("id, lower(email) AS email").Where("lower(email) IN ? AND disabled_at IS NULL", lower).Find(&users).Error; err != nil {
		return nil, err
	}
	busy := map[string][]clock.Slot{}
	byID := map[int64]string{}
	known := make([]string, 0, len(users))
	ids := make([]int64, 0, len(users))
	for _, u := range users {
		busy[u.Email], byID[u.ID] = nil, u.Email
		known, ids = append(known, u.Email), append(ids, u.ID)
	}
	if len(users) == 0 {
		return busy, nil
	}
	within := func(db *gorm.DB) *gorm.DB {
		const longest = 31 * 24 * time.Hour // of a meeting that counts
		return db.Where("m.starts_at > ? AND m.starts_at < ? AND m.ends_at > ?", micro(span.Start.Add(-longest)), micro(span.End), micro(span.Start)).
			Where("m.status IN ?", finding.BusyStatuses)
	}
	type row struct {
		OrganizerID int64
		Email       string
		StartsAt    time.Time
		EndsAt      time.Time
		EndedAt     *time.Time
	}
	var organized, invited []row
	err := within(db.Table("meetings AS m").Select("m.organizer_id, m.starts_at, m.ends_at, m.ended_at").Where("m.organizer_id IN ?", ids)).Find(&organized).Error
	if err == nil {
		err = within(db.Table("attendees AS a").Select("lower(a.email) AS email, m.starts_at, m.ends_at, m.ended_at").
			Joins("JOIN meetings AS m ON m.id = a.meeting_id").Where("lower(a.email) IN ? AND a.response <> 'declined'", known)).Find(&invited).Error
	}
	if err != nil {
		return nil, err
	}
	for _, r := range append(organized, invited...) {
		email := r.Email
		if email == "" {
			email = byID[r.OrganizerID]
		}
		slot := clock.Slot{Start: r.StartsAt, End: r.EndsAt}
		if r.EndedAt != nil {
			slot.End = clock.Earlier(slot.End, *r.EndedAt)
		}
		busy[email] = append(busy[email], slot)
	}
	return busy, nil
}
