package gormstore_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/gormstore"
	"punctual/meeting/places"
)

// watched is a store that reports how it is used.
type watched struct {
	*gormstore.Store
	lists   int   // calls of ListMeetings
	failing error // of WaitingMoves
	inside  bool  // a transaction of UpdateHolidays
	nested  []string
	before  func() // UpdateFaultReport
}

func (w *watched) used(name string) {
	if w.inside {
		w.nested = append(w.nested, name)
	}
}

func (w *watched) Site(ctx context.Context, id int64) (*meeting.Site, error) {
	w.used("Site")
	return w.Store.Site(ctx, id)
}

func (w *watched) ListSites(ctx context.Context, p meeting.Page) ([]*meeting.Site, string, error) {
	w.used("ListSites")
	return w.Store.ListSites(ctx, p)
}

func (w *watched) ListMeetings(ctx context.Context, q meeting.MeetingQuery, p meeting.Page) ([]*meeting.Meeting, string, error) {
	w.lists++
	return w.Store.ListMeetings(ctx, q, p)
}

func (w *watched) WaitingMoves(ctx context.Context) ([]*meeting.Meeting, error) {
	if w.failing != nil {
		return nil, w.failing
	}
	return w.Store.WaitingMoves(ctx)
}

func (w *watched) UpdateHolidays(ctx context.Context, id int64, all []meeting.HolidayPlace, fn func(*meeting.HolidayCalendar) error) (*meeting.HolidayCalendar, error) {
	return w.Store.UpdateHolidays(ctx, id, all, func(c *meeting.HolidayCalendar) error {
		w.inside = true
		defer func() { w.inside = false }()
		return fn(c)
	})
}

func (w *watched) UpdateFaultReport(ctx context.Context, id int64, fn func(*meeting.FaultReport, *meeting.Room) error) (*meeting.FaultReport, error) {
	w.before()
	return w.Store.UpdateFaultReport(ctx, id, fn)
}

func (f *fixture) places(log *slog.Logger) (*places.Service, *watched) {
	w := &watched{Store: f.store, before: func() {}}
	b := booking.NewService(w, people{f}, nothing{}, func() meeting.Settings { return meeting.Settings{Timezone: "Europe/Berlin"} }, func() time.Time { return now }, log)
	return places.NewService(b, w, people{f}, nothing{}, log), w
}

