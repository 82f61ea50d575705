package gormstore_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"punctual/account"
	accountstore "punctual/account/gormstore"
	"punctual/meeting"
)

// A room follows the access of its site unless it has its own, and a group that either names stays.
func TestAccess_stored(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.sql("INSERT INTO groups (id, name, version, created_at, updated_at) VALUES (1, 'crew', 1, ?, ?), (2, 'others', 1, ?, ?)", now, now, now, now)
		f.sql("INSERT INTO group_members (user_id, group_id) VALUES (?, 2), (?, 1)", f.anna.ID, f.anna.ID)
		if groups, err := f.store.GroupsOf(t.Context(), f.anna.ID); err != nil || !cmp.Equal(groups, []int64{1, 2}) {
			t.Errorf("anna is in %v, %v", groups, err)
		}
		if groups, err := f.store.GroupsOf(t.Context(), 4711); err != nil || len(groups) != 0 {
			t.Errorf("nobody is in %v, %v", groups, err)
		}
		site := &meeting.Site{Name: "Berlin", Access: meeting.Access{Book: []int64{1}}, CreatedAt: now, UpdatedAt: now}
		if err := f.store.CreateSite(t.Context(), site); err != nil {
			t.Fatal(err)
		}
		room := f.room("Turing", func(r *meeting.Room) { r.SiteID = site.ID })
		read := func() *meeting.Room {
			t.Helper()
			rooms, err := f.store.Rooms(t.Context(), []int64{room.ID})
			if err != nil {
				t.Fatal(err)
			}
			return rooms[0]
		}
		want := func(own *meeting.Access, inForce meeting.Access) {
			t.Helper()
			got := read()
			if diff := cmp.Diff([]any{own, inForce}, []any{got.OwnAccess, got.Access}); diff != "" {
				t.Errorf("own and in force (-want +got):\n%s", diff)
			}
		}
		deletable := func(group int64, want error) {
			t.Helper()
			if err := accountstore.New(f.db.Gorm).DeleteGroup(t.Context(), group); !errors.Is(err, want) {
				t.Errorf("delete group %d: %v, want %v", group, err, want)
			}
		}
		give := func(a *meeting.Access) {
			t.Helper()
			before := read().Closures
			if _, err := f.store.UpdateRoom(t.Context(), room.ID, func(r *meeting.Room) error { r.OwnAccess = a; return nil }); err != nil {
				t.Fatal(err)
			}
			if read().Closures == before {
				t.Error("bookings that were checked before are not checked again")
			}
		}
		want(nil, meeting.Access{Book: []int64{1}})
		deletable(1, account.ErrGroupInUse)
		own := &meeting.Access{WithoutApproval: []int64{2}, Override: []int64{1, 2}}
		give(own)
		want(own, *own)
		deletable(2, account.ErrGroupInUse)
		give(&meeting.Access{})
		want(&meeting.Access{}, meeting.Access{})
		give(nil)
		want(nil, meeting.Access{Book: []int64{1}})
		before := read().Closures
		if _, err := f.store.UpdateSite(t.Context(), site.ID, func(s *meeting.Site) error { s.Access = meeting.Access{}; return nil }); err != nil {
			t.Fatal(err)
		}
		if read().Closures == before {
			t.Error("the access of the site changed, but bookings that were checked before are not checked again")
		}
		want(nil, meeting.Access{})
		_, err := f.store.UpdateRoom(t.Context(), room.ID, func(r *meeting.Room) error { r.OwnAccess = &meeting.Access{Book: []int64{99}}; return nil })
		if _, ok := errors.AsType[*meeting.InvalidError](err); !ok {
			t.Errorf("an unknown group: %v", err)
		}
		deletable(1, nil)
		give(&meeting.Access{Book: []int64{2}})
		if err := f.store.DeleteRoom(t.Context(), room.ID, now, func(*meeting.Room) error { return nil }); err != nil {
			t.Fatal(err)
		}
		deletable(2, nil)
	})
}

// Rights are those of the moment at which a booking is saved.
func TestRights_groups(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.sql("INSERT INTO groups (id, name, version, created_at, updated_at) VALUES (1, 'crew', 1, ?, ?)", now, now)
		f.sql("INSERT INTO group_members (user_id, group_id) VALUES (?, 1)", f.anna.ID)
		f.sql("INSERT INTO tokens (id, user_id, kind, name, hash, created_at) VALUES (7, ?, 'api', 'a', 'h', ?)", f.anna.ID, now)
		guarded := f.store.Guarded(accountstore.Guard{})
		ctx := account.WithPrincipal(t.Context(), &account.Principal{UserID: f.anna.ID, TokenID: 7, Role: account.Member, Groups: []int64{1}})
		if err := guarded.CreateMeeting(ctx, bookAt(terms(slot("09:00", "10:00"), f.turing), f.anna, now)); err != nil {
			t.Fatal(err)
		}
		f.sql("DELETE FROM group_members")
		if err := guarded.CreateMeeting(ctx, bookAt(terms(slot("11:00", "12:00"), f.turing), f.anna, now)); !errors.Is(err, account.ErrForbidden) {
			t.Errorf("a caller who has left the group: %v", err)
		}
	})
}

// A delegate saves only what the user for whom they act may do at that moment.
func TestRights_principal(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.sql("INSERT INTO groups (id, name, version, created_at, updated_at) VALUES (1, 'crew', 1, ?, ?), (2, 'late', 1, ?, ?)", now, now, now, now)
		f.sql("UPDATE users SET role = 'manager' WHERE id = ?", f.ben.ID)
		f.sql("INSERT INTO group_members (user_id, group_id) VALUES (?, 1)", f.ben.ID)
		f.sql("INSERT INTO delegates (user_id, delegate_id, private, created_at) VALUES (?, ?, true, ?)", f.ben.ID, f.anna.ID, now)
		f.sql("INSERT INTO tokens (id, user_id, kind, name, hash, created_at) VALUES (7, ?, 'api', 'a', 'h', ?)", f.anna.ID, now)
		guarded := f.store.Guarded(accountstore.Guard{})
		ctx := account.WithPrincipal(t.Context(), &account.Principal{UserID: f.anna.ID, TokenID: 7, Role: account.Member, ActsFor: []account.ActsFor{
			{UserID: f.ben.ID, Role: account.Manager, Groups: []int64{1}},
		}})
		hour := 8
		var booked *meeting.Meeting
		saves := func(allowed bool) {
			t.Helper()
			hour++
			m := bookAt(terms(slot(fmt.Sprintf("%02d:00", hour), fmt.Sprintf("%02d:30", hour)), f.turing), f.ben, now)
			err := guarded.CreateMeeting(ctx, m)
			if allowed {
				booked = m
			}
			_, _, changed := guarded.UpdateMeeting(ctx, booked.ID, func(m *meeting.Meeting) error { m.Title += "!"; return nil })
			for _, err := range []error{err, changed} {
				if allowed && err != nil || !allowed && !errors.Is(err, account.ErrForbidden) {
					t.Errorf("allowed is %t: %v", allowed, err)
				}
			}
		}
		saves(true)
		f.sql("INSERT INTO group_members (user_id, group_id) VALUES (?, 2)", f.ben.ID)
		f.sql("UPDATE users SET role = 'admin' WHERE id = ?", f.ben.ID)
		saves(true)
		f.sql("UPDATE users SET role = 'member' WHERE id = ?", f.ben.ID)
		saves(false)
		f.sql("UPDATE users SET role = 'manager' WHERE id = ?", f.ben.ID)
		saves(true)
		f.sql("DELETE FROM group_members WHERE group_id = 1")
		saves(false)
	})
}
