package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"punctual/account"
	"punctual/account/gormstore"
)

func mustGroup(t *testing.T, s *gormstore.Store, name, source, external string) *account.Group {
	t.Helper()
	g := &account.Group{Name: name, Source: source, ExternalID: external, Version: 1, CreatedAt: at, UpdatedAt: at}
	if err := s.CreateGroup(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	return g
}

func anyGroup(*account.Group) error { return nil }

// wantGroups also checks that whoever reads the user reads the groups.
func wantGroups(t *testing.T, s *gormstore.Store, userID int64, want ...int64) {
	t.Helper()
	u, err := s.User(t.Context(), userID)
	if err != nil || !slices.Equal(u.Groups, want) {
		t.Errorf("the user %d is in %v, %v; want %v", userID, u.Groups, err, want)
	}
	of, err := s.GroupsOf(t.Context(), userID)
	var ids []int64
	for _, g := range of {
		ids = append(ids, g.ID)
	}
	slices.Sort(ids)
	if err != nil || !slices.Equal(ids, want) {
		t.Errorf("the groups of user %d are %v, %v; want %v", userID, ids, err, want)
	}
}

func TestStore_Group(t *testing.T) {
	onBoth(t, func(t *testing.T, s *gormstore.Store) {
		ctx := t.Context()
		ada, bob := mustCreate(t, s, newUser("ada@example.org", account.Member)), mustCreate(t, s, newUser("bob_1@example.org", account.Member))
		research, board := mustGroup(t, s, "Équipe research", "", ""), mustGroup(t, s, "board", "oidc:corp", "board")
		for _, taken := range []account.Group{{Name: "BOARD"}, {Name: "éQUIPE Research"}} {
			taken.CreatedAt, taken.UpdatedAt = at, at
			if err := s.CreateGroup(ctx, &taken); !errors.Is(err, account.ErrGroupNameTaken) {
				t.Errorf("%s: %v", taken.Name, err)
			}
		}
		if err := s.CreateGroup(ctx, &account.Group{Name: "other", Source: "oidc:corp", ExternalID: "board", CreatedAt: at, UpdatedAt: at}); !errors.Is(err, account.ErrGroupExternalTaken) {
			t.Errorf("the same group of the provider twice: %v", err)
		}

		if err := s.ChangeMembers(ctx, board.ID, []int64{ada.ID, bob.ID, ada.ID}, nil, anyGroup); err != nil {
			t.Fatal(err)
		}
		if err := s.ChangeMembers(ctx, research.ID, []int64{ada.ID}, []int64{bob.ID}, anyGroup); err != nil {
			t.Fatal(err)
		}
		wantGroups(t, s, ada.ID, research.ID, board.ID)
		wantGroups(t, s, bob.ID, board.ID)
		if err := s.ChangeMembers(ctx, board.ID, []int64{ada.ID, 99}, nil, anyGroup); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("an unknown user: %v", err)
		}
		if err := s.ChangeMembers(ctx, 99, []int64{ada.ID}, nil, anyGroup); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("an unknown group: %v", err)
		}
		if err := s.ChangeMembers(ctx, board.ID, nil, []int64{ada.ID}, func(*account.Group) error { return account.ErrGroupProvided }); !errors.Is(err, account.ErrGroupProvided) {
			t.Errorf("refused: %v", err)
		}
		wantGroups(t, s, ada.ID, research.ID, board.ID)

		got, err := s.Group(ctx, board.ID)
		board.Members = 2
		if diff := cmp.Diff(board, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		wantUTC(t, got.CreatedAt, got.UpdatedAt)
		members, _, err := s.GroupMembers(ctx, board.ID, "BOB_", account.Page{Limit: 10})
		if err != nil || len(members) != 1 || members[0].ID != bob.ID {
			t.Errorf("members by address: %v %v", members, err)
		}
		first, next, err := s.GroupMembers(ctx, board.ID, "", account.Page{Limit: 1})
		if err != nil || len(first) != 1 || next == "" {
			t.Fatalf("%v %q %v", first, next, err)
		}
		if rest, next, err := s.GroupMembers(ctx, board.ID, "", account.Page{Limit: 1, Cursor: next}); err != nil || len(rest) != 1 || rest[0].ID == first[0].ID || next != "" {
			t.Errorf("the second page: %v %q %v", rest, next, err)
		}

		var names []string
		for p := (account.Page{Limit: 1}); ; {
			page, next, err := s.ListGroups(ctx, account.GroupQuery{}, p)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range page {
				names = append(names, fmt.Sprint(g.Name, g.Members))
			}
			if p.Cursor = next; next == "" {
				break
			}
		}
		if !slices.Equal(names, []string{"board2", "Équipe research1"}) {
			t.Errorf("by name: %v", names)
		}
		if found, _, err := s.ListGroups(ctx, account.GroupQuery{Text: "ÉQUIPE"}, account.Page{Limit: 10}); err != nil || len(found) != 1 {
			t.Errorf("by text: %v %v", found, err)
		}
		if found, _, err := s.ListGroups(ctx, account.GroupQuery{UserID: bob.ID}, account.Page{Limit: 10}); err != nil || len(found) != 1 || found[0].ID != board.ID {
			t.Errorf("by member: %v %v", found, err)
		}
		if _, _, err := s.ListGroups(ctx, account.GroupQuery{}, account.Page{Limit: 10, Cursor: "x"}); err == nil {
			t.Error("a wrong cursor is accepted")
		}

		changed, err := s.UpdateGroup(ctx, board.ID, func(g *account.Group) error { g.Name = "Board"; return nil })
		if err != nil || changed.Name != "Board" || changed.Version != 2 || changed.Members != 2 {
			t.Errorf("%+v %v", changed, err)
		}
		if _, err := s.UpdateGroup(ctx, board.ID, func(g *account.Group) error { g.Name = "équipe Research"; return nil }); !errors.Is(err, account.ErrGroupNameTaken) {
			t.Errorf("renamed like another: %v", err)
		}

		// A saved user keeps the groups.
		if _, err := s.UpdateUser(ctx, ada.ID, func(u *account.User, _ int) (account.Revocation, error) {
			u.Groups = nil
			return account.Revocation{}, nil
		}); err != nil {
			t.Fatal(err)
		}
		wantGroups(t, s, ada.ID, research.ID, board.ID)
		if err := s.DeleteGroup(ctx, board.ID); err != nil {
			t.Fatal(err)
		}
		wantGroups(t, s, ada.ID, research.ID)
		wantGroups(t, s, bob.ID)
		if err := s.DeleteGroup(ctx, board.ID); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("deleted again: %v", err)
		}
	})
}

