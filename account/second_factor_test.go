package account_test

import (
	"encoding/base32"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/hotp"

	"punctual/account"
)

// codeAt is what an authenticator app shows some steps of 30 seconds from now.
func (f *fixture) codeAt(t *testing.T, secret string, steps int64) string {
	t.Helper()
	code, err := hotp.GenerateCode(secret, uint64(f.now().Unix()/30+steps))
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// enrolls sets up an app for a user and returns its secret and the recovery codes.
func (f *fixture) enrolls(t *testing.T, p *account.Principal) (secret string, recovery []string) {
	t.Helper()
	ctx := account.WithPrincipal(t.Context(), p)
	secret, address, err := f.Enroll(ctx, p)
	if err != nil || !strings.HasPrefix(address, "otpauth://totp/Punctual:"+p.Email+"?") || !strings.Contains(address, "secret="+secret) {
		t.Fatalf("%q %q %v", secret, address, err)
	}
	if recovery, err = f.ConfirmSecondFactor(ctx, p, f.codeAt(t, secret, 0)); err != nil || len(recovery) != 10 {
		t.Fatalf("%q %v", recovery, err)
	}
	return secret, recovery
}

// challenge signs in with the password, which must not be enough.
func (f *fixture) challenge(t *testing.T, password string) string {
	t.Helper()
	in, err := f.Login(t.Context(), email, password, account.Client{IP: ip})
	e, ok := errors.AsType[*account.SecondFactorError](err)
	if !ok || in != nil {
		t.Fatalf("a password alone: %+v %v", in, err)
	}
	return e.Challenge
}

func isWrongCode(err error) bool { return code(err) == "wrong_code" }

func code(err error) string {
	if e, ok := errors.AsType[*account.InvalidError](err); ok {
		return e.Faults[0].Code
	}
	return ""
}

// A sign-in needs the password and a code. A code is accepted once, one step early or late.
func TestSecondFactor(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{})
	u := f.mustCreate(t, email, account.Member)
	_, p := f.mustLogin(t, email, password)
	confirm := func(challenge, code string) error {
		_, err := f.LoginWithCode(t.Context(), challenge, code, account.Client{IP: ip})
		return err
	}

	// An app that was never confirmed changes nothing.
	unused, _, err := f.Enroll(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	f.mustLogin(t, email, password)
	secret, recovery := f.enrolls(t, p)
	if secret == unused {
		t.Error("two apps have one secret")
	}
	if !f.works(t, mustToken(t, f, p)) {
		t.Error("an API token ended")
	}

	ch := f.challenge(t, password)
	if f.works(t, ch) {
		t.Error("a challenge is a session")
	}
	if err := confirm(ch, f.codeAt(t, secret, 0)); !isWrongCode(err) {
		t.Errorf("the code that turned it on, again: %v", err)
	}
	for _, steps := range []int64{-2, 2} {
		if err := confirm(ch, f.codeAt(t, secret, steps)); !isWrongCode(err) {
			t.Errorf("a code of %d steps from now: %v", steps, err)
		}
	}
	if err := confirm(ch, f.codeAt(t, secret, 1)[:3]+" "+f.codeAt(t, secret, 1)[3:]); err != nil {
		t.Errorf("a code of a clock that is fast: %v", err)
	}
	f.advance(90 * time.Second)
	if err := confirm(ch, f.codeAt(t, secret, -1)); err != nil {
		t.Errorf("a code of a clock that is slow: %v", err)
	}
	for name, wrong := range map[string]string{"none": "", "of six digits": "00000x", "an address": email, "another secret's": f.codeAt(t, unused, 0)} {
		if err := confirm(f.challenge(t, password), wrong); !isWrongCode(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := confirm(ch, strings.ToLower(recovery[3])); err != nil {
		t.Errorf("a recovery code: %v", err)
	}
	if err := confirm(ch, recovery[3]); !isWrongCode(err) {
		t.Errorf("a recovery code a second time: %v", err)
	}
	if factor, err := f.SecondFactor(t.Context(), u.ID); err != nil || len(factor.RecoveryCodes) != 9 || strings.Contains(strings.Join(factor.RecoveryCodes, ""), recovery[0]) {
		t.Errorf("%+v %v", factor, err)
	}

	// Challenges end, and nobody makes one.
	f.advance(4 * time.Minute)
	for name, ch := range map[string]string{"expired": ch, "none": "", "of another": strings.Replace(ch, "1.", "2.", 1), "prolonged": strings.Replace(ch, ".1", ".9", 1), "cut": ch[:len(ch)-1]} {
		if err := confirm(ch, f.codeAt(t, secret, 0)); !errors.Is(err, account.ErrChallengeInvalid) {
			t.Errorf("a challenge that is %s: %v", name, err)
		}
	}
	old := f.challenge(t, password)
	if _, err := f.UpdateUser(t.Context(), u.ID, nil, account.UserPatch{Password: new("another good password")}); err != nil {
		t.Fatal(err)
	}
	if err := confirm(old, f.codeAt(t, secret, 0)); !errors.Is(err, account.ErrChallengeInvalid) {
		t.Errorf("a challenge of the old password: %v", err)
	}

	// New recovery codes, and turning it off, take the password and a code.
	from := account.Client{IP: ip}
	if err := f.DisableSecondFactor(t.Context(), p, "wrong", recovery[0], from); code(err) != "wrong_password" {
		t.Errorf("off with a wrong password: %v", err)
	}
	renewed, err := f.RenewRecoveryCodes(t.Context(), p, "another good password", recovery[0], from)
	if err != nil || len(renewed) != 10 {
		t.Fatalf("%q %v", renewed, err)
	}
	if err := f.DisableSecondFactor(t.Context(), p, "another good password", recovery[1], from); !isWrongCode(err) {
		t.Errorf("off with a replaced recovery code: %v", err)
	}
	if err := f.DisableSecondFactor(t.Context(), p, "another good password", renewed[0], from); err != nil {
		t.Errorf("off: %v", err)
	}
	f.mustLogin(t, email, "another good password")

	// Without a password there is nothing to confirm.
	in, err := f.LoginWith(t.Context(), account.Identity{Issuer: "https://x.example", Subject: "1", Email: "grace@example.org", EmailVerified: true, Join: true}, from)
	if err != nil {
		t.Fatal(err)
	}
	grace, err := f.Authenticate(t.Context(), in.Secret)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Enroll(t.Context(), grace); code(err) != "no_password" {
		t.Errorf("setting it up without a password: %v", err)
	}
}

func mustToken(t *testing.T, f *fixture, p *account.Principal) string {
	t.Helper()
	_, secret, err := f.CreateToken(t.Context(), p, account.NewToken{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// Wrong codes are limited, whoever has the password; right ones at the same moment sign in once.
func TestLoginWithCode_limits(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{Codes: account.NewMemoryLimiter(account.Rate{Count: 3, Per: time.Hour})})
	f.mustCreate(t, email, account.Member)
	_, p := f.mustLogin(t, email, password)
	secret, recovery := f.enrolls(t, p)
	ch := f.challenge(t, password)

	var wg sync.WaitGroup
	var mu sync.Mutex
	signedIn := 0
	for range 4 {
		wg.Go(func() {
			_, err := f.LoginWithCode(t.Context(), ch, f.codeAt(t, secret, 1), account.Client{IP: ip})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				signedIn++
			}
		})
	}
	wg.Wait()
	if signedIn != 1 {
		t.Errorf("one code signed in %d times", signedIn)
	}
	limited := 0
	for i := range 6 {
		_, err := f.LoginWithCode(t.Context(), f.challenge(t, password), "000000", account.Client{IP: "198.51.100." + string(rune('1'+i))})
		if _, ok := errors.AsType[*account.RateLimitError](err); ok {
			limited++
		}
	}
	if limited != 6 {
		t.Errorf("%d of 6 more wrong codes were refused unread", limited)
	}
	if _, err := f.LoginWithCode(t.Context(), ch, recovery[0], account.Client{IP: ip}); err == nil {
		t.Error("a limit that does not hold for recovery codes")
	}
}

// Where everybody needs a code, a session can only set one up until then.
func TestSecondFactor_required(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{})
	u := f.mustCreate(t, email, account.Member)
	f.SetSecondFactor(account.SecondFactorRequired)
	in, err := f.Login(t.Context(), email, password, account.Client{IP: ip})
	if err != nil || !in.Enroll {
		t.Fatalf("%+v %v", in, err)
	}
	p, err := f.Authenticate(t.Context(), in.Secret)
	if err != nil || !p.MustEnroll() {
		t.Fatalf("%+v %v", p, err)
	}
	var allowed []string
	for op := range account.Operations() {
		if account.Authorize(p, op) == nil && !account.Public(op) {
			allowed = append(allowed, op)
		}
	}
	if len(allowed) != 8 { // setting up an app or a passkey, the account, and signing out
		t.Errorf("the session may %q", allowed)
	}
	_, recovery := f.enrolls(t, p)
	if p, err = f.Authenticate(t.Context(), in.Secret); err != nil || p.MustEnroll() || account.Authorize(p, "create-meeting") != nil {
		t.Errorf("with an app: %+v %v", p, err)
	}
	if err := f.DisableSecondFactor(t.Context(), p, password, recovery[0], account.Client{IP: ip}); code(err) != "second_factor_required" {
		t.Errorf("off: %v", err)
	}
	if err := f.ResetSecondFactor(t.Context(), u.ID); err != nil || f.works(t, in.Secret) {
		t.Errorf("a reset: %v", err)
	}
	if err := f.ResetSecondFactor(t.Context(), u.ID); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("a second reset: %v", err)
	}
	if in, err := f.Login(t.Context(), email, password, account.Client{IP: ip}); err != nil || !in.Enroll {
		t.Errorf("after a reset: %+v %v", in, err)
	}
	f.SetSecondFactor(account.SecondFactorOff)
	if in, err := f.Login(t.Context(), email, password, account.Client{IP: ip}); err != nil || in.Enroll {
		t.Errorf("switched off: %+v %v", in, err)
	}
}

// The codes are those of RFC 6238, appendix B, in six digits.
func TestSecondFactor_vectors(t *testing.T) {
	t.Parallel()
	f := account.SecondFactor{Secret: base32.StdEncoding.EncodeToString([]byte("12345678901234567890"))}
	for at, code := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130"} {
		if step := account.StepOf(&f, code, time.Unix(at, 0)); step != at/30 {
			t.Errorf("the code %s at %d is that of step %d", code, at, step)
		}
	}
}
