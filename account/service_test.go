package account_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

const (
	email    = "ada@example.org"
	password = "a good long password"
	ip       = "192.0.2.1"
)

// fixture is a Service on an empty SQLite database, and its clock.
type fixture struct {
	*account.Service
	clock   atomic.Int64
	store   account.Store
	mailbox *mailbox // of passkeyService alone
}

func (f *fixture) now() time.Time          { return time.UnixMicro(f.clock.Load()) }
func (f *fixture) advance(d time.Duration) { f.clock.Add(d.Microseconds()) }

func newService(t *testing.T, c account.Config) *fixture {
	t.Helper()
	db, err := database.Open(t.Context(), testenv.SQLite(t), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := &fixture{}
	f.clock.Store(time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC).UnixMicro())
	c.Now = f.now
	f.store = gormstore.New(db.Gorm)
	f.Service = account.New(f.store, c)
	return f
}

func (f *fixture) mustCreate(t *testing.T, email string, role account.Role) *account.User {
	t.Helper()
	u, err := f.CreateUser(t.Context(), account.NewUser{Email: email, Name: "Ada", Role: role, Password: password})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func (f *fixture) mustLogin(t *testing.T, email, password string) (secret string, p *account.Principal) {
	t.Helper()
	in, err := f.Login(t.Context(), email, password, account.Client{IP: ip})
	if err != nil {
		t.Fatal(err)
	}
	p, err = f.Authenticate(t.Context(), in.Secret)
	if err != nil {
		t.Fatal(err)
	}
	return in.Secret, p
}

func (f *fixture) works(t *testing.T, secret string) bool {
	t.Helper()
	_, err := f.Authenticate(t.Context(), secret)
	if err != nil && !errors.Is(err, account.ErrUnauthorized) {
		t.Fatal(err)
	}
	return err == nil
}

func codes(err error) []string {
	e, ok := errors.AsType[*account.InvalidError](err)
	if !ok {
		return []string{fmt.Sprint(err)}
	}
	var cs []string
	for _, f := range e.Faults {
		cs = append(cs, f.Location+" "+f.Code)
	}
	return cs
}

func wantFaults(t *testing.T, err error, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, codes(err)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

func TestService_Login(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{SessionTTL: time.Hour})
	ada := f.mustCreate(t, email, account.Manager)
	gone := f.mustCreate(t, "gone@example.org", account.Member)
	if _, err := f.UpdateUser(t.Context(), gone.ID, nil, account.UserPatch{Disabled: new(true)}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.CreateUser(t.Context(), account.NewUser{Email: "none@example.org", Name: "N", Role: account.Member}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, email, password string }{
		{"wrong password", email, password + "x"},
		{"empty password", email, ""},
		{"unknown address", "zoe@example.org", password},
		{"no address", "", password},
		{"NUL in address", "ada\x00@example.org", password},
		{"disabled", "gone@example.org", password},
		{"no password set", "none@example.org", password},
		{"no password set, none given", "none@example.org", ""},
	} {
		if _, err := f.Login(t.Context(), tt.email, tt.password, account.Client{IP: ip}); !errors.Is(err, account.ErrUnauthorized) {
			t.Errorf("%s: %v, want ErrUnauthorized", tt.name, err)
		}
	}
	in, err := f.Login(t.Context(), " ADA@example.org ", password, account.Client{IP: ip})
	if err != nil {
		t.Fatal(err)
	}
	if want := f.now().Add(time.Hour); !in.ExpiresAt.Equal(want) || in.User.ID != ada.ID {
		t.Errorf("session of user %d until %v, want %d until %v", in.User.ID, in.ExpiresAt, ada.ID, want)
	}
	p, err := f.Authenticate(t.Context(), in.Secret)
	if err != nil {
		t.Fatal(err)
	}
	want := &account.Principal{
		UserID: ada.ID, Email: email, Name: "Ada", Role: account.Manager, Locale: "en", Timezone: "UTC",
		TokenID: p.TokenID, Kind: account.Session, Since: f.now(), Until: in.ExpiresAt,
	}
	if diff := cmp.Diff(want, p); diff != "" || p.TokenID == 0 {
		t.Errorf("principal (-want +got):\n%s", diff)
	}
	f.advance(time.Hour - time.Microsecond)
	if !f.works(t, in.Secret) {
		t.Error("the session ended early")
	}
	f.advance(time.Microsecond)
	if f.works(t, in.Secret) {
		t.Error("the session did not end in time")
	}
}

func TestService_Authenticate_nonsense(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{})
	f.mustCreate(t, email, account.Member)
	secret, _ := f.mustLogin(t, email, password)
	for _, s := range []string{"", "pq_", "pq_" + strings.Repeat("A", 43), strings.Repeat("x", 1<<20), secret + "A", secret[:len(secret)-1], "\x00"} {
		if f.works(t, s) {
			t.Errorf("%.50q works", s)
		}
	}
}

// Attempts at the same time cannot slip through between the check and the charge.
func TestService_Login_limitRace(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{Limiter: account.NewMemoryLimiter(account.Rate{Count: 3, Per: time.Hour})})
	var tried atomic.Int64
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := f.Login(t.Context(), email, "wrong", account.Client{IP: ip}); errors.Is(err, account.ErrUnauthorized) {
				tried.Add(1)
			}
		})
	}
	wg.Wait()
	if tried.Load() != 3 {
		t.Errorf("%d passwords were tried, want 3", tried.Load())
	}
}