// A sign-in sets the memberships of its provider, and no others.
func TestStore_SetMemberships(t *testing.T) {
	onBoth(t, func(t *testing.T, s *gormstore.Store) {
		ctx := t.Context()
		ada := mustCreate(t, s, newUser("ada@example.org", account.Member))
		own, other := mustGroup(t, s, "own", "", ""), mustGroup(t, s, "other", "ldap:corp", "A")
		a, b := mustGroup(t, s, "a", "oidc:corp", "A"), mustGroup(t, s, "b", "oidc:corp", "B")
		for _, g := range []*account.Group{own, other} {
			if err := s.ChangeMembers(ctx, g.ID, []int64{ada.ID}, nil, anyGroup); err != nil {
				t.Fatal(err)
			}
		}
		for claims, want := range map[string][]int64{"AX": {own.ID, other.ID, a.ID}, "AB": {own.ID, other.ID, a.ID, b.ID}, "B": {own.ID, other.ID, b.ID}, "": {own.ID, other.ID}} {
			if err := s.SetMemberships(ctx, ada.ID, "oidc:corp", func(id string) bool { return strings.Contains(claims, id) }); err != nil {
				t.Fatal(err)
			}
			wantGroups(t, s, ada.ID, want...)
		}
		for source, want := range map[string]bool{"oidc:corp": true, "oidc:other": false, "": false} {
			if some, err := s.HasGroupsOf(ctx, source); err != nil || some != want {
				t.Errorf("%q: %v %v", source, some, err)
			}
		}
	})
}

