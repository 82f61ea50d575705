package account_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"punctual/account"
	"punctual/account/gormstore"
	"punctual/account/webauthn"
	"punctual/app/database"
	"punctual/tests/testenv"
	"punctual/tests/testenv/testdb"
)

const site = "https://rooms.example.org"

// withPasskeys runs a test on a service of each database.
func withPasskeys(t *testing.T, test func(t *testing.T, f *fixture)) {
	testdb.Each(t, func(t *testing.T, db *database.DB) { test(t, passkeyService(t, db, account.Config{})) })
}

func passkeyService(t *testing.T, db *database.DB, c account.Config) *fixture {
	t.Helper()
	origin, err := url.Parse(site)
	if err != nil {
		t.Fatal(err)
	}
	ceremonies, err := webauthn.New(origin, "example.org")
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{mailbox: &mailbox{}}
	f.clock.Store(time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC).UnixMicro())
	c.Now, c.Passkeys = f.now, ceremonies
	f.Service = account.New(gormstore.New(db.Gorm).Mailing(f.mailbox), c)
	return f
}

// Users are notified of each new way to sign in to their account, and of nothing else.
func TestAddedMail(t *testing.T) {
	withPasskeys(t, func(t *testing.T, f *fixture) {
		f.mustCreate(t, email, account.Member)
		_, p := f.mustLogin(t, email, password)
		k := f.adds(t, p, device())
		f.enrolls(t, p)
		for name, scope := range map[string]account.Scope{"Phone": account.CalDAV, "Script": account.MeetingsRead} {
			if _, _, err := f.CreateToken(account.WithPrincipal(t.Context(), p), p, account.NewToken{Name: name, Scopes: []account.Scope{scope}}); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{"passkey " + email + " " + k.Name, "second_factor " + email + " ", "app_password " + email + " Phone"}
		if got := f.mailbox.added; !slices.Equal(got, want) {
			t.Errorf("mails %q, want %q", got, want)
		}
	})
}

func device() *testenv.Authenticator { return &testenv.Authenticator{Origin: site, Counter: 1} }

// adds lets a user add a passkey of a device.
func (f *fixture) adds(t *testing.T, p *account.Principal, d *testenv.Authenticator) *account.Passkey {
	t.Helper()
	ctx := account.WithPrincipal(t.Context(), p)
	options, err := f.BeginPasskey(ctx, p, "")
	if err != nil {
		t.Fatal(err)
	}
	k, err := f.AddPasskey(ctx, p, "", d.Create(t, options))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// uses signs in with a passkey of a device.
func (f *fixture) uses(t *testing.T, d *testenv.Authenticator) (*account.SignIn, error) {
	t.Helper()
	options, err := f.BeginPasskeyLogin(t.Context(), "", client)
	if err != nil {
		t.Fatal(err)
	}
	return f.LoginWithPasskey(t.Context(), d.Use(t, options), client)
}

// A passkey signs in alone, with all rights of its user, however long ago it was added.
func TestPasskey(t *testing.T) {
	withPasskeys(t, func(t *testing.T, f *fixture) {
		ada := f.mustCreate(t, email, account.Manager)
		_, p := f.mustLogin(t, email, password)
		d, spare := device(), &testenv.Authenticator{Origin: site} // one that does not count
		k := f.adds(t, p, d)
		if k.Name != "Passkey" || k.Domain != "example.org" || !k.LastUsedAt.IsZero() || k.UserID != ada.ID {
			t.Errorf("added %+v", k)
		}
		f.adds(t, p, spare)
		f.advance(1000 * time.Hour)
		for name, d := range map[string]*testenv.Authenticator{"one": d, "the other": spare} {
			for range 2 {
				in, err := f.uses(t, d)
				if err != nil || in.User.ID != ada.ID || in.Enroll {
					t.Fatalf("%s: %+v %v", name, in, err)
				}
				if got, err := f.Authenticate(t.Context(), in.Secret); err != nil || got.Scopes != nil || got.Role != account.Manager {
					t.Errorf("%s: %+v %v", name, got, err)
				}
			}
		}
		list, err := f.Passkeys(t.Context(), ada.ID)
		if err != nil || len(list) != 2 || !list[0].LastUsedAt.Equal(f.now()) || list[0].SignCount < 3 || list[1].SignCount != 0 {
			t.Errorf("used: %+v %v", list, err)
		}
		if _, err := f.RenamePasskey(t.Context(), p, k.ID, "  Phone "); err != nil {
			t.Error(err)
		}
		if list, _ = f.Passkeys(t.Context(), ada.ID); list[0].Name != "Phone" {
			t.Errorf("renamed: %q", list[0].Name)
		}
		if err := f.RemovePasskey(t.Context(), p, k.ID); err != nil {
			t.Error(err)
		}
		if _, err := f.uses(t, d); !errors.Is(err, account.ErrPasskeyUnknown) {
			t.Errorf("a removed passkey: %v", err)
		}
		if _, err := f.uses(t, spare); err != nil {
			t.Errorf("the one that stayed: %v", err)
		}
	})
}

// Nothing signs in but the right device, asked by the right page, once and in time.
func TestPasskey_attacks(t *testing.T) {
	withPasskeys(t, func(t *testing.T, f *fixture) {
		f.mustCreate(t, email, account.Member)
		_, p := f.mustLogin(t, email, password)
		d := device()
		f.adds(t, p, d)
		eve := f.mustCreate(t, "eve@example.org", account.Member)
		_, hers := f.mustLogin(t, "eve@example.org", password)
		own := device()
		f.adds(t, hers, own)
		other, _ := f.Passkeys(t.Context(), eve.ID)

		for name, wrong := range map[string]func(d *testenv.Authenticator){
			"a page of another site":      func(d *testenv.Authenticator) { d.Origin = "https://rooms.example.org.evil.example" },
			"a subdomain":                 func(d *testenv.Authenticator) { d.Origin = "https://x.rooms.example.org" },
			"a page without TLS":          func(d *testenv.Authenticator) { d.Origin = "http://rooms.example.org" },
			"another domain":              func(d *testenv.Authenticator) { d.Domain = "evil.example" },
			"nobody checked who uses it":  func(d *testenv.Authenticator) { d.Unverified = true },
			"a copy that lags behind":     func(d *testenv.Authenticator) { d.Counter = 1 },
			"an answer for adding":        func(d *testenv.Authenticator) { d.Type = "webauthn.create" },
			"the name of another user":    func(d *testenv.Authenticator) { d.Handle = []byte("somebody else") },
			"a signature of nothing":      func(d *testenv.Authenticator) { d.Signature = []byte("x") },
			"a signature that is missing": func(d *testenv.Authenticator) { d.Signature = []byte{} },
		} {
			bad := d.Copy()
			wrong(bad)
			if in, err := f.uses(t, bad); !errors.Is(err, account.ErrPasskeyRefused) {
				t.Errorf("%s: %+v %v", name, in, err)
			}
		}
		lagging := d.Copy()
		lagging.Counter = 1
		if _, err := f.uses(t, lagging); !errors.Is(err, account.ErrPasskeyCopied) {
			t.Errorf("a copy that lags behind: %v", err)
		}

		begin := func(challenge string) []byte {
			options, err := f.BeginPasskeyLogin(t.Context(), challenge, client)
			if err != nil {
				t.Fatal(err)
			}
			return options
		}
		answer := d.Use(t, begin(""))
		if _, err := f.LoginWithPasskey(t.Context(), answer, client); err != nil {
			t.Fatal(err)
		}
		if _, err := f.LoginWithPasskey(t.Context(), answer, client); !errors.Is(err, account.ErrChallengeInvalid) {
			t.Errorf("an answer a second time: %v", err)
		}
		late := d.Use(t, begin(""))
		f.advance(11 * time.Minute)
		if _, err := f.LoginWithPasskey(t.Context(), late, client); !errors.Is(err, account.ErrChallengeInvalid) {
			t.Errorf("a late answer: %v", err)
		}
		invented := d.Use(t, []byte(`{"challenge":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","rpId":"example.org"}`))
		if _, err := f.LoginWithPasskey(t.Context(), invented, client); !errors.Is(err, account.ErrChallengeInvalid) {
			t.Errorf("an invented challenge: %v", err)
		}
		for name, answer := range map[string]string{"nothing": "null", "no object": "[]", "an empty object": "{}", "noise": `{"rawId":"AA","response":{"clientDataJSON":"AA"}}`} {
			if _, err := f.LoginWithPasskey(t.Context(), []byte(answer), client); !errors.Is(err, account.ErrUnauthorized) {
				t.Errorf("%s: %v", name, err)
			}
		}

		// An answer for one purpose is none for another.
		_, p = f.mustLogin(t, email, password)
		options, err := f.BeginPasskey(t.Context(), p, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.LoginWithPasskey(t.Context(), d.Use(t, options), client); !errors.Is(err, account.ErrChallengeInvalid) {
			t.Errorf("a challenge for adding: %v", err)
		}
		options, err = f.BeginPasskey(t.Context(), p, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.AddPasskey(t.Context(), hers, "", device().Create(t, options)); code(err) != "invalid" {
			t.Errorf("a challenge of another user: %v", err)
		}
		unverified := device()
		unverified.Unverified = true
		options, err = f.BeginPasskey(t.Context(), p, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.AddPasskey(t.Context(), p, "", unverified.Create(t, options)); code(err) != "invalid" {
			t.Errorf("a device that does not check who uses it: %v", err)
		}

		// Passkeys of others are none of anybody's business.
		if err := f.RemovePasskey(t.Context(), p, other[0].ID); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("remove another's: %v", err)
		}
		if _, err := f.RenamePasskey(t.Context(), p, other[0].ID, "x"); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("rename another's: %v", err)
		}
		if _, err := f.UpdateUser(t.Context(), eve.ID, nil, account.UserPatch{Disabled: new(true)}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.uses(t, own); !errors.Is(err, account.ErrPasskeyRefused) {
			t.Errorf("a disabled user: %v", err)
		}
	})
}

// A passkey is added after a sign-in, or with the password; never by an API token.
func TestBeginPasskey(t *testing.T) {
	withPasskeys(t, func(t *testing.T, f *fixture) {
		f.mustCreate(t, email, account.Member)
		_, p := f.mustLogin(t, email, password)
		secret := mustToken(t, f, p)
		f.advance(10 * time.Minute)
		begin := func(password string) error {
			_, err := f.BeginPasskey(t.Context(), p, password)
			return err
		}
		wantFaults(t, begin(""), "body.current_password required")
		wantFaults(t, begin("wrong"), "body.current_password wrong_password")
		if err := begin(password); err != nil {
			t.Error(err)
		}
		token, err := f.Authenticate(t.Context(), secret)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.BeginPasskey(t.Context(), token, password); !errors.Is(err, account.ErrForbidden) {
			t.Errorf("an API token: %v", err)
		}
		in, err := f.LoginWith(t.Context(), account.Identity{Issuer: "https://x.example", Subject: "1", Email: "grace@example.org", EmailVerified: true, Join: true}, client)
		if err != nil {
			t.Fatal(err)
		}
		grace, err := f.Authenticate(t.Context(), in.Secret)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.BeginPasskey(t.Context(), grace, ""); code(err) != "no_password" {
			t.Errorf("a user of a provider: %v", err)
		}
		_, p = f.mustLogin(t, email, password)
		for range account.MaxPasskeys {
			f.adds(t, p, device())
		}
		if code(begin("")) != "too_many" {
			t.Error("there is no limit")
		}
	})
}

// After a password, a passkey can take the place of a code. Where everybody needs a second factor, one is
// enough.
func TestPasskey_asSecondFactor(t *testing.T) {
	withPasskeys(t, func(t *testing.T, f *fixture) {
		f.mustCreate(t, email, account.Member)
		_, p := f.mustLogin(t, email, password)
		d, eves := device(), device()
		f.adds(t, p, d)
		f.mustCreate(t, "eve@example.org", account.Member)
		_, hers := f.mustLogin(t, "eve@example.org", password)
		f.adds(t, hers, eves)

		f.mustLogin(t, email, password) // a passkey alone does not shut out other devices
		secret, _ := f.enrolls(t, p)
		confirm := func(d *testenv.Authenticator) error {
			_, err := f.Login(t.Context(), email, password, client)
			e, ok := errors.AsType[*account.SecondFactorError](err)
			if !ok || !e.Passkey {
				t.Fatalf("a password alone: %v", err)
			}
			options, err := f.BeginPasskeyLogin(t.Context(), e.Challenge, client)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(options), "allowCredentials") {
				t.Errorf("options for anybody: %s", options)
			}
			if d == eves { // her browser leaves out which passkeys are allowed
				options = []byte(strings.Replace(string(options), "allowCredentials", "x", 1))
			}
			_, err = f.ConfirmWithPasskey(t.Context(), e.Challenge, d.Use(t, options), client)
			return err
		}
		if err := confirm(d); err != nil {
			t.Errorf("a passkey after the password: %v", err)
		}
		if err := confirm(eves); !errors.Is(err, account.ErrPasskeyRefused) {
			t.Errorf("a passkey of somebody else: %v", err)
		}
		f.advance(time.Minute)
		if _, err := f.LoginWithCode(t.Context(), f.challenge(t, password), f.codeAt(t, secret, 0), client); err != nil {
			t.Errorf("a code: %v", err)
		}
		if _, err := f.BeginPasskeyLogin(t.Context(), "1.2.3", client); !errors.Is(err, account.ErrChallengeInvalid) {
			t.Errorf("an invented challenge: %v", err)
		}

		f.SetSecondFactor(account.SecondFactorRequired)
		if _, err := f.Login(t.Context(), "eve@example.org", password, client); err == nil {
			t.Error("where a second factor is required, a password alone signs in a user with a passkey")
		}
		if in, err := f.uses(t, eves); err != nil || in.Enroll {
			t.Errorf("where a second factor is required, a passkey is not enough: %+v %v", in, err)
		}
		eve, err := f.Passkeys(t.Context(), hers.UserID)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.RemovePasskey(t.Context(), hers, eve[0].ID); code(err) != "second_factor_required" {
			t.Errorf("removing the only second factor: %v", err)
		}

		// A session that must set up a second factor first is free once there is a passkey.
		f.mustCreate(t, "kim@example.org", account.Member)
		in, err := f.Login(t.Context(), "kim@example.org", password, client)
		if err != nil || !in.Enroll {
			t.Fatalf("%+v %v", in, err)
		}
		kim, err := f.Authenticate(t.Context(), in.Secret)
		if err != nil {
			t.Fatal(err)
		}
		f.adds(t, kim, device())
		if kim, err = f.Authenticate(t.Context(), in.Secret); err != nil || kim.MustEnroll() {
			t.Errorf("%+v %v", kim, err)
		}
	})
}

// A reset that an admin makes throws out whoever added a passkey; an admin can remove a lost one.
func TestPasskey_ends(t *testing.T) {
	withPasskeys(t, func(t *testing.T, f *fixture) {
		u := f.mustCreate(t, email, account.Member)
		secret, p := f.mustLogin(t, email, password)
		d := device()
		k := f.adds(t, p, d)
		if err := f.RemoveUserPasskey(t.Context(), u.ID+1, k.ID); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("of another user: %v", err)
		}
		if err := f.RemoveUserPasskey(t.Context(), u.ID, k.ID); err != nil || f.works(t, secret) {
			t.Errorf("removed by an admin: %v, the session works: %v", err, f.works(t, secret))
		}
		_, p = f.mustLogin(t, email, password)
		f.adds(t, p, d)
		if _, err := f.UpdateMe(account.WithPrincipal(t.Context(), p), p, nil, account.MePatch{Password: new("another good password"), CurrentPassword: new(password)}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.UpdateUser(t.Context(), u.ID, nil, account.UserPatch{Password: new(password), EndPasskeys: new(false)}); err != nil {
			t.Fatal(err)
		}
		if list, err := f.Passkeys(t.Context(), u.ID); err != nil || len(list) != 1 {
			t.Errorf("kept: %v %v", list, err)
		}
		if _, err := f.UpdateUser(t.Context(), u.ID, nil, account.UserPatch{Password: new(password)}); err != nil {
			t.Fatal(err)
		}
		if list, err := f.Passkeys(t.Context(), u.ID); err != nil || len(list) != 0 {
			t.Errorf("reset by an admin: %v %v", list, err)
		}

		// Without a password here, another system decides who may sign in.
		_, p = f.mustLogin(t, email, password)
		last := device()
		f.adds(t, p, last)
		if _, err := f.UpdateUser(t.Context(), u.ID, nil, account.UserPatch{Password: new(""), EndPasskeys: new(false)}); err != nil {
			t.Fatal(err)
		}
		if list, err := f.Passkeys(t.Context(), u.ID); err != nil || len(list) != 1 {
			t.Errorf("%v %v", list, err)
		}
		if _, err := f.uses(t, last); !errors.Is(err, account.ErrPasskeyRefused) {
			t.Errorf("without a password here: %v", err)
		}
	})
}

// One answer signs in once, however many processes receive it at the same moment.
func TestPasskey_race(t *testing.T) {
	withPasskeys(t, func(t *testing.T, f *fixture) {
		f.mustCreate(t, email, account.Member)
		_, p := f.mustLogin(t, email, password)
		d := device()
		f.adds(t, p, d)
		options, err := f.BeginPasskeyLogin(t.Context(), "", client)
		if err != nil {
			t.Fatal(err)
		}
		answer := d.Use(t, options)
		var wg sync.WaitGroup
		var in atomic.Int64
		for range 8 {
			wg.Go(func() {
				if _, err := f.LoginWithPasskey(context.WithoutCancel(t.Context()), answer, client); err == nil {
					in.Add(1)
				} else if !errors.Is(err, account.ErrChallengeInvalid) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if in.Load() != 1 {
			t.Errorf("one answer signed in %d times", in.Load())
		}
	})
}

// Challenges and wrong answers are limited by network, so that strangers can fill nothing.
func TestPasskey_limits(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, "sqlite")
	var refused int
	f := passkeyService(t, db, account.Config{
		Begins: account.NewMemoryLimiter(account.Rate{Count: 5, Per: time.Hour}), Wide: account.NewMemoryLimiter(account.Rate{Count: 3, Per: time.Hour}),
		Refused: func(_ context.Context, u *account.User, address string, _ error) {
			if refused++; u.ID == 0 || address != email {
				t.Errorf("refused: %+v %q", u, address)
			}
		},
	})
	f.mustCreate(t, email, account.Member)
	_, p := f.mustLogin(t, email, password)
	d := device()
	f.adds(t, p, d)
	for range 3 {
		bad := d.Copy()
		bad.Unverified = true
		if _, err := f.uses(t, bad); !errors.Is(err, account.ErrPasskeyRefused) {
			t.Error(err)
		}
	}
	if _, err := f.uses(t, d); !isLimited(err) {
		t.Errorf("after three wrong answers: %v", err)
	}
	if refused != 3 {
		t.Errorf("%d of 3 refused sign-ins are recorded", refused)
	}
	if _, err := f.BeginPasskeyLogin(t.Context(), "", client); err != nil {
		t.Error(err)
	}
	if _, err := f.BeginPasskeyLogin(t.Context(), "", client); !isLimited(err) {
		t.Errorf("the sixth challenge: %v", err)
	}
	if _, err := f.BeginPasskeyLogin(t.Context(), "", account.Client{IP: "198.51.100.9"}); err != nil {
		t.Errorf("elsewhere: %v", err)
	}
}

func isLimited(err error) bool {
	_, ok := errors.AsType[*account.RateLimitError](err)
	return ok
}

// Without a domain there are no passkeys, and each call says so.
func TestPasskey_off(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{})
	f.mustCreate(t, email, account.Member)
	_, p := f.mustLogin(t, email, password)
	_, err1 := f.BeginPasskey(t.Context(), p, "")
	_, err2 := f.BeginPasskeyLogin(t.Context(), "", client)
	_, err3 := f.LoginWithPasskey(t.Context(), []byte("{}"), client)
	_, err4 := f.AddPasskey(t.Context(), p, "", []byte("{}"))
	for i, err := range []error{err1, err2, err3, err4} {
		if code(err) != "passkeys_off" {
			t.Errorf("%d: %v", i, err)
		}
	}
	if f.PasskeyDomain() != "" {
		t.Error(f.PasskeyDomain())
	}
}
