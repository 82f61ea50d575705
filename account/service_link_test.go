package account_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"punctual/account"
	"punctual/account/gormstore"
	"punctual/account/signing"
	"punctual/app/database"
	"punctual/tests/testenv"
)

var linkSecrets = account.NewLinkSecrets(signing.NewRing(signing.NewKey(1)))

// mailbox collects the mails of links.
type mailbox struct {
	mu    sync.Mutex
	mails []account.LinkMail
	added []string
}

func (b *mailbox) Insert(_ *gorm.DB, m *account.LinkMail) (func(context.Context), error) {
	return func(context.Context) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.mails = append(b.mails, *m)
	}, nil
}

// Added implements [gormstore.Mails].
func (b *mailbox) Added(_ *gorm.DB, m account.AddedMail) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.added = append(b.added, fmt.Sprintf("%s %s %s", m.What, m.To.Email, m.Name))
	return nil
}

func (b *mailbox) take() []account.LinkMail {
	b.mu.Lock()
	defer b.mu.Unlock()
	mails := b.mails
	b.mails = nil
	return mails
}

// secret returns the secret in the only mail, which must be of this kind and to this address.
func (b *mailbox) secret(t *testing.T, kind account.LinkKind, to string) string {
	t.Helper()
	mails := b.take()
	if len(mails) != 1 || mails[0].Link.Kind != kind || mails[0].To.Email != to {
		t.Fatalf("mails %+v, want one %s to %s", mails, kind, to)
	}
	return linkSecrets.Secret(mails[0].Seed)
}

func onBothLinks(t *testing.T, rate int, test func(t *testing.T, f *fixture, b *mailbox)) {
	t.Parallel()
	for name, url := range map[string]func(testing.TB) string{"postgres": testenv.Postgres, "sqlite": testenv.SQLite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := database.Open(t.Context(), url(t), database.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			if err := db.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			f, b := &fixture{}, &mailbox{}
			f.clock.Store(time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC).UnixMicro())
			f.Service = account.New(gormstore.New(db.Gorm).Mailing(b), account.Config{
				Now: f.now, Links: linkSecrets, Limiter: account.NewMemoryLimiter(account.Rate{Count: rate, Per: time.Hour}),
			})
			f.SetAnswerReset(0)
			test(t, f, b)
		})
	}
}

var client = account.Client{IP: ip}

func TestReset(t *testing.T) {
	onBothLinks(t, 100, func(t *testing.T, f *fixture, b *mailbox) {
		ada := f.mustCreate(t, email, account.Admin)
		before, err := f.Login(t.Context(), email, password, client)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := f.RequestReset(t.Context(), "  ADA@example.org", client); err != nil {
				t.Fatal(err)
			}
		}
		mails := b.take()
		if len(mails) != 2 {
			t.Fatalf("%d mails", len(mails))
		}
		secret, other := linkSecrets.Secret(mails[0].Seed), linkSecrets.Secret(mails[1].Seed)
		if strings.Contains(fmt.Sprintf("%+v %+v", mails[0], *mails[0].Link), secret) {
			t.Error("a stored mail holds the secret of its link")
		}
		if _, err := f.Authenticate(t.Context(), secret); !errors.Is(err, account.ErrUnauthorized) {
			t.Errorf("a link authenticates a request: %v", err)
		}
		const next = "another good password"
		for _, bad := range []string{"", "pq_wrong", secret[:len(secret)-1] + "_", strings.ToLower(secret)} {
			if _, err := f.UseLink(t.Context(), bad, account.Choice{Password: next}, client); !errors.Is(err, account.ErrLinkInvalid) {
				t.Errorf("secret %q: %v", bad, err)
			}
		}
		for _, weak := range []string{"", "short", "password", email} { // the link stays valid
			_, err := f.UseLink(t.Context(), secret, account.Choice{Password: weak}, client)
			if _, invalid := errors.AsType[*account.InvalidError](err); !invalid {
				t.Errorf("password %q: %v", weak, err)
			}
		}
		in, err := f.UseLink(t.Context(), secret, account.Choice{Password: next}, client)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := f.Authenticate(t.Context(), in.Secret); err != nil || p.UserID != ada.ID {
			t.Errorf("the new session: %+v, %v", p, err)
		}
		if _, err := f.Authenticate(t.Context(), before.Secret); !errors.Is(err, account.ErrUnauthorized) {
			t.Errorf("the session from before: %v", err)
		}
		for _, used := range []string{secret, other} { // one password ends all links
			if _, err := f.UseLink(t.Context(), used, account.Choice{Password: next}, client); !errors.Is(err, account.ErrLinkInvalid) {
				t.Errorf("a used link: %v", err)
			}
		}
		if _, err := f.Login(t.Context(), email, password, client); !errors.Is(err, account.ErrWrongCredentials) {
			t.Errorf("the old password: %v", err)
		}
		if _, err := f.Login(t.Context(), email, next, client); err != nil {
			t.Error(err)
		}
	})
}

