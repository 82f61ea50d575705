package gormstore

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/meeting"
	"punctual/meeting/photo"
)

type floorPlanRow struct {
	ID            int64
	SiteID        *int64
	Floor         string
	Picture       string
	Width, Height int
	Rooms         []meeting.PlacedRoom `gorm:"serializer:json"`
	Version       int64
	CreatedAt     time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt     time.Time `gorm:"autoUpdateTime:false"`
}

func (floorPlanRow) TableName() string { return "floor_plans" }

type floorPlanPictureRow struct {
	PlanID  int64 `gorm:"primaryKey;autoIncrement:false"`
	Type    string
	Content []byte
}

func (floorPlanPictureRow) TableName() string { return "floor_plan_pictures" }

func newFloorPlanRow(p *meeting.FloorPlan) *floorPlanRow {
	row := &floorPlanRow{
		ID: p.ID, Floor: p.Floor, Picture: p.Picture, Width: p.Width, Height: p.Height, Rooms: list(p.Rooms),
		Version: p.Version, CreatedAt: micro(p.CreatedAt), UpdatedAt: micro(p.UpdatedAt),
	}
	if p.SiteID != 0 {
		row.SiteID = &p.SiteID
	}
	return row
}

func (r *floorPlanRow) plan() *meeting.FloorPlan {
	p := &meeting.FloorPlan{
		ID: r.ID, Floor: r.Floor, Picture: r.Picture, Width: r.Width, Height: r.Height, Rooms: r.Rooms,
		Version: r.Version, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
	if r.SiteID != nil {
		p.SiteID = *r.SiteID
	}
	return p
}

func (s *Store) CreateFloorPlan(ctx context.Context, p *meeting.FloorPlan, picture *photo.Picture) error {
	row := newFloorPlanRow(p)
	row.Version = 1
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row.ID = 0
		if err := tx.Create(row).Error; err != nil {
			return err
		}
		if err := savePlanPicture(tx, row.ID, picture); err != nil {
			return err
		}
		return s.note(tx, "floor_plan.created", row.ID, row.Floor, nil, []any{row})
	})
	if err != nil {
		return fmt.Errorf("create floor plan: %w", err)
	}
	p.ID, p.Version = row.ID, row.Version
	return nil
}

func savePlanPicture(tx *gorm.DB, plan int64, p *photo.Picture) error {
	if p == nil {
		return nil
	}
	return tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&floorPlanPictureRow{PlanID: plan, Type: p.Type, Content: p.Content}).Error
}

func (s *Store) FloorPlan(ctx context.Context, id int64) (*meeting.FloorPlan, error) {
	row, err := take[floorPlanRow](s.db.WithContext(ctx).Where("id = ?", id))
	if err != nil {
		return nil, fmt.Errorf("floor plan %d: %w", id, err)
	}
	return row.plan(), nil
}

// FloorPlans is ordered by site and floor.
func (s *Store) FloorPlans(ctx context.Context) (plans []*meeting.FloorPlan, err error) {
	var rows []*floorPlanRow
	if err := s.db.WithContext(ctx).Order("site_id, lower(floor), id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("list floor plans: %w", err)
	}
	for _, r := range rows {
		plans = append(plans, r.plan())
	}
	return plans, nil
}

func (s *Store) UpdateFloorPlan(ctx context.Context, id int64, picture *photo.Picture, fn func(*meeting.FloorPlan) error) (*meeting.FloorPlan, error) {
	var p *meeting.FloorPlan
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row, err := take[floorPlanRow](forUpdate(tx).Where("id = ?", id))
		if err != nil {
			return fmt.Errorf("update floor plan %d: %w", id, err)
		}
		p = row.plan()
		if err := fn(p); err != nil {
			return err
		}
		p.ID, p.Version = row.ID, row.Version+1
		changed := newFloorPlanRow(p)
		if err := tx.Select("*").Updates(changed).Error; err != nil {
			return fmt.Errorf("update floor plan %d: %w", id, err)
		}
		if err := savePlanPicture(tx, id, picture); err != nil {
			return fmt.Errorf("update floor plan %d: %w", id, err)
		}
		return s.note(tx, "floor_plan.changed", id, changed.Floor, []any{row}, []any{changed})
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (s *Store) DeleteFloorPlan(ctx context.Context, id int64, fn func(*meeting.FloorPlan) error) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row, err := take[floorPlanRow](forRemoval(tx).Where("id = ?", id))
		if err != nil {
			return err
		}
		if err := fn(row.plan()); err != nil {
			return err
		}
		if err := tx.Delete(&floorPlanRow{}, id).Error; err != nil {
			return err
		}
		return s.note(tx, "floor_plan.deleted", id, row.Floor, []any{row}, nil)
	})
	if err != nil {
		return fmt.Errorf("delete floor plan %d: %w", id, err)
	}
	return nil
}

func (s *Store) FloorPlanPicture(ctx context.Context, id int64) (*photo.Picture, string, error) {
	var found []struct {
		Content []byte
		Type    string
		Picture string
	}
	err := s.db.WithContext(ctx).Model(&floorPlanPictureRow{}).Select("floor_plan_pictures.content, floor_plan_pictures.type, floor_plans.picture").
		Joins("JOIN floor_plans ON floor_plans.id = floor_plan_pictures.plan_id").Where("plan_id = ?", id).Find(&found).Error
	if err != nil {
		return nil, "", fmt.Errorf("picture of floor plan %d: %w", id, err)
	}
	if len(found) == 0 {
		return nil, "", meeting.ErrNotFound
	}
	return &photo.Picture{Content: found[0].Content, Type: found[0].Type}, found[0].Picture, nil
}