func TestService_Logout(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{})
	f.mustCreate(t, email, account.Member)
	secret, p := f.mustLogin(t, email, password)
	other, _ := f.mustLogin(t, email, password)
	for range 2 { // the second finds it done
		if err := f.Logout(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	if f.works(t, secret) || !f.works(t, other) {
		t.Error("not this session ended")
	}
	_, api, err := f.CreateToken(t.Context(), p, account.NewToken{Name: "CI"})
	if err != nil {
		t.Fatal(err)
	}
	byToken, err := f.Authenticate(t.Context(), api)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Logout(t.Context(), byToken); !errors.Is(err, account.ErrForbidden) || !f.works(t, api) {
		t.Errorf("signing out with an API token: %v", err)
	}
}

func TestService_lastUse(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{SessionTTL: time.Hour})
	f.mustCreate(t, email, account.Member)
	_, p := f.mustLogin(t, email, password)
	_, secret, err := f.CreateToken(t.Context(), p, account.NewToken{Name: "CI"})
	if err != nil {
		t.Fatal(err)
	}
	first := f.now()
	for _, step := range []struct{ pause, want time.Duration }{
		{0, 0}, {59 * time.Second, 0}, {2 * time.Second, 61 * time.Second}, {59 * time.Second, 61 * time.Second},
	} {
		f.advance(step.pause)
		noted := func() time.Duration {
			if !f.works(t, secret) {
				t.Fatal("the token does not work")
			}
			tokens, _, err := f.ListTokens(t.Context(), p, account.Page{Limit: 10})
			if err != nil || len(tokens) != 1 {
				t.Fatalf("tokens %v, %v", tokens, err)
			}
			return tokens[0].LastUsedAt.Sub(first)
		}
		for end := time.Now().Add(time.Minute); noted() != step.want && time.Now().Before(end); time.Sleep(time.Millisecond) {
		}
		if got := noted(); got != step.want {
			t.Errorf("last use noted at %v, want %v", got, step.want)
		}
	}
}

// slow is a store whose writer stays busy.
type slow struct {
	account.Store
	ended chan error
}

func (s slow) TouchToken(ctx context.Context, _ int64, _, _ time.Time) error {
	<-ctx.Done()
	s.ended <- ctx.Err()
	return ctx.Err()
}