// The caller of a request who has left a group meanwhile has lost rights.
func TestRecheck_groups(t *testing.T) {
	onBoth(t, func(t *testing.T, s *gormstore.Store) {
		ada := mustCreate(t, s, newUser("ada@example.org", account.Admin))
		g, other := mustGroup(t, s, "g", "", ""), mustGroup(t, s, "other", "", "")
		token := &account.Token{UserID: ada.ID, Kind: account.API, Hash: "h", CreatedAt: at}
		if err := s.CreateToken(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		by := func(groups ...int64) context.Context {
			return account.WithPrincipal(t.Context(), &account.Principal{UserID: ada.ID, TokenID: token.ID, Role: account.Admin, Groups: groups})
		}
		for ctx, want := range map[context.Context]error{by(g.ID): account.ErrForbidden, by(): nil} {
			if err := s.ChangeMembers(ctx, other.ID, []int64{ada.ID}, nil, anyGroup); !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
		}
		if err := s.ChangeMembers(t.Context(), g.ID, []int64{ada.ID}, nil, anyGroup); err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteGroup(by(g.ID, other.ID), other.ID); err != nil {
			t.Error(err)
		}
	})
}

// Changes of many members at once, in whatever order, do not wait for each other forever.
func TestChangeMembers_concurrently(t *testing.T) {
	onBoth(t, func(t *testing.T, s *gormstore.Store) {
		var users []int64
		for i := range 20 {
			users = append(users, mustCreate(t, s, newUser(fmt.Sprintf("u%d@example.org", i), account.Member)).ID)
		}
		back := slices.Clone(users)
		slices.Reverse(back)
		var work errgroup.Group
		var groups []int64
		for i := range 4 {
			g := mustGroup(t, s, fmt.Sprint(i), "", "")
			groups = append(groups, g.ID)
			add := users
			if i%2 == 1 {
				add = back
			}
			work.Go(func() error { return s.ChangeMembers(t.Context(), g.ID, add, nil, anyGroup) })
		}
		if err := work.Wait(); err != nil {
			t.Fatal(err)
		}
		for _, u := range users {
			wantGroups(t, s, u, groups...)
		}
	})
}

// A delegate acts with the rights of the user for whom they act, and a request of theirs ends with any of these rights.
func TestRecheck_delegates(t *testing.T) {
	onBoth(t, func(t *testing.T, s *gormstore.Store) {
		ctx := t.Context()
		ada := mustCreate(t, s, newUser("ada@example.org", account.Manager))
		other := mustCreate(t, s, newUser("other@example.org", account.Member))
		grace := mustCreate(t, s, newUser("grace@example.org", account.Admin))
		mustCreate(t, s, newUser("root@example.org", account.Admin))
		board, late := mustGroup(t, s, "board", "", ""), mustGroup(t, s, "late", "", "")
		join := func(g *account.Group, users ...int64) {
			t.Helper()
			if err := s.ChangeMembers(ctx, g.ID, users, nil, anyGroup); err != nil {
				t.Fatal(err)
			}
		}
		join(board, ada.ID)
		for _, u := range []*account.User{ada, other} {
			if err := s.SetDelegate(ctx, u.ID, account.Delegate{UserID: grace.ID, CreatedAt: at}); err != nil {
				t.Fatal(err)
			}
		}
		token := &account.Token{UserID: grace.ID, Kind: account.API, Hash: "h", CreatedAt: at}
		if err := s.CreateToken(ctx, token); err != nil {
			t.Fatal(err)
		}
		known := func(want ...account.ActsFor) []account.ActsFor {
			t.Helper()
			u, err := s.User(ctx, grace.ID)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, u.ActsFor); diff != "" {
				t.Errorf("Grace acts for others (-want +got):\n%s", diff)
			}
			return u.ActsFor
		}
		rest := account.ActsFor{UserID: other.ID, Role: account.Member, Groups: []int64{}}
		begun := known(account.ActsFor{UserID: ada.ID, Role: account.Manager, Groups: []int64{board.ID}}, rest)
		work := func(actsFor []account.ActsFor, want error) {
			t.Helper()
			request := account.WithPrincipal(ctx, &account.Principal{UserID: grace.ID, TokenID: token.ID, Role: account.Admin, ActsFor: actsFor})
			if err := s.ChangeMembers(request, late.ID, nil, nil, anyGroup); !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
		}
		change := func(fn func(*account.User)) {
			t.Helper()
			if _, err := s.UpdateUser(ctx, ada.ID, func(u *account.User, _ int) (account.Revocation, error) { fn(u); return account.Revocation{}, nil }); err != nil {
				t.Fatal(err)
			}
		}
		work(begun, nil)

		join(late, ada.ID) // more rights
		change(func(u *account.User) { u.Role = account.Admin })
		more := known(account.ActsFor{UserID: ada.ID, Role: account.Admin, Groups: []int64{board.ID, late.ID}}, rest)
		work(begun, nil)
		change(func(u *account.User) { u.Role = account.Manager })
		work(more, account.ErrForbidden)
		work(begun, nil)
		change(func(u *account.User) { u.Role = account.Member })
		work(begun, account.ErrForbidden)
		change(func(u *account.User) { u.Role = account.Manager })
		work(begun, nil)
		if err := s.DeleteGroup(ctx, board.ID); err != nil {
			t.Fatal(err)
		}
		work(begun, account.ErrForbidden)
		begun = known(account.ActsFor{UserID: ada.ID, Role: account.Manager, Groups: []int64{late.ID}}, rest)
		change(func(u *account.User) { u.DisabledAt = at })
		work(begun, account.ErrForbidden)
		known(rest)
	})
}
