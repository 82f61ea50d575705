package gormstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"punctual/meeting"
	"punctual/meeting/gormstore"
	"punctual/meeting/policy"
)

func TestRooms_readBackTheSame(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		site := &meeting.Site{Name: "Berlin", Timezone: "Europe/Berlin", CreatedAt: now, UpdatedAt: now}
		if err := f.store.CreateSite(t.Context(), site); err != nil {
			t.Fatal(err)
		}
		full := &meeting.Room{
			Room: policy.Room{
				Name:     "Ümläut",
				SiteID:   site.ID,
				Capacity: 8,
				Active:   true,
				Policy: policy.Policy{
					OpeningHours: []policy.OpeningHours{{Days: []string{"MO", "TU"}, From: "08:00", To: "24:00"}},
					MinDuration:  15 * time.Minute, MaxDuration: 8 * time.Hour, MinNotice: time.Minute, MaxAdvance: 8760 * time.Hour,
					BufferBefore: time.Minute, BufferAfter: 1500 * time.Millisecond,
					Quota: &policy.Quota{Per: "week", Count: 3, Duration: time.Hour},
				},
			},
			Floor:     "3",
			Features:  []string{"projector", `a "b"`},
			Approval:  meeting.RoomApproval{Required: true, ApproverIDs: []int64{f.manager.ID, f.admin.ID}, Timeout: 24 * time.Hour},
			CheckIn:   meeting.CheckIn{Required: true, Opens: 15 * time.Minute, Grace: 10 * time.Minute},
			CreatedAt: now,
			UpdatedAt: now,
		}
		if err := f.store.CreateRooms(t.Context(), []*meeting.Room{full}); err != nil {
			t.Fatal(err)
		}
		full.Zone = "Europe/Berlin"
		bare := f.room("Bare", func(r *meeting.Room) { r.Timezone = "Asia/Shanghai" })
		bare.Zone = bare.Timezone
		got, err := f.store.Rooms(t.Context(), []int64{bare.ID, 999, full.ID})
		if err != nil {
			t.Fatal(err)
		}
		f.want("rooms", got, []*meeting.Room{bare, full})
		f.want("version", full.Version, int64(1))

		changed, err := f.store.UpdateRoom(t.Context(), full.ID, func(r *meeting.Room) error {
			f.want("in the function", r, full)
			r.Name, r.SiteID, r.Features, r.Active = "New", 0, nil, false
			r.Approval.ApproverIDs = []int64{f.admin.ID, f.manager.ID}
			r.Policy.Quota = nil
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if changed.Version != 2 || changed.Zone != "" {
			t.Errorf("changed: %+v", changed)
		}
		got, err = f.store.Rooms(t.Context(), []int64{full.ID})
		if err != nil {
			t.Fatal(err)
		}
		f.want("changed", got, []*meeting.Room{changed})

		oops := errors.New("oops")
		if _, err := f.store.UpdateRoom(t.Context(), full.ID, func(r *meeting.Room) error { r.Name = "x"; return oops }); err != oops {
			t.Errorf("the function's error: %v", err)
		}
		got, _ = f.store.Rooms(t.Context(), []int64{full.ID})
		f.want("undone", got, []*meeting.Room{changed})
	})
}

func TestListRooms(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		site := &meeting.Site{Name: "S", CreatedAt: now, UpdatedAt: now}
		if err := f.store.CreateSite(t.Context(), site); err != nil {
			t.Fatal(err)
		}
		f.room("alpha", func(r *meeting.Room) { r.Capacity, r.Features = 10, []string{"video", "board"} })
		f.room("Alpha", func(r *meeting.Room) { r.Capacity, r.Features, r.SiteID = 4, []string{"video"}, site.ID })
		f.room("Öl", func(r *meeting.Room) { r.Floor, r.Features = "Ärzte 50%", []string{`R&D "ü"`, "a,b"} })
		f.room("closed", func(r *meeting.Room) { r.Active = false })
		for _, c := range []struct {
			name string
			q    meeting.RoomQuery
			want string
		}{
			{"all", meeting.RoomQuery{}, "[alpha Alpha Hopper Turing Wide Öl]"},
			{"inactive too", meeting.RoomQuery{IncludeInactive: true}, "[alpha Alpha closed Hopper Turing Wide Öl]"},
			{"site", meeting.RoomQuery{SiteID: site.ID}, "[Alpha]"},
			{"capacity", meeting.RoomQuery{MinCapacity: 5}, "[alpha]"},
			{"feature", meeting.RoomQuery{Features: []string{"video"}}, "[alpha Alpha]"},
			{"features", meeting.RoomQuery{Features: []string{"board", "video"}}, "[alpha]"},
			{"no such feature", meeting.RoomQuery{Features: []string{"vid"}}, "[]"},
			{"feature that JSON escapes", meeting.RoomQuery{Features: []string{`R&D "ü"`, "a,b"}}, "[Öl]"},
			{"text between features", meeting.RoomQuery{Features: []string{","}}, "[]"},
			{"text", meeting.RoomQuery{Text: "ALPHA"}, "[alpha Alpha]"},
			{"text in the floor", meeting.RoomQuery{Text: "ärzte 50%"}, "[Öl]"},
			{"text is no pattern", meeting.RoomQuery{Text: "_"}, "[]"},
		} {
			for _, size := range []int{1, 2, 100} {
				names := []string{}
				p := meeting.Page{Limit: size}
				for {
					rooms, next, err := f.store.ListRooms(t.Context(), c.q, p)
					if err != nil {
						t.Fatal(err)
					}
					for _, r := range rooms {
						names = append(names, r.Name)
					}
					if p.Cursor = next; next == "" {
						break
					}
				}
				f.want(c.name, fmt.Sprint(names), c.want)
			}
		}
		if _, _, err := f.store.ListRooms(t.Context(), meeting.RoomQuery{}, meeting.Page{Cursor: "?"}); err == nil {
			t.Error("a bad cursor was accepted")
		}
	})
}

