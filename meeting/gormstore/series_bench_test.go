package gormstore_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
	"punctual/meeting/series"
	"punctual/tests/testenv/testdb"
)

// BenchmarkPreviewSeries_otherRoom previews a series whose rooms are all taken on all dates, at a
// site of 500 rooms: each date needs other rooms.
func BenchmarkPreviewSeries_otherRoom(b *testing.B) {
	for _, c := range []struct{ rooms, dates int }{{50, 350}, {50, 80}, {11, 350}, {1, 350}} {
		b.Run(fmt.Sprintf("rooms=%d/dates=%d", c.rooms, c.dates), func(b *testing.B) {
			f := newFixture(b, testdb.Open(b, "postgres"))
			place := &meeting.Site{Name: "Campus", Timezone: "Europe/Berlin", CreatedAt: now, UpdatedAt: now}
			if err := f.store.CreateSite(b.Context(), place); err != nil {
				b.Fatal(err)
			}
			ids := make([]int64, c.rooms)
			for i := range 500 {
				r := f.room(fmt.Sprint("Room ", i), func(r *meeting.Room) {
					r.SiteID, r.Zone, r.Capacity = place.ID, "Europe/Berlin", 8
					r.Policy.OpeningHours = []policy.OpeningHours{{Days: []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}, From: "06:00", To: "22:00"}}
					if i%4 == 0 {
						r.Policy.Quota = &policy.Quota{Per: "week", Count: 20}
					}
				})
				if i < c.rooms {
					ids[i] = r.ID
				}
			}
			at := now.AddDate(0, 0, 1)
			// Three meetings a day are in each room; one is at the time of the series in the rooms that it wants, and in 60 more.
			f.sql(`WITH made AS (INSERT INTO meetings (title, starts_at, ends_at, timezone, organizer_id, status, visibility, created_at, updated_at)
				SELECT CAST(r.id AS text), s, s + interval '1 hour', 'UTC', ?, 'confirmed', 'public', ?, ?
				FROM rooms r, generate_series(0, 365) d, LATERAL (SELECT CAST(? AS timestamptz) + interval '1 day' * d
					+ interval '1 hour' * (2 * k + CASE WHEN r.id < ? THEN 0 ELSE 1 END) AS s FROM generate_series(0, 2) k) AS s WHERE r.site_id = ? RETURNING *)
				INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at) SELECT id, CAST(title AS bigint), starts_at, ends_at FROM made`,
				f.ben.ID, now, now, at, ids[c.rooms-1]+60, place.ID)
			f.sql("ANALYZE")
			settings := meeting.Settings{Timezone: "Europe/Berlin", HoldPending: true, ApprovalTimeout: time.Hour, Limits: policy.Limits{MaxOccurrences: 366, MaxDuration: 24 * time.Hour}}
			service := newServices(f.store, nobody{}, nothing{}, func() meeting.Settings { return settings }, func() time.Time { return now }, slog.New(slog.DiscardHandler))
			conflict := meeting.OtherRoom
			fields := series.Fields{
				Fields: booking.Fields{Title: new("x"), RoomIDs: &ids, Start: new(clock.Parse(at.Format("2006-01-02T15:04:05"))), End: new(clock.Parse(at.Add(time.Hour).Format("2006-01-02T15:04:05"))), Timezone: new("UTC")},
				Rule:   new(fmt.Sprintf("FREQ=DAILY;COUNT=%d", c.dates)), OnConflict: conflict,
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := service.series.Preview(b.Context(), f.anna, fields); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