// Whoever only reads does not wait until it is noted that they were there. Close does, for what it has ended.
func TestService_lastUseDoesNotWait(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{SessionTTL: time.Hour})
	f.mustCreate(t, email, account.Member)
	secret, _ := f.mustLogin(t, email, password)
	f.advance(2 * time.Minute)
	db := slow{f.store, make(chan error, 2)}
	service := account.New(db, account.Config{Now: f.now})
	for range 2 {
		if _, err := service.Authenticate(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	if len(db.ended) != 0 {
		t.Error("a request waits for a writer")
	}
	service.Close()
	if len(db.ended) != 1 || !errors.Is(<-db.ended, context.Canceled) {
		t.Error("Close leaves what it did not end")
	}
}

func TestService_CreateToken(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{})
	f.mustCreate(t, email, account.Admin)
	_, p := f.mustLogin(t, email, password)
	bob := f.mustCreate(t, "bob@example.org", account.Member)

	tok, secret, err := f.CreateToken(t.Context(), p, account.NewToken{
		Name: " CI ", ExpiresAt: f.now().Add(time.Hour),
		Scopes: []account.Scope{"topics:produce:orders", account.MeetingsRead, account.MeetingsRead},
	})
	if err != nil {
		t.Fatal(err)
	}
	byToken, err := f.Authenticate(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	if want := []account.Scope{account.MeetingsRead, "topics:produce:orders"}; tok.Name != "CI" || !slices.Equal(byToken.Scopes, want) {
		t.Errorf("token %q with %q, want CI with %q", tok.Name, byToken.Scopes, want)
	}
	if err := account.Authorize(byToken, "list-meetings"); err != nil {
		t.Errorf("within its scopes: %v", err)
	}
	if err := account.Authorize(byToken, "create-meeting"); !errors.Is(err, account.ErrForbidden) {
		t.Errorf("outside its scopes: %v", err)
	}

	_, _, err = f.CreateToken(t.Context(), p, account.NewToken{ExpiresAt: f.now(), Scopes: []account.Scope{"meetings:read", "all", "topics:produce:", "meetings:read:1", ""}})
	wantFaults(t, err, "body.name required", "body.expires_at in_past", "body.scopes[1] unknown_value", "body.scopes[2] unknown_value",
		"body.scopes[3] unknown_value", "body.scopes[4] unknown_value")
	_, _, err = f.CreateToken(t.Context(), p, account.NewToken{Name: "x", Scopes: []account.Scope{}})
	wantFaults(t, err, "body.scopes too_few")

	if err := f.DeleteToken(t.Context(), &account.Principal{UserID: bob.ID}, tok.ID); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("another's token: %v", err)
	}
	if err := f.DeleteToken(t.Context(), p, p.TokenID); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("a session as if it were an API token: %v", err)
	}
	if err := f.DeleteToken(t.Context(), p, tok.ID); err != nil || f.works(t, secret) {
		t.Errorf("deleted: %v, still works: %v", err, f.works(t, secret))
	}
}

// Scopes of topics give a right that only an admin has to give.
func TestService_CreateToken_lifetime(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{})
	ada := f.mustCreate(t, email, account.Member)
	p := &account.Principal{UserID: ada.ID, Role: account.Member}
	const day = 24 * time.Hour
	for _, tt := range []struct{ usual, longest, asked, want time.Duration }{
		{0, 0, 0, 0}, {0, 0, 900 * day, 900 * day}, {365 * day, 0, 0, 365 * day}, {365 * day, 0, 900 * day, 900 * day},
		{0, 90 * day, 0, 90 * day}, {365 * day, 90 * day, 0, 90 * day}, {30 * day, 90 * day, 0, 30 * day}, {30 * day, 90 * day, 90 * day, 90 * day},
	} {
		f.SetTokenTTL(tt.usual, tt.longest)
		end := func(d time.Duration) time.Time {
			if d == 0 {
				return time.Time{}
			}
			return f.now().Add(d).UTC()
		}
		token, _, err := f.CreateToken(t.Context(), p, account.NewToken{Name: "T", ExpiresAt: end(tt.asked)})
		if err != nil || !token.ExpiresAt.Equal(end(tt.want)) {
			t.Errorf("%+v: %v, %v", tt, token, err)
		}
	}
	_, _, err := f.CreateToken(t.Context(), p, account.NewToken{Name: "T", ExpiresAt: f.now().Add(91 * day)})
	wantFaults(t, err, "body.expires_at too_late")
}

