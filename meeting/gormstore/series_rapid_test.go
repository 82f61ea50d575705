package gormstore_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/places"
	"punctual/meeting/policy"
	"punctual/meeting/series"
)

// A preview of a series, or of a change of one, tells what is saved then, whatever the rooms
// ask for and whatever is in the way: each date with its time, rooms and state, each that cannot
// be and why; and that nothing is saved, if so.
func TestSeries_previewIsWhatIsSaved(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		over := time.Now().Add(3 * time.Second)
		rounds, saved := 0, 0
		rapid.Check(t, func(t *rapid.T) {
			if time.Now().After(over) && saved > 0 {
				return // enough was seen; how much depends on the machine
			}
			rounds++
			saved += newSite(f, t).run(t)
		})
		if t.Logf("%d rounds, %d changes saved", rounds, saved); saved == 0 {
			t.Error("nothing was ever saved")
		}
	})
}

// A substitute room of one date lets that date use a quota at once, so the move of another date,
// which waits for approval, may exceed it. The plan must know that before it is saved.
func TestSeries_substituteTakesTheQuotaOfAMove(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		hall := f.room("Hall", func(r *meeting.Room) {
			r.Approval = meeting.RoomApproval{Required: true, ApproverIDs: []int64{f.manager.ID}}
		})
		lab := f.limited("Lab", policy.Quota{Per: policy.PerMonth, Count: 1})
		for _, name := range []string{"Spare", "Another"} {
			f.room(name, func(r *meeting.Room) { r.Capacity = 4 })
		}
		taken := every(hall, "")
		taken.Fields.Reminders = nil
		if _, err := f.service().Book(t.Context(), f.ben, taken.Fields); err != nil {
			t.Fatal(err)
		}
		made, err := f.service().series.Book(t.Context(), f.anna, every(f.turing, "FREQ=WEEKLY;COUNT=2"))
		if err != nil {
			t.Fatal(err)
		}
		change := series.Fields{OnConflict: meeting.OtherRoom}
		change.RoomIDs = &[]int64{hall.ID, lab.ID}
		preview, err := f.service().series.PreviewUpdate(t.Context(), f.anna, made.Series.ID, nil, change)
		if err != nil || !preview.Saved {
			t.Fatalf("the preview: saved %v, skipped %+v, %v", preview.Saved, preview.Skipped, err)
		}
		saved, err := f.service().series.Update(t.Context(), f.anna, made.Series.ID, nil, change)
		if err != nil {
			t.Fatal(err)
		}
		f.want("the saved dates", plain(saved), plain(preview))
		if m := saved.Meetings[0]; !slices.Contains(m.RoomIDs, lab.ID) || slices.Contains(m.RoomIDs, hall.ID) {
			t.Errorf("the first date takes %v, which should be the lab and a substitute of the hall", m.RoomIDs)
		}
		if r := saved.Meetings[1].Request; r == nil || slices.Contains(r.Change.RoomIDs, lab.ID) {
			t.Errorf("the second date requests %+v, which should be the hall and a substitute of the lab", r)
		}
	})
}

// site has rooms of every kind, some of them taken for some time.
type site struct {
	*fixture
	service *services
	rooms   []*meeting.Room
}

