package gormstore_test

import (
	"log/slog"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/policy"
	"punctual/meeting/series"
)

// A meeting that becomes a series is stored as its first date, whose UID all dates have. An undo
// makes it a single meeting again, and cancels the others.
func TestRepeat(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		settings := meeting.Settings{Timezone: "Europe/Berlin", HoldPending: true, Limits: policy.Limits{MaxOccurrences: 366}, Undo: time.Minute}
		service := newServices(f.store, nobody{}, nothing{}, func() meeting.Settings { return settings }, func() time.Time { return now }, slog.New(slog.DiscardHandler))
		single := every(f.wide, "")
		single.Rule = nil
		m, err := service.Book(t.Context(), f.anna, single.Fields)
		if err != nil {
			t.Fatal(err)
		}
		made, err := service.series.Repeat(t.Context(), f.anna, m.ID, nil, series.Fields{Rule: new("FREQ=WEEKLY;COUNT=3")})
		if err != nil {
			t.Fatal(err)
		}
		recurring, err := f.store.Series(t.Context(), made.Series.ID)
		if err != nil || recurring.FirstMeeting != m.ID || recurring.Sequence <= m.Version {
			t.Fatalf("the series is %+v, %v", recurring, err)
		}
		dates, err := f.store.SeriesMeetings(t.Context(), recurring.ID)
		if err != nil || len(dates) != 3 || dates[0].ID != m.ID {
			t.Fatalf("the dates are %v, %v", dates, err)
		}
		for _, d := range dates {
			if d.SeriesFirst != m.ID || !d.OriginalStart.Equal(d.Slot.Start) || d.OriginalWall.IsZero() {
				t.Errorf("the date %+v", d)
			}
		}
		if _, err := service.UndoSeries(t.Context(), f.anna, recurring.ID, nil); err != nil {
			t.Fatal(err)
		}
		back, err := f.store.Meeting(t.Context(), m.ID)
		if err != nil || back.SeriesID != 0 || !back.OriginalStart.IsZero() || back.Status != meeting.Confirmed || back.SeriesFirst != 0 {
			t.Errorf("after the undo it is %+v, %v", back, err)
		}
		if dates, err = f.store.SeriesMeetings(t.Context(), recurring.ID); err != nil || len(dates) != 2 || dates[0].Status != meeting.Cancelled || dates[1].Status != meeting.Cancelled {
			t.Errorf("after the undo the others are %v, %v", dates, err)
		}
		if _, err := service.series.Repeat(t.Context(), f.anna, m.ID, nil, series.Fields{Rule: new("FREQ=WEEKLY;COUNT=2")}); err != nil {
			t.Errorf("it does not repeat again: %v", err)
		}
	})
}
