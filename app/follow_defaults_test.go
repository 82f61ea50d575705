package app

import (
	"log/slog"
	"testing"

	"punctual/tests/testenv"
)

// A database that does not take the default reminders keeps no change of the configuration from
// being in force, and is tried again.
func TestFollowReminders_triesOn(t *testing.T) {
	a, _ := startApplication(t, nil)
	log := &testenv.LogBuffer{}
	a.log = NewLogger(log, "text", slog.LevelInfo)
	rename := func(from, to string) {
		t.Helper()
		if err := a.db.Gorm.Exec("ALTER TABLE " + from + " RENAME TO " + to).Error; err != nil {
			t.Fatal(err)
		}
	}
	rename("meetings", "away")
	now := *a.config
	now.Log.Level = "error"
	if err := a.apply(t.Context(), a.config, &now); err != nil || a.level.Level() != slog.LevelError || a.latest.Load() != &now {
		t.Fatalf("applied: %v, level %v", err, a.level.Level())
	}
	follow(t, a)
	log.Await(t, "applying default reminders to meetings failed")
	rename("away", "meetings")
	log.Await(t, "default reminders applied to meetings")
}