func newSite(f *fixture, t *rapid.T) *site {
	s := &site{fixture: f}
	settings := meeting.Settings{
		Timezone: "Europe/Berlin", HoldPending: rapid.Bool().Draw(t, "hold_pending"), ApprovalTimeout: time.Hour,
		Limits: policy.Limits{MaxOccurrences: 366, MaxDuration: 24 * time.Hour},
	}
	s.service = newServices(f.store, nobody{}, nothing{}, func() meeting.Settings { return settings },
		func() time.Time { return now }, slog.New(slog.DiscardHandler))
	place := &meeting.Site{Name: fmt.Sprintf("Site %d", f.count("sites")), Timezone: "Europe/Berlin", CreatedAt: now, UpdatedAt: now}
	if err := f.store.CreateSite(f.Context(), place); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		s.rooms = append(s.rooms, f.room(fmt.Sprint(i), func(r *meeting.Room) {
			r.SiteID, r.Zone, r.Capacity = place.ID, "Europe/Berlin", rapid.SampledFrom([]int{4, 4, 8}).Draw(t, "capacity")
			if rapid.IntRange(1, 3).Draw(t, "quota?") == 1 {
				r.Policy.Quota = &policy.Quota{Per: rapid.SampledFrom([]string{"day", "week", "month"}).Draw(t, "per"), Count: rapid.IntRange(1, 4).Draw(t, "count")}
			}
			if rapid.IntRange(1, 4).Draw(t, "buffer?") == 1 {
				r.Policy.BufferAfter = 30 * time.Minute
			}
			if rapid.IntRange(1, 4).Draw(t, "hours?") == 1 {
				r.Policy.OpeningHours = []policy.OpeningHours{{Days: []string{"MO", "TU", "WE", "TH"}, From: "08:00", To: "20:00"}}
			}
			r.Approval.Required = rapid.IntRange(1, 4).Draw(t, "approval?") == 1
		}))
	}
	for range rapid.IntRange(0, 8).Draw(t, "taken") {
		start := now.AddDate(0, 0, rapid.IntRange(1, 20).Draw(t, "day")).Add(time.Duration(rapid.IntRange(0, 6).Draw(t, "hour")) * time.Hour)
		by := rapid.SampledFrom([]meeting.Actor{f.anna, f.ben, f.admin}).Draw(t, "by")
		_, _ = s.service.Book(f.Context(), by, booking.Fields{
			Title: new("In the way"), RoomIDs: &[]int64{s.rooms[rapid.IntRange(0, 4).Draw(t, "of")].ID},
			Start: new(clock.At(start)), End: new(clock.At(start.Add(time.Hour))),
		})
	}
	if rapid.Bool().Draw(t, "blackout?") {
		start := now.AddDate(0, 0, rapid.IntRange(1, 20).Draw(t, "closed"))
		_, _, err := s.service.places.CreateBlackout(f.Context(), f.admin, places.BlackoutFields{
			RoomID: &s.rooms[rapid.IntRange(0, 4).Draw(t, "of")].ID, Reason: new("Paint"),
			Start: new(clock.At(start)), End: new(clock.At(start.AddDate(0, 0, 2))),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// run makes a series and changes it some times, and counts what was saved.
func (s *site) run(t *rapid.T) (saved int) {
	ctx := s.Context()
	fields := s.draw(t, true)
	made := s.agree(t, "new", func() (*booking.SeriesResult, error) { return s.service.series.Preview(ctx, s.anna, fields) },
		func() (*booking.SeriesResult, error) { return s.service.series.Book(ctx, s.anna, fields) })
	for range 3 {
		if made == nil {
			return saved
		}
		saved++
		id := made.Series.ID
		change := s.draw(t, false)
		if next := made.Meetings; len(next) > 1 && rapid.Bool().Draw(t, "following") {
			change.Scope, change.From = meeting.ScopeFollowing, new(clock.At(next[len(next)/2].OriginalStart))
			change.Start, change.End = nil, nil
			if next[len(next)/2].OriginalStart.IsZero() {
				return saved
			}
		}
		r := s.agree(t, "change", func() (*booking.SeriesResult, error) {
			return s.service.series.PreviewUpdate(ctx, s.anna, id, nil, change)
		},
			func() (*booking.SeriesResult, error) { return s.service.series.Update(ctx, s.anna, id, nil, change) })
		if r != nil {
			made = r
		}
	}
	return saved
}

func (s *site) draw(t *rapid.T, whole bool) series.Fields {
	is := func(name string) bool { return whole || rapid.Bool().Draw(t, name) }
	f := series.Fields{OnConflict: rapid.SampledFrom([]meeting.OnConflict{"fail", "skip", "other_room"}).Draw(t, "on_conflict")}
	day := now.AddDate(0, 0, rapid.IntRange(1, 5).Draw(t, "first"))
	if is("time") {
		start := day.Add(time.Duration(rapid.IntRange(0, 6).Draw(t, "hour")) * time.Hour)
		f.Start, f.End = new(clock.At(start)), new(clock.At(start.Add(time.Duration(rapid.IntRange(1, 3).Draw(t, "hours"))*time.Hour)))
	}
	if is("rule") {
		f.Rule = new(rapid.SampledFrom([]string{"FREQ=DAILY;COUNT=6", "FREQ=DAILY;INTERVAL=2;COUNT=5", "FREQ=WEEKLY;COUNT=3"}).Draw(t, "rrule"))
	}
	if is("rooms") {
		var ids []int64
		for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, 4), 1, 2, rapid.ID[int]).Draw(t, "rooms") {
			ids = append(ids, s.rooms[i].ID)
		}
		f.RoomIDs = &ids
	}
	if whole {
		f.Title, f.Timezone = new("Series"), new("Europe/Berlin")
		f.Attendees = &[]meeting.Person{{Email: "a@example.org"}}
	}
	return f
}

// agree compares a preview with what is saved, which it returns; nil: nothing was.
func (s *site) agree(t *rapid.T, what string, preview, save func() (*booking.SeriesResult, error)) *booking.SeriesResult {
	seen, err := preview()
	saved, saveErr := save()
	if err != nil {
		if saveErr == nil || saveErr.Error() != err.Error() {
			t.Fatalf("%s: the preview says %v, saving %v", what, err, saveErr)
		}
		return nil
	}
	refused, _ := errors.AsType[*meeting.SeriesConflictError](saveErr)
	switch {
	case saveErr != nil && refused == nil:
		t.Fatalf("%s: the preview says saved: %v, saving fails: %v", what, seen.Saved, saveErr)
	case seen.Saved != (saveErr == nil):
		t.Fatalf("%s: the preview says saved: %v; %v", what, seen.Saved, saveErr)
	case refused != nil:
		if d := cmp.Diff(seen.Skipped, refused.Dates); d != "" {
			t.Fatalf("%s: dates that cannot be: %s", what, d)
		}
		return nil
	}
	if d := cmp.Diff(plain(seen), plain(saved)); d != "" {
		t.Fatalf("%s: preview and what is saved: %s", what, d)
	}
	if d := cmp.Diff(seen.Skipped, saved.Skipped); d != "" {
		t.Fatalf("%s: dates that cannot be: %s", what, d)
	}
	for _, m := range saved.Meetings { // what is answered is what is there
		stored, err := s.store.Meeting(s.Context(), m.ID)
		if err != nil || !stored.Slot.Start.Equal(m.Slot.Start) || !slices.Equal(stored.RoomIDs, m.RoomIDs) || stored.Status != m.Status {
			t.Fatalf("%s: %d is not stored as answered: %v", what, m.ID, err)
		}
	}
	return saved
}

// plain is what can be compared of a plan and of what was saved.
func plain(r *booking.SeriesResult) (dates []string) {
	for _, m := range r.Meetings {
		dates = append(dates, fmt.Sprint(m.Slot.Start, m.Slot.End, m.OriginalStart, m.RoomIDs, m.Status, m.Title, m.Request != nil))
	}
	return append(dates, fmt.Sprint(r.Series.Rule, r.Series.Start, r.Series.End, r.Series.RoomIDs, r.Previous != nil))
}