func TestReset_tokensAndFeeds(t *testing.T) {
	onBothLinks(t, 100, func(t *testing.T, f *fixture, b *mailbox) {
		ada := f.mustCreate(t, email, account.Member)
		create := func() string {
			t.Helper()
			_, secret, err := f.CreateToken(t.Context(), &account.Principal{UserID: ada.ID, Role: account.Member, Kind: account.Session}, account.NewToken{Name: "CI"})
			if err != nil {
				t.Fatal(err)
			}
			return secret
		}
		for _, end := range []bool{false, true} {
			token := create()
			if err := f.RequestReset(t.Context(), email, client); err != nil {
				t.Fatal(err)
			}
			_, err := f.UseLink(t.Context(), b.secret(t, account.ResetLink, email), account.Choice{Password: "another good password", EndTokens: end, EndFeeds: end}, client)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Authenticate(t.Context(), token); (err != nil) != end {
				t.Errorf("end tokens %v: the token then %v", end, err)
			}
		}
	})
}

// TestReset_silent: nobody learns whether an address belongs to a user, and those who cannot sign in
// get nothing.
func TestReset_silent(t *testing.T) {
	onBothLinks(t, 100, func(t *testing.T, f *fixture, b *mailbox) {
		f.mustCreate(t, email, account.Admin)
		gone := f.mustCreate(t, "gone@example.org", account.Member)
		if _, err := f.UpdateUser(t.Context(), gone.ID, nil, account.UserPatch{Disabled: new(true)}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.CreateUser(t.Context(), account.NewUser{Email: "program@example.org", Name: "Program", Role: account.Member}); err != nil {
			t.Fatal(err)
		}
		for _, address := range []string{"nobody@example.org", "gone@example.org", "program@example.org", "", "no address", "a\x00b@example.org", "\xff@example.org"} {
			begun, shortest := time.Now(), 30*time.Millisecond
			f.SetAnswerReset(shortest)
			if err := f.RequestReset(t.Context(), address, client); err != nil {
				t.Errorf("%q: %v", address, err)
			}
			if took := time.Since(begun); took < shortest { // a lower bound holds on slow machines too
				t.Errorf("%q: answered after %v", address, took)
			}
		}
		if mails := b.take(); len(mails) != 0 {
			t.Errorf("mails to %+v", mails)
		}
		for range account.MaxResets + 2 {
			if err := f.RequestReset(t.Context(), email, client); err != nil {
				t.Fatal(err)
			}
		}
		if mails := b.take(); len(mails) != account.MaxResets {
			t.Errorf("%d mails within an hour, want %d", len(mails), account.MaxResets)
		}
		f.advance(time.Hour)
		if err := f.RequestReset(t.Context(), email, client); err != nil {
			t.Fatal(err)
		}
		b.secret(t, account.ResetLink, email)
	})
}

func TestReset_expires(t *testing.T) {
	onBothLinks(t, 100, func(t *testing.T, f *fixture, b *mailbox) {
		ada := f.mustCreate(t, email, account.Member)
		f.mustCreate(t, "root@example.org", account.Admin)
		use := func(secret string, wait time.Duration, patch *account.UserPatch) error {
			t.Helper()
			f.advance(wait)
			if patch != nil {
				if _, err := f.UpdateUser(t.Context(), ada.ID, nil, *patch); err != nil {
					t.Fatal(err)
				}
			}
			_, err := f.UseLink(t.Context(), secret, account.Choice{Password: "another good password"}, client)
			return err
		}
		for _, tt := range []struct {
			name  string
			wait  time.Duration
			patch *account.UserPatch
			ok    bool
		}{
			{"last second", time.Hour - time.Second, nil, true},
			{"after an hour", time.Hour, nil, false},
			{"another name", 0, &account.UserPatch{Name: new("Countess"), Email: new(email)}, true},
			{"another password", 0, &account.UserPatch{Password: new("a third good password")}, false},
			{"another address", 0, &account.UserPatch{Email: new("lovelace@example.org")}, false},
			{"disabled", 0, &account.UserPatch{Disabled: new(true)}, false},
		} {
			if _, err := f.UpdateUser(t.Context(), ada.ID, nil, account.UserPatch{Email: new(email)}); err != nil {
				t.Fatal(err)
			}
			if err := f.RequestReset(t.Context(), email, client); err != nil {
				t.Fatal(err)
			}
			err := use(b.secret(t, account.ResetLink, email), tt.wait, tt.patch)
			if tt.ok != (err == nil) || err != nil && !errors.Is(err, account.ErrLinkInvalid) {
				t.Errorf("%s: %v", tt.name, err)
			}
			f.advance(2 * time.Hour)
		}
	})
}

// TestReset_limits: requests and guesses count per address and per network, whoever exists.
func TestReset_limits(t *testing.T) {
	onBothLinks(t, 3, func(t *testing.T, f *fixture, b *mailbox) {
		f.mustCreate(t, email, account.Admin)
		for _, address := range []string{email, "nobody@example.org"} {
			for i := range 4 {
				err := f.RequestReset(t.Context(), address, account.Client{IP: fmt.Sprint("192.0.2.", i)})
				if _, limited := errors.AsType[*account.RateLimitError](err); limited != (i == 3) {
					t.Errorf("%s, request %d: %v", address, i, err)
				}
			}
		}
		for i := range 4 {
			_, _, err := f.CheckLink(t.Context(), "pq_wrong", client)
			if _, limited := errors.AsType[*account.RateLimitError](err); limited != (i == 3) {
				t.Errorf("guess %d: %v", i, err)
			}
		}
	})
}

// TestReset_once: of several uses of a link at the same time one succeeds.
func TestReset_once(t *testing.T) {
	onBothLinks(t, 100, func(t *testing.T, f *fixture, b *mailbox) {
		f.mustCreate(t, email, account.Admin)
		if err := f.RequestReset(t.Context(), email, client); err != nil {
			t.Fatal(err)
		}
		secret := b.secret(t, account.ResetLink, email)
		var won atomic.Int64
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				_, err := f.UseLink(t.Context(), secret, account.Choice{Password: fmt.Sprint("another good password ", i)}, client)
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, account.ErrUnauthorized) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("%d uses succeeded", won.Load())
		}
	})
}

