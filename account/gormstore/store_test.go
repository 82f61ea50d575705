package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/account"
	"punctual/account/gormstore"
	"punctual/app/database"
	"punctual/tests/testenv"
)

// onBoth runs a test on an empty Postgres and an empty SQLite database.
func onBoth(t *testing.T, test func(t *testing.T, s *gormstore.Store)) {
	t.Parallel()
	for name, url := range map[string]func(testing.TB) string{"postgres": testenv.Postgres, "sqlite": testenv.SQLite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := database.Open(t.Context(), url(t), database.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			if err := db.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			test(t, gormstore.New(db.Gorm))
		})
	}
}

// at is an instant as databases keep it, but for the zone.
var at = time.Date(2027, 2, 10, 17, 0, 0, 123456000, time.FixedZone("", 8*3600))

func newUser(email string, role account.Role) *account.User {
	return &account.User{
		Email: email, Name: "Ada", Role: role, Phone: "+4930123", Locale: "zh-CN", Timezone: "Asia/Shanghai",
		PasswordHash: "$argon2id$", Version: 1, CreatedAt: at, UpdatedAt: at.Add(time.Hour),
	}
}

func mustCreate(t *testing.T, s *gormstore.Store, u *account.User) *account.User {
	t.Helper()
	if err := s.CreateUser(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	return u
}

func wantUTC(t *testing.T, instants ...time.Time) {
	t.Helper()
	for _, i := range instants {
		if i.Location() != time.UTC {
			t.Errorf("%v is not in UTC", i)
		}
	}
}

func TestStore_User(t *testing.T) {
	onBoth(t, func(t *testing.T, s *gormstore.Store) {
		ctx := t.Context()
		want := mustCreate(t, s, newUser("ada@example.org", account.Manager))
		if want.ID == 0 {
			t.Fatal("the user has no id")
		}
		got, err := s.User(ctx, want.ID)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("by id: %v (-want +got):\n%s", err, diff)
		}
		wantUTC(t, got.CreatedAt, got.UpdatedAt)
		got, err = s.UserByEmail(ctx, "ada@example.org")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("by address: %v (-want +got):\n%s", err, diff)
		}
		if _, err := s.User(ctx, want.ID+1); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("no such id: %v", err)
		}
		if _, err := s.UserByEmail(ctx, "bob@example.org"); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("no such address: %v", err)
		}

		updated, err := s.UpdateUser(ctx, want.ID, func(u *account.User, _ int) (account.Revocation, error) {
			u.Name, u.DisabledAt = "Countess", at
			return account.Revocation{}, nil
		})
		want.Name, want.DisabledAt, want.Version = "Countess", at, 2
		if diff := cmp.Diff(want, updated); diff != "" || err != nil {
			t.Errorf("update: %v (-want +got):\n%s", err, diff)
		}
		got, err = s.User(ctx, want.ID)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("after the update: %v (-want +got):\n%s", err, diff)
		}

		mine := errors.New("mine")
		_, err = s.UpdateUser(ctx, want.ID, func(u *account.User, _ int) (account.Revocation, error) {
			u.Name = "Nobody"
			return account.Revocation{}, mine
		})
		if !errors.Is(err, mine) {
			t.Errorf("the function's error became %v", err)
		}
		if got, _ := s.User(ctx, want.ID); got.Name != "Countess" || got.Version != 2 {
			t.Errorf("a refused change was saved: %+v", got)
		}
		_, err = s.UpdateUser(ctx, want.ID+1, func(*account.User, int) (account.Revocation, error) {
			t.Error("called for a user that is not there")
			return account.Revocation{}, nil
		})
		if !errors.Is(err, account.ErrNotFound) {
			t.Errorf("update of nobody: %v", err)
		}
	})
}

func TestStore_emailTaken(t *testing.T) {
	onBoth(t, func(t *testing.T, s *gormstore.Store) {
		mustCreate(t, s, newUser("ada@example.org", account.Member))
		bob := mustCreate(t, s, newUser("bob@example.org", account.Member))
		wantTaken := func(err error) {
			t.Helper()
			e, ok := errors.AsType[*account.InvalidError](err)
			if !ok || len(e.Faults) != 1 || e.Faults[0].Location != "body.email" || e.Faults[0].Code != "taken" {
				t.Errorf("got %v, want body.email taken", err)
			}
		}
		wantTaken(s.CreateUser(t.Context(), newUser("ADA@example.org", account.Member)))
		_, err := s.UpdateUser(t.Context(), bob.ID, func(u *account.User, _ int) (account.Revocation, error) {
			u.Email = "Ada@example.org"
			return account.Revocation{}, nil
		})
		wantTaken(err)
	})
}