func TestService_CreateToken_topics(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{})
	admin := f.mustCreate(t, email, account.Admin)
	f.mustCreate(t, "root@example.org", account.Admin)
	bob := f.mustCreate(t, "bob@example.org", account.Member)
	scopes := []account.Scope{"topics:produce:orders", account.TopicsConsume}

	_, _, err := f.CreateToken(t.Context(), &account.Principal{UserID: bob.ID, Role: account.Manager}, account.NewToken{Name: "x", Scopes: append(scopes, account.RoomsRead)})
	wantFaults(t, err, "body.scopes[0] not_allowed", "body.scopes[1] not_allowed")
	_, _, err = f.CreateUserToken(t.Context(), bob.ID, account.NewToken{Name: "x", Scopes: append(scopes, account.RoomsRead)})
	wantFaults(t, err, "body.scopes[2] not_allowed")
	_, _, err = f.CreateUserToken(t.Context(), bob.ID, account.NewToken{Name: "x"})
	wantFaults(t, err, "body.scopes too_few")
	if _, _, err = f.CreateUserToken(t.Context(), 1<<40, account.NewToken{Name: "x", Scopes: scopes}); !errors.Is(err, account.ErrNotFound) {
		t.Error(err)
	}

	_, shop, err := f.CreateUserToken(t.Context(), bob.ID, account.NewToken{Name: "shop", Scopes: scopes})
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Authenticate(t.Context(), shop)
	if err != nil || p.UserID != bob.ID || account.Authorize(p, "pop-topic-jobs") != nil || account.Authorize(p, "list-rooms") == nil {
		t.Errorf("%+v, %v", p, err)
	}
	var own []string
	for _, scopes := range [][]account.Scope{scopes, {account.MeetingsRead}} {
		_, secret, err := f.CreateToken(t.Context(), &account.Principal{UserID: admin.ID, Role: account.Admin}, account.NewToken{Name: "x", Scopes: scopes})
		if err != nil {
			t.Fatal(err)
		}
		own = append(own, secret)
	}
	if _, err := f.UpdateUser(t.Context(), admin.ID, nil, account.UserPatch{Role: new(account.Member)}); err != nil {
		t.Fatal(err)
	}
	if f.works(t, own[0]) || !f.works(t, own[1]) {
		t.Error("of the tokens of who was an admin those with scopes of topics must end, and no others")
	}
	if _, err := f.UpdateUser(t.Context(), bob.ID, nil, account.UserPatch{Disabled: new(true)}); err != nil || f.works(t, shop) {
		t.Errorf("the token of a disabled user works; %v", err)
	}
	_, _, err = f.CreateUserToken(t.Context(), bob.ID, account.NewToken{Name: "x", Scopes: scopes})
	wantFaults(t, err, "path.id disabled")
}

func TestService_CreateUser_faults(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{Timezone: "Europe/Berlin"})
	f.mustCreate(t, email, account.Member)
	_, err := f.CreateUser(t.Context(), account.NewUser{Email: "ADA@example.org", Name: "A", Role: account.Member})
	wantFaults(t, err, "body.email taken")
	_, err = f.CreateUser(t.Context(), account.NewUser{Email: email, Role: account.Member, Password: "short"})
	wantFaults(t, err, "body.email taken", "body.name required", "body.password too_short")
	u, err := f.CreateUser(t.Context(), account.NewUser{Email: "b@example.org", Name: "B", Role: account.Member})
	if err != nil || u.Timezone != "Europe/Berlin" {
		t.Errorf("user %+v, %v", u, err)
	}
}

