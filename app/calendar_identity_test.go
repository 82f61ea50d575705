package app

import (
	"testing"

	"punctual/migrations"
	"punctual/tests/testenv/testdb"
)

// UIDs of events never change, whatever the configuration says later, and no two installations
// share one. What was sent before an upgrade keeps what it was sent with.
func TestCalendarIdentity(t *testing.T) {
	for _, dialect := range []migrations.Dialect{migrations.SQLite, migrations.Postgres} {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			db := openDatabase(t, testdb.URL(t, dialect))
			first, err := calendarIdentity(t.Context(), db.Gorm, "old.example.org")
			if err != nil || len(first.Domain) < 32 || first.FormerMeeting != 0 || first.FormerSeries != 0 {
				t.Fatalf("%+v, %v", first, err)
			}
			if again, err := calendarIdentity(t.Context(), db.Gorm, "new.example.org"); err != nil || again != first {
				t.Errorf("with another address: %+v, then %+v, %v", first, again, err)
			}
			other, err := calendarIdentity(t.Context(), openDatabase(t, testdb.URL(t, dialect)).Gorm, "old.example.org")
			if err != nil || other.Domain == first.Domain {
				t.Errorf("two installations are %q (%v)", other.Domain, err)
			}

			// As an upgrade finds it.
			if err := db.Gorm.Exec("UPDATE calendar_identity SET domain = NULL, former_domain = NULL, former_meeting = 7, former_series = 3").Error; err != nil {
				t.Fatal(err)
			}
			for _, domain := range []string{"old.example.org", "new.example.org"} {
				id, err := calendarIdentity(t.Context(), db.Gorm, domain)
				if err != nil || id.FormerDomain != "old.example.org" || id.FormerMeeting != 7 || id.FormerSeries != 3 || id.Domain == "" {
					t.Errorf("after an upgrade, with %s: %+v, %v", domain, id, err)
				}
			}
		})
	}
}
