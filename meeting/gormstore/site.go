package gormstore

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/meeting"
)

type siteRow struct {
	ID        int64
	Name      string
	Timezone  string
	Address   string
	Facility  string      `gorm:"column:facility_email"`
	Access    *accessJSON `gorm:"serializer:json"`
	Version   int64
	CreatedAt time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt time.Time `gorm:"autoUpdateTime:false"`
}

func (siteRow) TableName() string { return "sites" }

func newSiteRow(s *meeting.Site) *siteRow {
	row := &siteRow{ID: s.ID, Name: s.Name, Timezone: s.Timezone, Address: s.Address, Facility: s.Facility, Version: s.Version, CreatedAt: micro(s.CreatedAt), UpdatedAt: micro(s.UpdatedAt)}
	if len(s.Access.Groups()) > 0 {
		row.Access = accessRow(s.Access)
	}
	return row
}

func (r *siteRow) site() *meeting.Site {
	site := &meeting.Site{ID: r.ID, Name: r.Name, Timezone: r.Timezone, Address: r.Address, Facility: r.Facility, Version: r.Version, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}
	if r.Access != nil {
		site.Access = *r.Access.access()
	}
	return site
}

func (s *Store) CreateSite(ctx context.Context, site *meeting.Site) error {
	row := newSiteRow(site)
	row.Version = 1
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row.ID = 0
		if err := tx.Create(row).Error; err != nil {
			return err
		}
		if err := saveAddress(tx, "", mailAddressRow{Address: row.Address, SiteID: &row.ID}); err != nil {
			return err
		}
		if err := saveAccess(tx, accessGroupRow{SiteID: &row.ID}, &site.Access, nil); err != nil {
			return err
		}
		return s.note(tx, "site.created", row.ID, row.Name, nil, []any{row})
	})
	if err != nil {
		return fmt.Errorf("create site: %w", err)
	}
	site.ID, site.Version = row.ID, row.Version
	return nil
}

func (s *Store) Site(ctx context.Context, id int64) (*meeting.Site, error) {
	row, err := take[siteRow](s.db.WithContext(ctx).Where("id = ?", id))
	if err != nil {
		return nil, fmt.Errorf("site %d: %w", id, err)
	}
	return row.site(), nil
}

func (s *Store) UpdateSite(ctx context.Context, id int64, fn func(*meeting.Site) error) (*meeting.Site, error) {
	var site *meeting.Site
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row, err := take[siteRow](forUpdate(tx).Where("id = ?", id))
		if err != nil {
			return fmt.Errorf("update site %d: %w", id, err)
		}
		site = row.site()
		if err := fn(site); err != nil {
			return err
		}
		site.ID, site.Version = row.ID, row.Version+1
		changed := newSiteRow(site)
		if err := tx.Select("*").Updates(changed).Error; err != nil {
			return fmt.Errorf("update site %d: %w", id, err)
		}
		if err := saveAddress(tx, row.Address, mailAddressRow{Address: changed.Address, SiteID: &id}); err != nil {
			return fmt.Errorf("update site %d: %w", id, err)
		}
		access := !reflect.DeepEqual(changed.Access, row.Access)
		if access {
			if err := saveAccess(tx, accessGroupRow{SiteID: &id}, &site.Access, nil); err != nil {
				return fmt.Errorf("update site %d: %w", id, err)
			}
			if err := s.limitSite(tx, id, site.Access); err != nil {
				return fmt.Errorf("update site %d: %w", id, err)
			}
		}
		if access || changed.Timezone != row.Timezone {
			if _, err := recheck(tx, forRemoval(tx).Where("site_id = ? AND deleted_at IS NULL", id).Order("id")); err != nil {
				return fmt.Errorf("update site %d: %w", id, err)
			}
		}
		return s.note(tx, "site.changed", id, changed.Name, []any{row}, []any{changed})
	})
	if err != nil {
		return nil, err
	}
	return site, nil
}

func (s *Store) DeleteSite(ctx context.Context, id int64, fn func(*meeting.Site) error) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row, err := take[siteRow](forRemoval(tx).Where("id = ?", id))
		if err != nil {
			return err
		}
		if err := fn(row.site()); err != nil {
			return err
		}
		var rooms int64
		if err := tx.Model(&roomRow{}).Where("site_id = ? AND deleted_at IS NULL", id).Count(&rooms).Error; err != nil {
			return err
		}
		if rooms > 0 {
			return &meeting.InUseError{What: "the site"}
		}
		if err := tx.Model(&roomRow{}).Where("site_id = ?", id).Update("site_id", nil).Error; err != nil {
			return err
		}
		if err := saveAddress(tx, row.Address, mailAddressRow{}); err != nil {
			return err
		}
		if err := tx.Delete(&siteRow{}, id).Error; err != nil {
			return err
		}
		return s.note(tx, "site.deleted", id, row.Name, []any{row}, nil)
	})
	if err != nil {
		return fmt.Errorf("delete site %d: %w", id, err)
	}
	return nil
}

// ListSites is ordered by name.
func (s *Store) ListSites(ctx context.Context, p meeting.Page) (sites []*meeting.Site, next string, err error) {
	after, err := readCursor("sites", p.Cursor)
	if err != nil {
		return nil, "", err
	}
	q := s.db.WithContext(ctx).Order("lower(name), id").Limit(limit(p) + 1)
	if after != nil {
		q = q.Where("(lower(name), id) > (lower(?), ?)", after.Name, after.ID)
	}
	var rows []*siteRow
	if err := q.Find(&rows).Error; err != nil {
		return nil, "", fmt.Errorf("list sites: %w", err)
	}
	rows, next = paged(rows, limit(p), func(r *siteRow) position { return position{List: "sites", Name: r.Name, ID: r.ID} })
	for _, r := range rows {
		sites = append(sites, r.site())
	}
	return sites, next, nil
}

// take reads the one row of a query.
func take[T any](q *gorm.DB) (*T, error) {
	var row T
	err := q.Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, meeting.ErrNotFound
	}
	return &row, err
}

// forRemoval locks rows so that no new row can refer to them.
func forRemoval(tx *gorm.DB) *gorm.DB { return tx.Clauses(clause.Locking{Strength: "UPDATE"}) }

// forUpdate locks rows that are changed but neither deleted nor given another id: rows that
// refer to them can still be written.
func forUpdate(tx *gorm.DB) *gorm.DB {
	return tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"})
}
