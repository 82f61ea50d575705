package audit

import (
	"context"
	"fmt"

	"gorm.io/gorm"
)

// Place is a place in the order in which entries are followed: by transaction, then by ID.
type Place struct{ Tx, ID int64 }

// ended returns the first transaction that may still write. Transactions before it have ended.
func ended(tx *gorm.DB) (first int64, err error) {
	if tx.Name() == "sqlite" { // commits in the order of the IDs
		return 1, nil
	}
	err = tx.Raw("SELECT CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint)").Row().Scan(&first)
	return first, err
}

// End returns the place that comes before all entries yet to be written.
func End(ctx context.Context, db *gorm.DB) (Place, error) {
	tx := db.WithContext(ctx)
	if tx.Name() == "sqlite" {
		var p Place
		err := tx.Raw("SELECT COALESCE(max(id), 0) FROM audit").Row().Scan(&p.ID)
		return p, err
	}
	first, err := ended(tx)
	return Place{Tx: first}, err
}

// After returns the entries of the installation after a place, and the place of the last one. It leaves
// out what transactions that have not ended may still precede, so whoever goes on from there misses
// nothing. Histories of meetings are not among them.
func After(ctx context.Context, db *gorm.DB, p Place, limit int) (lines []Line, last Place, err error) {
	tx := db.WithContext(ctx)
	first, err := ended(tx)
	if err != nil {
		return nil, p, fmt.Errorf("follow the audit log: %w", err)
	}
	if p.Tx > first { // the database was restored elsewhere, where numbers begin again
		p = Place{Tx: first}
	}
	var rows []row
	s := sources[ofInstallation]
	err = tx.Table(s.from).Select(s.columns+", e.tx").Where("(e.tx, e.id) > (?, ?) AND e.tx < ?", p.Tx, p.ID, first).
		Order("e.tx, e.id").Limit(limit).Find(&rows).Error
	if err != nil {
		return nil, p, fmt.Errorf("follow the audit log: %w", err)
	}
	for _, r := range rows {
		l, err := r.line(ofInstallation)
		if err != nil {
			return nil, p, fmt.Errorf("entry %s: %w", l.ID, err)
		}
		lines, p = append(lines, l), Place{r.Tx, r.ID}
	}
	return lines, p, nil
}