func TestStore_ListUsers(t *testing.T) {
	onBoth(t, func(t *testing.T, s *gormstore.Store) {
		var want, got []int64
		for i := range 5 {
			want = append(want, mustCreate(t, s, newUser(fmt.Sprintf("u%d@example.org", i), account.Member)).ID)
		}
		mustCreate(t, s, newUser(account.DoorEmail(7), account.Member)) // nobody
		p, pages := account.Page{Limit: 2}, 0
		for {
			us, next, err := s.ListUsers(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range us {
				got = append(got, u.ID)
			}
			if pages++; next == "" {
				break
			}
			p.Cursor = next
		}
		if diff := cmp.Diff(want, got); diff != "" || pages != 3 {
			t.Errorf("%d pages (-want +got):\n%s", pages, diff)
		}
		if us, next, err := s.ListUsers(t.Context(), account.Page{Limit: 5}); err != nil || next != "" || len(us) != 5 {
			t.Errorf("a page that just fits: %d users, next %q, %v", len(us), next, err)
		}
		for _, cursor := range []string{"x", "aWQ6", "aWQ6eA", "!", strings.Repeat("A", 1000)} {
			_, _, err := s.ListUsers(t.Context(), account.Page{Limit: 2, Cursor: cursor})
			if e, ok := errors.AsType[*account.InvalidError](err); !ok || e.Faults[0].Location != "query.cursor" {
				t.Errorf("cursor %q: %v", cursor, err)
			}
		}
	})
}

func TestStore_CreateFirstUser_race(t *testing.T) {
	onBoth(t, func(t *testing.T, s *gormstore.Store) {
		if err := s.CreateToken(t.Context(), &account.Token{Kind: account.Setup, Hash: "h", CreatedAt: at}); err != nil {
			t.Fatal(err)
		}
		if some, err := s.HasUsers(t.Context()); some || err != nil {
			t.Fatalf("an empty database has users: %v, %v", some, err)
		}
		var created atomic.Int64
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				ok, err := s.CreateFirstUser(t.Context(), newUser(fmt.Sprintf("u%d@example.org", i), account.Admin))
				if err != nil {
					t.Error(err)
				}
				if ok {
					created.Add(1)
				}
			})
		}
		wg.Wait()
		if us, _, _ := s.ListUsers(t.Context(), account.Page{Limit: 100}); created.Load() != 1 || len(us) != 1 {
			t.Errorf("%d say they were first, %d users are there; want one", created.Load(), len(us))
		}
		if some, err := s.HasUsers(t.Context()); !some || err != nil {
			t.Errorf("HasUsers = %v, %v", some, err)
		}
		if _, _, err := s.TokenByHash(t.Context(), "h"); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("the set-up token is still there: %v", err)
		}
	})
}