func TestService_UpdateUser(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{})
	f.mustCreate(t, "root@example.org", account.Admin)
	ada := f.mustCreate(t, email, account.Member)
	session, p := f.mustLogin(t, email, password)
	_, api, err := f.CreateToken(t.Context(), p, account.NewToken{Name: "CI"})
	if err != nil {
		t.Fatal(err)
	}

	f.advance(time.Minute)
	u, err := f.UpdateUser(t.Context(), ada.ID, new(int64(1)), account.UserPatch{Name: new(" Countess "), Role: new(account.Manager), Phone: new("+49 30 123")})
	if err != nil || u.Name != "Countess" || u.Role != account.Manager || u.Phone != "+4930123" || u.Version != 2 || !u.UpdatedAt.Equal(f.now()) {
		t.Fatalf("user %+v, %v", u, err)
	}
	if now, err := f.Authenticate(t.Context(), session); err != nil || now.Role != account.Manager {
		t.Errorf("the session does not know the new role: %+v, %v", now, err)
	}
	_, err = f.UpdateUser(t.Context(), ada.ID, new(int64(1)), account.UserPatch{Name: new("Late")})
	if e, ok := errors.AsType[*account.VersionError](err); !ok || e.Current != 2 {
		t.Errorf("an older version: %v", err)
	}
	_, err = f.UpdateUser(t.Context(), ada.ID, nil, account.UserPatch{Email: new("ROOT@example.org"), Name: new(""), Password: new("x")})
	wantFaults(t, err, "body.email taken", "body.name required", "body.password too_short")
	if _, err = f.UpdateUser(t.Context(), 12345, nil, account.UserPatch{}); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("nobody: %v", err)
	}

	if _, err = f.UpdateUser(t.Context(), ada.ID, nil, account.UserPatch{Password: new("another long one")}); err != nil {
		t.Fatal(err)
	}
	if f.works(t, session) || f.works(t, api) {
		t.Error("a reset password leaves a session or a token")
	}
	session, byNew := f.mustLogin(t, email, "another long one")
	if _, api, err = f.CreateToken(t.Context(), byNew, account.NewToken{Name: "CI"}); err != nil {
		t.Fatal(err)
	}
	_, feed, err := f.CreateFeed(t.Context(), byNew, account.NewFeed{Name: "Phone"})
	if err != nil {
		t.Fatal(err)
	}
	opens := func() bool { _, _, err := f.OpenFeed(t.Context(), feed); return err == nil }
	if _, err = f.UpdateMe(t.Context(), byNew, nil, account.MePatch{Password: new("yet another one"), CurrentPassword: new("another long one")}); err != nil {
		t.Fatal(err)
	}
	if !f.works(t, session) || !f.works(t, api) || !opens() {
		t.Error("an own new password ends what was not asked for")
	}
	if _, err = f.UpdateUser(t.Context(), ada.ID, nil, account.UserPatch{Password: new("another long one"), EndTokens: new(false)}); err != nil {
		t.Fatal(err)
	}
	if f.works(t, session) || !f.works(t, api) || opens() {
		t.Error("a reset did not keep the tokens alone")
	}
	session, byNew = f.mustLogin(t, email, "another long one")
	if _, err = f.UpdateMe(t.Context(), byNew, nil, account.MePatch{EndTokens: true}); err != nil {
		t.Fatal(err)
	}
	if !f.works(t, session) || f.works(t, api) {
		t.Error("ending the tokens ends something else")
	}

	if u, err = f.UpdateUser(t.Context(), ada.ID, nil, account.UserPatch{Disabled: new(true)}); err != nil || u.Active() {
		t.Fatalf("user %+v, %v", u, err)
	}
	if f.works(t, session) || f.works(t, api) {
		t.Error("a disabled user's tokens work")
	}
	since := u.DisabledAt
	f.advance(time.Minute)
	if u, err = f.UpdateUser(t.Context(), ada.ID, nil, account.UserPatch{Disabled: new(true)}); err != nil || !u.DisabledAt.Equal(since) {
		t.Errorf("disabled once more: %+v, %v", u, err)
	}
	if u, err = f.UpdateUser(t.Context(), ada.ID, nil, account.UserPatch{Disabled: new(false)}); err != nil || !u.Active() {
		t.Errorf("enabled: %+v, %v", u, err)
	}
	if f.works(t, session) || f.works(t, api) {
		t.Error("old tokens came back")
	}
	f.mustLogin(t, email, "another long one")
	if _, err = f.UpdateUser(t.Context(), ada.ID, nil, account.UserPatch{Password: new("")}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Login(t.Context(), email, "", account.Client{IP: ip}); !errors.Is(err, account.ErrUnauthorized) {
		t.Errorf("without a password: %v", err)
	}
}

func TestService_UpdateUser_lastAdmin(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{})
	root := f.mustCreate(t, "root@example.org", account.Admin)
	other := f.mustCreate(t, "other@example.org", account.Admin)
	f.mustCreate(t, email, account.Member)
	if _, err := f.UpdateUser(t.Context(), other.ID, nil, account.UserPatch{Role: new(account.Member)}); err != nil {
		t.Fatal(err)
	}
	_, err := f.UpdateUser(t.Context(), root.ID, nil, account.UserPatch{Role: new(account.Manager), Disabled: new(true)})
	wantFaults(t, err, "body.role last_admin", "body.disabled last_admin")
	_, err = f.UpdateUser(t.Context(), root.ID, nil, account.UserPatch{Disabled: new(true)})
	wantFaults(t, err, "body.disabled last_admin")
	if _, err := f.UpdateUser(t.Context(), root.ID, nil, account.UserPatch{Name: new("Root"), Role: new(account.Admin)}); err != nil {
		t.Errorf("a change that leaves an admin: %v", err)
	}
}

