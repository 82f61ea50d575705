package gormstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/account/fault"
	"punctual/meeting"
)

type customFieldRow struct {
	ID        int64
	Name      string
	Label     string
	Labels    map[string]string `gorm:"serializer:json"`
	Kind      meeting.FieldKind
	Choices   []string `gorm:"serializer:json"`
	Help      string
	Required  bool
	Audience  meeting.Audience
	InMails   bool
	SiteIDs   []int64 `gorm:"column:site_ids;serializer:json"`
	Position  int
	Active    bool
	Version   int64
	CreatedAt time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt time.Time `gorm:"autoUpdateTime:false"`
}

func (customFieldRow) TableName() string { return "custom_fields" }

func newCustomFieldRow(c *meeting.CustomField) *customFieldRow {
	return &customFieldRow{
		ID: c.ID, Name: c.Name, Label: c.Label, Labels: c.Labels, Kind: c.Kind, Choices: list(c.Choices), Help: c.Help, Required: c.Required,
		Audience: c.Audience, InMails: c.InMails, SiteIDs: list(c.SiteIDs), Position: c.Position, Active: c.Active, Version: c.Version,
		CreatedAt: micro(c.CreatedAt), UpdatedAt: micro(c.UpdatedAt),
	}
}

func (r *customFieldRow) field() *meeting.CustomField {
	return &meeting.CustomField{
		ID: r.ID, Name: r.Name, Label: r.Label, Labels: r.Labels, Kind: r.Kind, Choices: r.Choices, Help: r.Help, Required: r.Required,
		Audience: r.Audience, InMails: r.InMails, SiteIDs: r.SiteIDs, Position: r.Position, Active: r.Active, Version: r.Version,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

func (s *Store) CreateCustomField(ctx context.Context, c *meeting.CustomField) error {
	row := newCustomFieldRow(c)
	row.Version = 1
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row.ID = 0
		res := tx.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoNothing: true}).Create(row)
		if res.Error != nil {
			return res.Error
		}
		if res.RowsAffected == 0 {
			return fault.Invalid("name", "duplicate", "must not be the name of another field")
		}
		return s.note(tx, "custom_field.created", row.ID, row.Label, nil, []any{row})
	})
	if err != nil {
		return fmt.Errorf("create custom field: %w", err)
	}
	c.ID, c.Version = row.ID, row.Version
	return nil
}

func (s *Store) CustomField(ctx context.Context, id int64) (*meeting.CustomField, error) {
	row, err := take[customFieldRow](s.db.WithContext(ctx).Where("id = ?", id))
	if err != nil {
		return nil, fmt.Errorf("custom field %d: %w", id, err)
	}
	return row.field(), nil
}

// CustomFields is ordered by position.
func (s *Store) CustomFields(ctx context.Context) (fields []*meeting.CustomField, err error) {
	var rows []*customFieldRow
	if err := s.db.WithContext(ctx).Order("position, lower(label), id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("list custom fields: %w", err)
	}
	for _, r := range rows {
		fields = append(fields, r.field())
	}
	return fields, nil
}

func (s *Store) UpdateCustomField(ctx context.Context, id int64, fn func(*meeting.CustomField) error) (*meeting.CustomField, error) {
	var c *meeting.CustomField
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row, err := take[customFieldRow](forUpdate(tx).Where("id = ?", id))
		if err != nil {
			return fmt.Errorf("update custom field %d: %w", id, err)
		}
		c = row.field()
		if err := fn(c); err != nil {
			return err
		}
		c.ID, c.Version = row.ID, row.Version+1
		changed := newCustomFieldRow(c)
		if err := tx.Select("*").Updates(changed).Error; err != nil {
			return fmt.Errorf("update custom field %d: %w", id, err)
		}
		return s.note(tx, "custom_field.changed", id, changed.Label, []any{row}, []any{changed})
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (s *Store) DeleteCustomField(ctx context.Context, id int64, fn func(*meeting.CustomField) error) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row, err := take[customFieldRow](forRemoval(tx).Where("id = ?", id))
		if err != nil {
			return err
		}
		if err := fn(row.field()); err != nil {
			return err
		}
		has := "EXISTS (SELECT 1 FROM json_each(fields) WHERE json_extract(value, '$.name') = ?)"
		if s.dialect == postgres {
			has = "fields @> jsonb_build_array(jsonb_build_object('name', CAST(? AS text)))"
		}
		for _, model := range []any{&meetingRow{}, &seriesRow{}} {
			var used int64
			if err := tx.Model(model).Where("fields IS NOT NULL AND "+has, row.Name).Count(&used).Error; err != nil {
				return err
			}
			if used > 0 {
				return &meeting.InUseError{What: "the custom field", Count: used}
			}
		}
		if err := tx.Delete(&customFieldRow{}, id).Error; err != nil {
			return err
		}
		return s.note(tx, "custom_field.deleted", id, row.Label, []any{row}, nil)
	})
	if err != nil {
		return fmt.Errorf("delete custom field %d: %w", id, err)
	}
	return nil
}

// valuesText are values of custom fields in a column; none are NULL.
func valuesText(values []meeting.FieldValue) jsonText {
	if len(values) == 0 {
		return ""
	}
	b, err := json.Marshal(values)
	if err != nil {
		panic(err) // they are texts, numbers and booleans
	}
	return jsonText(b)
}

// valuesOf reads what valuesText wrote. The database only holds such texts.
func valuesOf(text jsonText) (values []meeting.FieldValue) {
	if text != "" {
		_ = json.Unmarshal([]byte(text), &values)
	}
	return values
}