func TestDeleteRoom(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		m := f.book(slot("09:00", "10:00"), f.turing)
		f.book(slot("09:00", "11:00"), f.hopper, f.wide)
		err := f.store.DeleteRoom(t.Context(), f.wide.ID, at("10:30"), anyRoom)
		inUse, ok := errors.AsType[*meeting.InUseError](err)
		if !ok || !inUse.Until.Equal(at("11:00")) {
			t.Errorf("in use: %v", err)
		}
		if err := f.store.DeleteRoom(t.Context(), f.turing.ID, at("10:00"), anyRoom); err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{
			"delete again": f.store.DeleteRoom(t.Context(), f.turing.ID, now, anyRoom),
			"unknown":      f.store.DeleteRoom(t.Context(), 999, now, anyRoom),
			"update": func() error {
				_, err := f.store.UpdateRoom(t.Context(), f.turing.ID, func(*meeting.Room) error { return nil })
				return err
			}(),
		} {
			if !errors.Is(err, meeting.ErrNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if rooms, err := f.store.Rooms(t.Context(), []int64{f.turing.ID}); err != nil || len(rooms) != 0 {
			t.Errorf("found %v, %v", rooms, err)
		}
		f.want("its past", f.read(m.ID).RoomNames, []string{"Turing"})
	})
}

func TestSites(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		for _, name := range []string{"berlin", "Aachen", "Köln"} {
			s := &meeting.Site{Name: name, Timezone: "Europe/Berlin", CreatedAt: now, UpdatedAt: now}
			if err := f.store.CreateSite(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			got, err := f.store.Site(t.Context(), s.ID)
			if err != nil {
				t.Fatal(err)
			}
			f.want("read", got, s)
		}
		var names []string
		p := meeting.Page{Limit: 2}
		for {
			sites, next, err := f.store.ListSites(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range sites {
				names = append(names, s.Name)
			}
			if p.Cursor = next; next == "" {
				break
			}
		}
		f.want("list", names, []string{"Aachen", "berlin", "Köln"})

		changed, err := f.store.UpdateSite(t.Context(), 1, func(s *meeting.Site) error { s.Timezone = ""; return nil })
		if err != nil || changed.Version != 2 || changed.Timezone != "" {
			t.Errorf("changed %+v, %v", changed, err)
		}
		r := f.room("Here", func(r *meeting.Room) { r.SiteID = 1 })
		if err := f.store.DeleteSite(t.Context(), 1, anySite); err == nil {
			t.Error("deleted a site with a room")
		} else if _, ok := errors.AsType[*meeting.InUseError](err); !ok {
			t.Errorf("in use: %v", err)
		}
		if err := f.store.DeleteRoom(t.Context(), r.ID, now, anyRoom); err != nil {
			t.Fatal(err)
		}
		if err := f.store.DeleteSite(t.Context(), 1, anySite); err != nil {
			t.Errorf("without rooms: %v", err)
		}
		if _, err := f.store.Site(t.Context(), 1); !errors.Is(err, meeting.ErrNotFound) {
			t.Errorf("deleted: %v", err)
		}
		if err := f.store.DeleteSite(t.Context(), 1, anySite); !errors.Is(err, meeting.ErrNotFound) {
			t.Errorf("deleted again: %v", err)
		}
	})
}

func anyRoom(*meeting.Room) error { return nil }
func anySite(*meeting.Site) error { return nil }

// The rooms of a site are read in the order of their names, without those of other sites and without
// sorting.
func TestListRooms_ofASite(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		here, there := &meeting.Site{Name: "Last", CreatedAt: now, UpdatedAt: now}, &meeting.Site{Name: "First", CreatedAt: now, UpdatedAt: now}
		for _, s := range []*meeting.Site{here, there} {
			if err := f.store.CreateSite(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			f.sql(`INSERT INTO rooms (name, site_id, features, policy, created_at, updated_at)
				WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
				SELECT CAST(? AS text) || i, ?, '[]', '{}', CAST(? AS timestamptz), CAST(? AS timestamptz) FROM n`, s.Name, s.ID, now, now)
		}
		if f.db.Dialect == "postgres" {
			f.sql("ANALYZE rooms")
		}
		err := f.db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error {
			if f.db.Dialect == "postgres" { // as with a large site
				if err := tx.Exec("SET LOCAL enable_sort = off").Error; err != nil {
					return err
				}
			}
			queries := &recorder{tx.Statement.ConnPool, map[string][]any{}}
			recorded := tx.Session(&gorm.Session{NewDB: true, Context: t.Context()})
			recorded.Statement.ConnPool = queries
			before := f.rowsRead(tx)
			rooms, _, err := gormstore.New(recorded, outbox{}).ListRooms(t.Context(), meeting.RoomQuery{SiteID: here.ID}, meeting.Page{Limit: 100})
			if read := f.rowsRead(tx) - before; err != nil || len(rooms) != 100 || read > 500 {
				t.Errorf("%d rooms, %d rows read, %v", len(rooms), read, err)
			}
			if f.db.Dialect == "sqlite" {
				for q, args := range queries.args {
					if plan := f.plan(tx, q, args); strings.Contains(plan, "B-TREE FOR ORDER BY") {
						t.Errorf("sorted:\n%s", plan)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