func TestService_UpdateMe(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{Limiter: account.NewMemoryLimiter(account.Rate{Count: 3, Per: time.Hour})})
	f.mustCreate(t, email, account.Member)
	mine, p := f.mustLogin(t, email, password)
	other, _ := f.mustLogin(t, email, password)

	u, err := f.UpdateMe(t.Context(), p, nil, account.MePatch{Name: new("Countess"), Locale: new("de"), Timezone: new("Europe/Berlin")})
	if err != nil || u.Name != "Countess" || u.Locale != "de" || u.Timezone != "Europe/Berlin" || u.Version != 2 {
		t.Fatalf("user %+v, %v", u, err)
	}
	_, err = f.UpdateMe(t.Context(), p, new(int64(1)), account.MePatch{})
	if _, ok := errors.AsType[*account.VersionError](err); !ok {
		t.Errorf("an older version: %v", err)
	}
	_, err = f.UpdateMe(t.Context(), p, nil, account.MePatch{Name: new(""), Password: new("short")})
	wantFaults(t, err, "body.name required", "body.password too_short", "body.current_password required")

	change := account.MePatch{Password: new("another long one"), CurrentPassword: new(password)}
	if _, err = f.UpdateMe(t.Context(), p, nil, change); err != nil {
		t.Fatal(err)
	}
	if !f.works(t, mine) || f.works(t, other) {
		t.Error("a new password ends the other sessions, and only these")
	}
	f.mustLogin(t, email, "another long one")
	for range 3 {
		_, err = f.UpdateMe(t.Context(), p, nil, change)
		wantFaults(t, err, "body.current_password wrong_password")
	}
	_, err = f.UpdateMe(t.Context(), p, nil, account.MePatch{Password: new("a third long one"), CurrentPassword: new("another long one")})
	if _, ok := errors.AsType[*account.RateLimitError](err); !ok {
		t.Errorf("guessing on: %v", err)
	}
}

func TestService_Bootstrap(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{})
	_, err := f.Bootstrap(t.Context(), "root@example.org", "")
	wantFaults(t, err, "body.password required")
	_, err = f.Bootstrap(t.Context(), "", "x")
	wantFaults(t, err, "body.email required", "body.name required", "body.password too_short")

	b, err := f.Bootstrap(t.Context(), "Root@example.org", password)
	if err != nil || b.Admin == nil || b.Admin.Email != "root@example.org" || b.Admin.Role != account.Admin || b.SetupToken != "" {
		t.Fatalf("%+v, %v", b, err)
	}
	f.mustLogin(t, "root@example.org", password)
	for _, email := range []string{"", "root@example.org", "second@example.org"} { // later starts
		if b, err := f.Bootstrap(t.Context(), email, password); err != nil || b.Admin != nil || b.SetupToken != "" {
			t.Errorf("%+v, %v", b, err)
		}
	}
}

func TestService_Setup(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{SetupTTL: time.Hour})
	var tokens []string
	for range 2 { // two instances
		b, err := f.Bootstrap(t.Context(), "", "")
		if err != nil || b.Admin != nil || b.SetupToken == "" {
			t.Fatalf("%+v, %v", b, err)
		}
		tokens = append(tokens, b.SetupToken)
	}
	root := account.NewUser{Email: "root@example.org", Name: "Root", Role: account.Member, Password: password}
	if _, err := f.Setup(t.Context(), "pq_wrong", root, account.Client{IP: ip}); !errors.Is(err, account.ErrUnauthorized) {
		t.Errorf("a wrong token: %v", err)
	}
	if f.works(t, tokens[0]) {
		t.Error("a set-up token signs in")
	}
	_, err := f.Setup(t.Context(), tokens[0], account.NewUser{Email: "root"}, account.Client{IP: ip})
	wantFaults(t, err, "body.password required", "body.email invalid_email", "body.name required")

	in, err := f.Setup(t.Context(), tokens[0], root, account.Client{IP: ip})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := f.Authenticate(t.Context(), in.Secret); err != nil || p.Role != account.Admin || p.Email != "root@example.org" {
		t.Errorf("signed in as %+v, %v", p, err)
	}
	second := root
	second.Email = "second@example.org"
	for _, token := range tokens {
		if _, err := f.Setup(t.Context(), token, second, account.Client{IP: ip}); !errors.Is(err, account.ErrUnauthorized) {
			t.Errorf("once there is a user: %v", err)
		}
	}
}

func TestService_Setup_expires(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{SetupTTL: time.Hour})
	b, err := f.Bootstrap(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	f.advance(time.Hour)
	root := account.NewUser{Email: "root@example.org", Name: "Root", Password: password}
	if _, err := f.Setup(t.Context(), b.SetupToken, root, account.Client{IP: ip}); !errors.Is(err, account.ErrUnauthorized) {
		t.Errorf("an expired token: %v", err)
	}
}

// Several people open their links at once: there is one first admin.
func TestService_Setup_race(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{})
	b, err := f.Bootstrap(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	var made atomic.Int64
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			n := account.NewUser{Email: fmt.Sprintf("u%d@example.org", i), Name: "Root", Password: password}
			switch _, err := f.Setup(t.Context(), b.SetupToken, n, account.Client{IP: ip}); {
			case err == nil:
				made.Add(1)
			case !errors.Is(err, account.ErrUnauthorized):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if made.Load() != 1 {
		t.Errorf("%d first admins", made.Load())
	}
}
