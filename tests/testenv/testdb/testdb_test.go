package testdb_test

import (
	"testing"

	"punctual/app/database"
	"punctual/tests/testenv/testdb"
)

func TestEach_databasesAreMigratedAndSeparate(t *testing.T) {
	for range 2 {
		t.Run("", func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, db *database.DB) {
				var users int64
				if err := db.Gorm.WithContext(t.Context()).Table("sites").Count(&users).Error; err != nil {
					t.Fatal(err)
				}
				if err := db.Gorm.WithContext(t.Context()).Exec("CREATE TABLE here (id integer)").Error; err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}
