package gormstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/delayjob"
	"punctual/notify"
)

// Preferences implements [notify.PreferenceStore] and [notify.DigestStore] on the tables
// notification_preferences and notification_optouts. It reads users.
type Preferences struct {
	db     *gorm.DB
	ledger *Ledger
	trail  Trail // nil: no audit trail
}

var (
	_ notify.PreferenceStore = (*Preferences)(nil)
	_ notify.DigestStore     = (*Preferences)(nil)
)

// NewPreferences returns a store on db, which records digests in a ledger.
func NewPreferences(db *gorm.DB, l *Ledger) *Preferences { return &Preferences{db: db, ledger: l} }

// Noting returns a copy of the store that records in t what users change.
func (s *Preferences) Noting(t Trail) *Preferences {
	noting := *s
	noting.trail = t
	return &noting
}

// preferenceRow of the table notification_preferences.
type preferenceRow struct {
	UserID        int64 `gorm:"primaryKey;autoIncrement:false"`
	Choices       string
	QuietFrom     *int
	QuietUntil    *int
	Digest        string
	DigestAt      int
	DigestWeekday int
	DigestZone    string
	DigestDueAt   *time.Time
	DigestVersion int64
	Version       int64
	UpdatedAt     time.Time `gorm:"autoUpdateTime:false"`
}

func (preferenceRow) TableName() string { return "notification_preferences" }

// personRow is what preferences need to know of a user.
type personRow struct {
	ID         int64
	Name       string
	Email      string
	Phone      string
	Locale     string
	Timezone   string
	DisabledAt *time.Time
}

func (personRow) TableName() string { return "users" }

// wishRow is a result of the statement wishes.
type wishRow struct {
	Person     personRow     `gorm:"embedded"`
	Preference preferenceRow `gorm:"embedded"`
	ChatID     int64         // 0: none
}

func chatAddress(id int64) string {
	if id == 0 {
		return ""
	}
	return notify.ChatAddress(id)
}

// defaultDigestAt is the time of a digest without a choice, in minutes after midnight. Its weekday is Sunday.
const defaultDigestAt = 17 * 60

func (r *preferenceRow) quiet() (q notify.QuietHours) {
	if r.QuietFrom != nil && r.QuietUntil != nil {
		q = notify.QuietHours{From: *r.QuietFrom, Until: *r.QuietUntil}
	}
	return q
}

func (r *preferenceRow) digest() notify.Digest {
	return notify.Digest{Period: notify.Period(r.Digest), At: r.DigestAt, Weekday: time.Weekday(r.DigestWeekday)}
}

func (r *preferenceRow) preferences(of personRow) (notify.Preferences, error) {
	p := notify.Preferences{
		UserID: of.ID, Quiet: r.quiet(), Digest: r.digest(), Version: r.Version, Name: of.Name, Phone: of.Phone, Timezone: of.Timezone,
		Planned: notify.Planned{Due: orZero(r.DigestDueAt).UTC(), Zone: r.DigestZone, Version: r.DigestVersion},
	}
	var err error
	p.Choices, err = choices(of.ID, r.Choices)
	return p, err
}

func choices(userID int64, text string) (c notify.Choices, err error) {
	if text == "" {
		return notify.Choices{}, nil
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return nil, fmt.Errorf("choices of user %d: %w", userID, err)
	}
	return c, nil
}

func rowOf(p notify.Preferences, now time.Time) (*preferenceRow, error) {
	text, err := json.Marshal(p.Choices)
	if err != nil {
		return nil, err
	}
	r := &preferenceRow{
		UserID: p.UserID, Choices: string(text), Digest: string(p.Digest.Period), DigestAt: p.Digest.At, DigestWeekday: int(p.Digest.Weekday),
		DigestZone: p.Planned.Zone, DigestVersion: p.Planned.Version, Version: p.Version, UpdatedAt: micro(now),
	}
	if p.Digest.Period == "" {
		r.Digest = string(notify.NoDigest)
	}
	if !p.Quiet.None() {
		r.QuietFrom, r.QuietUntil = &p.Quiet.From, &p.Quiet.Until
	}
	if !p.Planned.Due.IsZero() {
		r.DigestDueAt = new(micro(p.Planned.Due))
	}
	return r, nil
}

// Preferences implements [notify.PreferenceStore].
func (s *Preferences) Preferences(ctx context.Context, userID int64) (notify.Preferences, error) {
	return read(s.db.WithContext(ctx), userID)
}