// The meetings on the days of a holiday calendar are found by one look at each day, however many sites it
// closes. What was saved counts, even if they cannot be found.
func TestHolidays_affected(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		var log bytes.Buffer
		s, w := f.places(slog.New(slog.NewTextHandler(&log, nil)))
		var sites []int64
		var rooms []*meeting.Room
		for _, zone := range []string{"Asia/Tokyo", "Europe/Berlin", "America/New_York", "Asia/Tokyo"} {
			site := &meeting.Site{Name: "Site " + string(rune('A'+len(sites))), Timezone: zone, CreatedAt: now, UpdatedAt: now}
			if err := f.store.CreateSite(t.Context(), site); err != nil {
				t.Fatal(err)
			}
			sites = append(sites, site.ID)
			rooms = append(rooms, f.room(site.Name, func(r *meeting.Room) { r.SiteID = site.ID }))
		}
		// 12:00 UTC is on the first day everywhere, 20:00 UTC is on the next day in Tokyo.
		noon, evening := slot("12:00", "13:00"), slot("20:00", "21:00")
		day := noon.Start.Format(time.DateOnly)
		inTokyo, inBerlin, inTokyoLater, elsewhere := f.book(noon, rooms[0]), f.book(evening, rooms[1]), f.book(evening, rooms[0]), f.book(noon, rooms[3])
		other := f.book(noon, f.turing) // without a site
		days := []meeting.Holiday{{UID: "a", First: day, Last: day, Name: "A"}}
		for i := range 9 {
			next := noon.Start.AddDate(0, 0, i+2).Format(time.DateOnly)
			days = append(days, meeting.Holiday{UID: next, First: next, Last: next, Name: next})
		}
		days = append(days, meeting.Holiday{UID: "past", First: "2026-01-01", Last: "2026-01-01", Name: "Past"})
		affected := func(e places.HolidayEffect, want ...*meeting.Meeting) {
			t.Helper()
			var got, ids []meeting.ID
			for _, m := range e.Affected.Meetings {
				got = append(got, m.ID)
			}
			for _, m := range want {
				ids = append(ids, m.ID)
			}
			slices.Sort(got)
			slices.Sort(ids)
			f.want("affected", got, ids)
		}
		some := slices.Clone(sites[:3])
		c, effect, err := s.CreateHolidays(t.Context(), f.admin, places.HolidayFields{Name: new("Days"), SiteIDs: &some, Days: &days})
		if err != nil || effect.Affected.More {
			t.Fatal(effect.Affected.More, err)
		}
		affected(effect, inTokyo, inBerlin)
		f.want("looks", w.lists, 10)

		_, effect, err = s.UpdateHolidays(t.Context(), f.admin, c.ID, nil, places.HolidayFields{SiteIDs: &[]int64{}})
		if err != nil {
			t.Fatal(err)
		}
		affected(effect, inTokyo, inBerlin, elsewhere, other)
		_, effect, err = s.UpdateHolidays(t.Context(), f.admin, c.ID, nil, places.HolidayFields{SiteIDs: &[]int64{sites[0]}, Days: &[]meeting.Holiday{{UID: "b", First: noon.Start.AddDate(0, 0, 1).Format(time.DateOnly), Last: noon.Start.AddDate(0, 0, 1).Format(time.DateOnly), Name: "B"}}})
		if err != nil {
			t.Fatal(err)
		}
		affected(effect, inTokyoLater)

		// Sites are checked without another connection while the calendar is locked.
		if _, _, err := s.UpdateHolidays(t.Context(), f.admin, c.ID, nil, places.HolidayFields{SiteIDs: &[]int64{sites[1], 999}}); err == nil || !strings.Contains(err.Error(), "site_ids[1]") {
			t.Errorf("an unknown site: %v", err)
		}
		if len(w.nested) > 0 {
			t.Errorf("within the transaction: %v", w.nested)
		}

		w.failing = errors.New("no connection")
		c, effect, err = s.CreateHolidays(t.Context(), f.admin, places.HolidayFields{Name: new("More"), Days: &days})
		if err != nil || !effect.Affected.More || c.ID == 0 || !strings.Contains(log.String(), "no connection") {
			t.Errorf("saved without the meetings: %+v %v\n%s", effect, err, log.String())
		}
		if _, _, err = s.PreviewHolidays(t.Context(), f.admin, 0, places.HolidayFields{Days: &days}); !errors.Is(err, w.failing) {
			t.Errorf("a preview without the meetings: %v", err)
		}
	})
}

// An approver who is removed at that moment does not close a report.
func TestCloseFault_removedApprover(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, w := f.places(slog.New(slog.DiscardHandler))
		room := f.room("Hall", func(r *meeting.Room) { r.Approval.ApproverIDs = []int64{f.manager.ID} })
		r := &meeting.FaultReport{RoomID: room.ID, Category: meeting.OtherFault, Text: "Broken", By: f.anna.ID, CreatedAt: now, UpdatedAt: now}
		if err := f.store.CreateFaultReport(t.Context(), r, nil, func(int64) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if _, err := s.CloseFault(t.Context(), f.manager, r.ID, nil, true); err != nil {
			t.Fatal(err)
		}
		w.before = func() {
			if _, err := f.store.UpdateRoom(t.Context(), room.ID, func(r *meeting.Room) error { r.Approval.ApproverIDs = nil; return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.CloseFault(t.Context(), f.manager, r.ID, nil, false); !errors.Is(err, meeting.ErrForbidden) {
			t.Errorf("a removed approver: %v", err)
		}
		if _, err := s.CloseFault(t.Context(), f.admin, 999, nil, true); !errors.Is(err, meeting.ErrNotFound) {
			t.Errorf("an unknown report: %v", err)
		}
	})
}
