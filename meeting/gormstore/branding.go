package gormstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/meeting"
	"punctual/meeting/photo"
)

type brandingRow struct {
	ID           int64 `gorm:"primaryKey;autoIncrement:false"`
	Name         string
	Message      string
	MessageUntil *time.Time
	Logo         string
	LogoType     string
	Version      int64
	UpdatedAt    time.Time `gorm:"autoUpdateTime:false"`
}

func (brandingRow) TableName() string { return "branding" }

func (r *brandingRow) branding() *meeting.Branding {
	b := &meeting.Branding{Name: r.Name, Message: r.Message, Logo: r.Logo, Version: r.Version, UpdatedAt: r.UpdatedAt}
	if r.MessageUntil != nil {
		b.MessageUntil = *r.MessageUntil
	}
	return b
}

func readBranding(db *gorm.DB) (*brandingRow, error) {
	row, err := take[brandingRow](db.Where("id = 1"))
	if errors.Is(err, meeting.ErrNotFound) {
		return &brandingRow{ID: 1}, nil
	}
	return row, err
}

func (s *Store) Branding(ctx context.Context) (*meeting.Branding, error) {
	row, err := readBranding(s.db.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("branding: %w", err)
	}
	return row.branding(), nil
}

func (s *Store) UpdateBranding(ctx context.Context, logo bool, picture *photo.Picture, fn func(*meeting.Branding) error) (*meeting.Branding, error) {
	var b *meeting.Branding
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row, err := readBranding(forUpdate(tx))
		if err != nil {
			return err
		}
		b = row.branding()
		if err := fn(b); err != nil {
			return err
		}
		b.Version = row.Version + 1
		changed := &brandingRow{ID: 1, Name: b.Name, Message: b.Message, Logo: b.Logo, LogoType: row.LogoType, Version: b.Version, UpdatedAt: micro(b.UpdatedAt)}
		if !b.MessageUntil.IsZero() {
			changed.MessageUntil = new(micro(b.MessageUntil))
		}
		if logo {
			changed.LogoType = ""
			if picture != nil {
				changed.LogoType = picture.Type
			}
		}
		if err := tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(changed).Error; err != nil {
			return err
		}
		if logo {
			var content []byte
			if picture != nil {
				content = picture.Content
			}
			if err := tx.Model(&brandingRow{}).Where("id = 1").UpdateColumn("logo_content", content).Error; err != nil {
				return err
			}
		}
		return s.note(tx, "branding.changed", 1, changed.Name, []any{row}, []any{changed})
	})
	if err != nil {
		return nil, fmt.Errorf("update branding: %w", err)
	}
	return b, nil
}

func (s *Store) Logo(ctx context.Context) (*photo.Picture, string, error) {
	var found []struct {
		LogoContent []byte
		LogoType    string
		Logo        string
	}
	err := s.db.WithContext(ctx).Model(&brandingRow{}).Select("logo_content, logo_type, logo").Where("logo <> ''").Find(&found).Error
	if err != nil {
		return nil, "", fmt.Errorf("logo: %w", err)
	}
	if len(found) == 0 {
		return nil, "", meeting.ErrNotFound
	}
	return &photo.Picture{Content: found[0].LogoContent, Type: found[0].LogoType}, found[0].Logo, nil
}