// read returns the preferences of a user. A transaction that changes them locks the user first, because there may be
// no other row yet.
func read(tx *gorm.DB, userID int64, locks ...clause.Expression) (notify.Preferences, error) {
	var of personRow
	err := tx.Clauses(locks...).Take(&of, userID).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return notify.Preferences{}, notify.ErrNotFound
	}
	if err != nil {
		return notify.Preferences{}, fmt.Errorf("select user %d: %w", userID, err)
	}
	var rows []preferenceRow
	if err := tx.Where("user_id = ?", userID).Find(&rows).Error; err != nil {
		return notify.Preferences{}, fmt.Errorf("select preferences of user %d: %w", userID, err)
	}
	if len(rows) == 0 {
		rows = []preferenceRow{{Digest: string(notify.NoDigest), DigestAt: defaultDigestAt}}
	}
	var chats []chatRow
	if err := tx.Where("user_id = ?", userID).Find(&chats).Error; err != nil {
		return notify.Preferences{}, fmt.Errorf("select chat target of user %d: %w", userID, err)
	}
	var bounces []bounceRow
	if err := tx.Where("address = ? AND cleared_at IS NULL", strings.ToLower(of.Email)).Find(&bounces).Error; err != nil {
		return notify.Preferences{}, fmt.Errorf("select bounce of user %d: %w", userID, err)
	}
	p, err := rows[0].preferences(of)
	if len(bounces) > 0 {
		p.Bounced = new(bounces[0].bounce())
	}
	if len(chats) > 0 {
		p.Chat = chatAddress(chats[0].ID)
	}
	return p, err
}

// UpdatePreferences implements [notify.PreferenceStore].
func (s *Preferences) UpdatePreferences(ctx context.Context, userID int64, now time.Time, change func(*notify.Preferences) error) (p notify.Preferences, err error) {
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if p, err = read(tx, userID, clause.Locking{Strength: "NO KEY UPDATE"}); err != nil {
			return err
		}
		before, err := rowOf(p, now)
		if err != nil {
			return err
		}
		if err := change(&p); err != nil {
			return err
		}
		r, err := rowOf(p, now)
		if err != nil || reflect.DeepEqual(before, r) {
			return err
		}
		p.Version++
		r.Version = p.Version
		if err := tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(r).Error; err != nil {
			return fmt.Errorf("save preferences of user %d: %w", userID, err)
		}
		if s.trail == nil {
			return nil
		}
		return s.trail.Note(tx, "user.notifications_updated", strconv.FormatInt(userID, 10), p.Name, []any{before.noted()}, []any{r.noted()})
	})
	return p, err
}

// noted is what the audit trail shows.
func (r *preferenceRow) noted() map[string]any {
	return map[string]any{
		"choices": json.RawMessage(r.Choices), "quiet_from": r.QuietFrom, "quiet_until": r.QuietUntil,
		"digest": r.Digest, "digest_at": r.DigestAt, "digest_weekday": r.DigestWeekday,
	}
}

// optOutRow of the table notification_optouts.
type optOutRow struct {
	ID        int64
	Address   string
	Kind      string
	CreatedAt time.Time `gorm:"autoCreateTime:false"`
}

func (optOutRow) TableName() string { return "notification_optouts" }

// OptOuts implements [notify.PreferenceStore].
func (s *Preferences) OptOuts(ctx context.Context, address string) ([]notify.Kind, error) {
	var kinds []notify.Kind
	err := s.db.WithContext(ctx).Model(&optOutRow{}).Where("address = ?", strings.ToLower(address)).Order("kind").Pluck("kind", &kinds).Error
	if err != nil {
		return nil, fmt.Errorf("select opt-outs: %w", err)
	}
	return kinds, nil
}

// SetOptOuts implements [notify.PreferenceStore].
func (s *Preferences) SetOptOuts(ctx context.Context, address string, kinds []notify.Kind, off bool, now time.Time) error {
	if len(kinds) == 0 {
		return nil
	}
	address = strings.ToLower(address)
	tx := s.db.WithContext(ctx)
	if !off {
		if err := tx.Where("address = ? AND kind IN ?", address, kinds).Delete(&optOutRow{}).Error; err != nil {
			return fmt.Errorf("delete opt-outs: %w", err)
		}
		return nil
	}
	rows := make([]optOutRow, len(kinds))
	for i, k := range kinds {
		rows[i] = optOutRow{Address: address, Kind: string(k), CreatedAt: micro(now)}
	}
	if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&rows).Error; err != nil {
		return fmt.Errorf("insert opt-outs: %w", err)
	}
	return nil
}

// Wishes implements [notify.PreferenceStore]. Its statements have constant texts.
func (s *Preferences) Wishes(ctx context.Context, users []int64, addresses []string) (map[int64]notify.Wishes, map[string]notify.Wishes, error) {
	tx := s.db.WithContext(ctx)
	byUser, byAddress := map[int64]notify.Wishes{}, map[string]notify.Wishes{}
	if len(users) > 0 {
		var rows []wishRow
		if err := statements.Raw(tx, "wishes", list(users)).Find(&rows).Error; err != nil {
			return nil, nil, fmt.Errorf("select preferences: %w", err)
		}
		for _, r := range rows {
			chosen, err := choices(r.Person.ID, r.Preference.Choices)
			if err != nil {
				return nil, nil, err
			}
			byUser[r.Person.ID] = notify.Wishes{
				Choices: chosen, Quiet: r.Preference.quiet(), Timezone: r.Person.Timezone, Email: r.Person.Email, Phone: r.Person.Phone, Chat: chatAddress(r.ChatID),
			}
		}
	}
	if len(addresses) > 0 {
		var rows []optOutRow
		if err := statements.Raw(tx, "optouts", list(addresses)).Find(&rows).Error; err != nil {
			return nil, nil, fmt.Errorf("select opt-outs: %w", err)
		}
		for _, r := range rows {
			w, ok := byAddress[r.Address]
			if !ok {
				w.Choices = notify.Choices{}
				byAddress[r.Address] = w
			}
			w.Choices[notify.Kind(r.Kind)] = []notify.Channel{}
		}
	}
	return byUser, byAddress, nil
}

