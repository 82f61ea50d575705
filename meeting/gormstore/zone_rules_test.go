package gormstore_test

import (
	"testing"
	"time"
)

// At the start of the program there can be a million coming meetings: they are read one by one.
func TestShownStarts_areNotHeld(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		m := f.book(slot("09:00", "10:00"), f.turing)
		found := 0
		err := f.store.ShownStarts(t.Context(), now, func(zone string, start, shown time.Time) {
			if found++; zone != m.Timezone || !start.Equal(m.Slot.Start) || !shown.Equal(m.Shown.Start) {
				t.Errorf("%s %v %v", zone, start, shown)
			}
			if f.db.Dialect == "postgres" && f.db.SQL.Stats().InUse == 0 {
				t.Error("all meetings were read before the first was looked at")
			}
		})
		if err != nil || found != 1 {
			t.Errorf("%d, %v", found, err)
		}
	})
}