func TestInvite(t *testing.T) {
	onBothLinks(t, 100, func(t *testing.T, f *fixture, b *mailbox) {
		root := f.mustCreate(t, "root@example.org", account.Admin)
		ctx := account.WithPrincipal(t.Context(), &account.Principal{UserID: root.ID, Name: "Root", Role: account.Admin})
		kim, err := f.Invite(ctx, account.NewUser{Email: "Kim.Lee@example.org", Role: account.Member, Locale: "de"})
		if err != nil {
			t.Fatal(err)
		}
		if kim.Name != "Kim.Lee" || !kim.InvitedUntil.Equal(f.now().Add(7*24*time.Hour)) {
			t.Errorf("invited %+v", kim)
		}
		first := b.secret(t, account.InvitationLink, "kim.lee@example.org")
		again, err := f.InviteAgain(ctx, kim.ID)
		if err != nil || again.Version != kim.Version+1 {
			t.Fatalf("%+v, %v", again, err)
		}
		mails := b.take()
		if len(mails) != 1 || mails[0].By != "Root" {
			t.Fatalf("mails %+v", mails)
		}
		if _, _, err := f.CheckLink(t.Context(), first, client); !errors.Is(err, account.ErrLinkInvalid) {
			t.Errorf("the first link after the second: %v", err)
		}
		secret := linkSecrets.Secret(mails[0].Seed)
		f.advance(7*24*time.Hour - time.Second)
		link, user, err := f.CheckLink(t.Context(), secret, client)
		if err != nil || link.Kind != account.InvitationLink || user.Email != "kim.lee@example.org" {
			t.Fatalf("%+v, %+v, %v", link, user, err)
		}
		in, err := f.UseLink(t.Context(), secret, account.Choice{Password: password, Name: new("Kim Lee"), Timezone: new("Asia/Seoul"), Locale: new("en")}, client)
		if err != nil {
			t.Fatal(err)
		}
		if u := in.User; u.Name != "Kim Lee" || u.Timezone != "Asia/Seoul" || u.Locale != "en" || !u.InvitedUntil.IsZero() || u.Role != account.Member {
			t.Errorf("joined as %+v", u)
		}
		_, err = f.InviteAgain(ctx, kim.ID)
		if _, invalid := errors.AsType[*account.InvalidError](err); !invalid {
			t.Errorf("inviting somebody with a password: %v", err)
		}
		if _, err := f.InviteAgain(ctx, 999); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("inviting nobody: %v", err)
		}
		_, err = f.Invite(ctx, account.NewUser{Email: "kim.lee@example.org", Role: account.Member})
		if !errors.Is(err, account.ErrEmailTaken) {
			t.Errorf("inviting an address that is taken: %v", err)
		}
		if mails := b.take(); len(mails) != 0 {
			t.Errorf("refused invitations sent %+v", mails)
		}
	})
}