// Many admins who disable each other at the same time leave one.
func TestStore_UpdateUser_lastAdmin(t *testing.T) {
	onBoth(t, func(t *testing.T, s *gormstore.Store) {
		var admins []int64
		for i := range 8 {
			admins = append(admins, mustCreate(t, s, newUser(fmt.Sprintf("u%d@example.org", i), account.Admin)).ID)
		}
		mustCreate(t, s, newUser("member@example.org", account.Member))
		last := errors.New("the last")
		var refused atomic.Int64
		var wg sync.WaitGroup
		for _, id := range admins {
			wg.Go(func() {
				_, err := s.UpdateUser(t.Context(), id, func(u *account.User, others int) (account.Revocation, error) {
					if others == 0 {
						return account.Revocation{}, last
					}
					u.DisabledAt = at
					return account.Revocation{}, nil
				})
				switch {
				case errors.Is(err, last):
					refused.Add(1)
				case err != nil:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		left, err := s.ActiveAdmins(t.Context())
		if err != nil || len(left) != 1 || refused.Load() != 1 {
			t.Errorf("%d admins are left, %d were refused, %v; want one", len(left), refused.Load(), err)
		}
	})
}

func TestStore_active(t *testing.T) {
	onBoth(t, func(t *testing.T, s *gormstore.Store) {
		ctx := t.Context()
		ada := mustCreate(t, s, newUser("ada@example.org", account.Admin))
		bob := mustCreate(t, s, newUser("bob@example.org", account.Member))
		gone := newUser("gone@example.org", account.Admin)
		gone.DisabledAt = at
		mustCreate(t, s, gone)

		want := func(what string, us []*account.User, err error, ids ...int64) {
			t.Helper()
			var got []int64
			for _, u := range us {
				got = append(got, u.ID)
			}
			if diff := cmp.Diff(ids, got); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", what, err, diff)
			}
		}
		us, err := s.ActiveUsers(ctx, []int64{gone.ID, bob.ID, ada.ID, 12345})
		want("by id", us, err, ada.ID, bob.ID)
		us, err = s.ActiveUsersByEmail(ctx, []string{"BOB@example.org", "gone@example.org", "x@example.org"})
		want("by address", us, err, bob.ID)
		us, err = s.ActiveAdmins(ctx)
		want("admins", us, err, ada.ID)
		us, err = s.ActiveUsers(ctx, nil)
		want("none asked for", us, err)
		us, err = s.ActiveUsersByEmail(ctx, nil)
		want("no address asked for", us, err)
	})
}

func TestStore_Token(t *testing.T) {
	onBoth(t, func(t *testing.T, s *gormstore.Store) {
		ctx := t.Context()
		ada := mustCreate(t, s, newUser("ada@example.org", account.Member))
		full := &account.Token{UserID: ada.ID, Kind: account.API, Name: "CI", Hash: "a", CreatedAt: at,
			Scopes: []account.Scope{account.MeetingsRead, "topics:produce:orders"}, ExpiresAt: at.Add(time.Hour), LastUsedAt: at}
		plain := &account.Token{UserID: ada.ID, Kind: account.Session, Hash: "b", CreatedAt: at}
		none := &account.Token{UserID: ada.ID, Kind: account.API, Hash: "c", CreatedAt: at, Scopes: []account.Scope{}}
		setup := &account.Token{Kind: account.Setup, Hash: "d", CreatedAt: at}
		for _, want := range []*account.Token{full, plain, none, setup} {
			if err := s.CreateToken(ctx, want); err != nil {
				t.Fatal(err)
			}
			got, u, err := s.TokenByHash(ctx, want.Hash)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("token %s: %v (-want +got):\n%s", want.Hash, err, diff)
			}
			wantUTC(t, got.CreatedAt)
			if want.Kind == account.Setup && u != nil {
				t.Errorf("a set-up token has the user %+v", u)
			}
			if diff := cmp.Diff(ada, u); want.Kind != account.Setup && diff != "" {
				t.Errorf("user of token %s (-want +got):\n%s", want.Hash, diff)
			}
		}
		if _, _, err := s.TokenByHash(ctx, "x"); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("no such token: %v", err)
		}

		tokens, next, err := s.ListTokens(ctx, ada.ID, account.API, account.Page{Limit: 1})
		if err != nil || next == "" || len(tokens) != 1 || tokens[0].ID != full.ID {
			t.Fatalf("first page: %v, %q, %v", tokens, next, err)
		}
		tokens, next, err = s.ListTokens(ctx, ada.ID, account.API, account.Page{Limit: 1, Cursor: next})
		if err != nil || next != "" || len(tokens) != 1 || tokens[0].ID != none.ID {
			t.Errorf("second page: %v, %q, %v", tokens, next, err)
		}

		for _, wrong := range []error{
			s.DeleteToken(ctx, ada.ID+1, full.ID, account.API), // another's
			s.DeleteToken(ctx, ada.ID, full.ID, account.Session),
			s.DeleteToken(ctx, ada.ID, 12345, account.API),
		} {
			if !errors.Is(wrong, account.ErrNotFound) {
				t.Errorf("deleted something: %v", wrong)
			}
		}
		if err := s.DeleteToken(ctx, ada.ID, none.ID, account.API); err != nil {
			t.Error(err)
		}
		if _, err := s.DeleteExpiredTokens(ctx, full.ExpiresAt.Add(-time.Microsecond), 10); err != nil || !exists(ctx, s, "a") {
			t.Errorf("deleted before its time: %v", err)
		}
		if n, err := s.DeleteExpiredTokens(ctx, full.ExpiresAt, 10); n != 1 || err != nil || exists(ctx, s, "a") || !exists(ctx, s, "b") {
			t.Errorf("not the expired one was deleted: %v", err)
		}
	})
}

func exists(ctx context.Context, s *gormstore.Store, hash string) bool {
	_, _, err := s.TokenByHash(ctx, hash)
	return err == nil
}

func TestStore_TouchToken(t *testing.T) {
	onBoth(t, func(t *testing.T, s *gormstore.Store) {
		ada := mustCreate(t, s, newUser("ada@example.org", account.Member))
		token := &account.Token{UserID: ada.ID, Kind: account.API, Hash: "a", CreatedAt: at}
		if err := s.CreateToken(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct{ use, want time.Time }{
			{at, at}, // the first
			{at.Add(30 * time.Second), at},
			{at.Add(time.Minute), at.Add(time.Minute)},
			{at, at.Add(time.Minute)}, // a late one of another instance
		} {
			if err := s.TouchToken(t.Context(), token.ID, step.use, step.use.Add(-time.Minute)); err != nil {
				t.Fatal(err)
			}
			got, _, err := s.TokenByHash(t.Context(), "a")
			if err != nil || !got.LastUsedAt.Equal(step.want) {
				t.Errorf("used at %v: last use %v, want %v (%v)", step.use, got.LastUsedAt, step.want, err)
			}
		}
	})
}

func TestStore_revocation(t *testing.T) {
	onBoth(t, func(t *testing.T, s *gormstore.Store) {
		ctx := t.Context()
		tests := []struct {
			revoke account.Revocation // Except: not 0 stands for the first session
			want   string
		}{
			{account.Revocation{}, "session0 session1 api"},
			{account.Revocation{Sessions: true}, "api"},
			{account.Revocation{Sessions: true, Except: 1}, "session0 api"},
			{account.Revocation{API: true, Feeds: true}, "session0 session1"},
			{account.Revocation{Sessions: true, API: true, Feeds: true}, ""},
		}
		for i, tt := range tests {
			u := mustCreate(t, s, newUser(fmt.Sprintf("u%d@example.org", i), account.Member))
			tokens := map[string]*account.Token{}
			for name, kind := range map[string]account.TokenKind{"session0": account.Session, "session1": account.Session, "api": account.API} {
				tokens[name] = &account.Token{UserID: u.ID, Kind: kind, Hash: fmt.Sprint(i, name), CreatedAt: at}
				if err := s.CreateToken(ctx, tokens[name]); err != nil {
					t.Fatal(err)
				}
			}
			if tt.revoke.Except != 0 {
				tt.revoke.Except = tokens["session0"].ID
			}
			if _, err := s.UpdateUser(ctx, u.ID, func(*account.User, int) (account.Revocation, error) { return tt.revoke, nil }); err != nil {
				t.Fatal(err)
			}
			var left []string
			for _, name := range []string{"session0", "session1", "api"} {
				if exists(ctx, s, tokens[name].Hash) {
					left = append(left, name)
				}
			}
			if got := strings.Join(left, " "); got != tt.want {
				t.Errorf("%+v: left are %q, want %q", tt.revoke, got, tt.want)
			}
			if i > 0 && !exists(ctx, s, "0api") {
				t.Error("another user's token went too")
			}
		}
	})
}

func TestStore_Disabled(t *testing.T) {
	onBoth(t, func(t *testing.T, s *gormstore.Store) {
		ada := mustCreate(t, s, newUser("ada@example.org", account.Member))
		disabled := func(email string) int64 {
			u := newUser(email, account.Member)
			u.DisabledAt = at
			return mustCreate(t, s, u).ID
		}
		bob, eve := disabled("bob@example.org"), disabled("Eve@example.org")
		byID, byEmail, err := s.Disabled(t.Context(), []int64{ada.ID, bob, 0}, []string{"EVE@example.org", "nobody@example.org", "ada@example.org"})
		if diff := cmp.Diff(map[int64]bool{bob: true, eve: true}, byID); diff != "" || err != nil {
			t.Errorf("by ID: %v (-want +got):\n%s", err, diff)
		}
		if diff := cmp.Diff(map[string]bool{"bob@example.org": true, "eve@example.org": true}, byEmail); diff != "" {
			t.Errorf("by address (-want +got):\n%s", diff)
		}
		if byID, byEmail, err := s.Disabled(t.Context(), nil, nil); err != nil || len(byID)+len(byEmail) != 0 {
			t.Errorf("of nobody: %v and %v, %v", byID, byEmail, err)
		}
	})
}
