package database_test

import (
	"testing"

	"punctual/app/database"
)

// TestOpen_columnAdded: while a newer version adds columns, statements that this version has prepared go on.
func TestOpen_columnAdded(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database.DB) {
		makeThings(t, db)
		if err := db.Gorm.Create(&thing{ID: 1, Name: "a"}).Error; err != nil {
			t.Fatal(err)
		}
		read := func() {
			t.Helper()
			var found []thing
			if err := db.Gorm.WithContext(t.Context()).Where("id > ?", 0).Find(&found).Error; err != nil || len(found) != 1 {
				t.Errorf("%d things, %v", len(found), err)
			}
		}
		read()
		if err := db.Gorm.Exec("ALTER TABLE things ADD COLUMN more text").Error; err != nil {
			t.Fatal(err)
		}
		read()
	})
}