// DueDigests implements [notify.DigestStore].
func (s *Preferences) DueDigests(ctx context.Context, w delayjob.Window, after int64, n int) ([]notify.DueDigest, error) {
	q := s.db.WithContext(ctx).Model(&preferenceRow{}).Where("digest_due_at IS NOT NULL AND user_id > ?", after)
	if w.From.IsZero() {
		moved := s.db.Table("users AS u").Select("1").Where("u.id = notification_preferences.user_id AND u.timezone <> notification_preferences.digest_zone")
		q = q.Where("digest_due_at <= ? OR EXISTS (?)", micro(w.To), moved)
	} else {
		q = q.Where("digest_due_at > ? AND digest_due_at <= ?", micro(w.From), micro(w.To))
	}
	var rows []preferenceRow
	if err := q.Select("user_id", "digest_due_at", "digest_version").Order("user_id").Limit(n).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("list due digests: %w", err)
	}
	due := make([]notify.DueDigest, len(rows))
	for i, r := range rows {
		at := orZero(r.DigestDueAt).UTC()
		if at.After(w.To) { // the user has moved
			at = w.To
		}
		due[i] = notify.DueDigest{UserID: r.UserID, Version: r.DigestVersion, Due: at}
	}
	return due, nil
}

// Subscription implements [notify.DigestStore].
func (s *Preferences) Subscription(ctx context.Context, userID int64) (notify.Subscription, error) {
	var rows []wishRow
	if err := statements.Raw(s.db.WithContext(ctx), "wishes", list([]int64{userID})).Find(&rows).Error; err != nil {
		return notify.Subscription{}, fmt.Errorf("select digest of user %d: %w", userID, err)
	}
	if len(rows) == 0 || rows[0].Preference.UserID == 0 {
		return notify.Subscription{}, notify.ErrNotFound
	}
	of, r := rows[0].Person, rows[0].Preference
	return notify.Subscription{
		DueDigest: notify.DueDigest{UserID: userID, Version: r.DigestVersion, Due: orZero(r.DigestDueAt).UTC()},
		Digest:    r.digest(),
		To:        notify.Recipient{UserID: userID, Name: of.Name, Address: of.Email, Locale: of.Locale, Timezone: of.Timezone},
		Zone:      r.DigestZone, Active: of.DisabledAt == nil,
	}, nil
}

// Digested implements [notify.DigestStore].
func (s *Preferences) Digested(ctx context.Context, d notify.Subscription, n *notify.Notification, next time.Time, zone string) (recorded bool, err error) {
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		change := map[string]any{"digest_zone": zone, "digest_due_at": nil, "digest_version": d.DueDigest.Version + 1}
		if !next.IsZero() {
			change["digest_due_at"] = micro(next)
		}
		res := tx.Model(&preferenceRow{}).Where("user_id = ? AND digest_version = ?", d.UserID, d.DueDigest.Version).UpdateColumns(change)
		if res.Error != nil {
			return fmt.Errorf("plan digest of user %d: %w", d.UserID, res.Error)
		}
		if recorded = res.RowsAffected == 1; !recorded || n == nil {
			return nil
		}
		ns := []notify.Notification{*n}
		if err := s.ledger.Insert(tx, ns); err != nil {
			return err
		}
		n.ID = ns[0].ID
		return nil
	})
	return recorded && err == nil, err
}

// longestQuiet is more than quiet hours last, even if clocks change.
const longestQuiet = 26 * time.Hour

// EndQuiet implements [notify.PreferenceStore].
func (s *Preferences) EndQuiet(ctx context.Context, userID int64, now time.Time) ([]notify.Notification, error) {
	now = micro(now)
	var rows []row
	// The literals let the planner use the index notifications_due.
	err := s.db.WithContext(ctx).Model(&rows).Clauses(clause.Returning{}).
		Where("channel IN ('email', 'sms') AND state IN ('pending', 'sending') AND due_at > ? AND due_at <= ?", now, now.Add(longestQuiet)).
		Where("state = 'pending' AND user_id = ? AND last_error = ?", userID, notify.QuietReason).
		UpdateColumns(map[string]any{"due_at": now, "last_error": "", "updated_at": now}).Error
	if err != nil {
		return nil, fmt.Errorf("end quiet hours of user %d: %w", userID, err)
	}
	waiting := make([]notify.Notification, len(rows))
	for i, r := range rows {
		if waiting[i], err = r.notification(); err != nil {
			return nil, err
		}
	}
	return waiting, nil
}

// Copy records notifications on other channels, see [notify.Notification.On]. It sets the ID of each
// that was not recorded before.
func (l *Ledger) Copy(ctx context.Context, ns []notify.Notification) error {
	return l.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return l.Insert(tx, ns) })
}
