package tests

import (
	"context"
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"

	"punctual/tests/testenv"
)

// device gives the browser a device that holds passkeys and recognizes its owner, or not. The browser
// takes a passkey that it may suggest at once, so it suggests none unless localStorage.suggest is set.
func (b *tab) device() (recognizes func(bool)) {
	b.t.Helper()
	var id webauthn.AuthenticatorID
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		if _, err := cdp.Call(ctx, target, webauthn.Enable, webauthn.EnableParams{}); err != nil {
			return err
		}
		added, err := cdp.Call(ctx, target, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
			Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
			HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
		}})
		if err != nil {
			return err
		}
		id = added.AuthenticatorID
		_, err = cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
			const offered = PublicKeyCredential.isConditionalMediationAvailable.bind(PublicKeyCredential)
			PublicKeyCredential.isConditionalMediationAvailable = async () => !!localStorage.suggest && offered()`})
		return err
	}))
	return func(yes bool) {
		b.t.Helper()
		b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, webauthn.SetUserVerified, webauthn.SetUserVerifiedParams{AuthenticatorID: id, IsUserVerified: yes})
			return err
		}))
	}
}

// TestPagePasskey: a person adds a passkey of a real browser, signs in with it alone and after the
// password, renames it, ends another session, and removes the passkey, as an administrator can.
func TestPagePasskey(t *testing.T) {
	t.Parallel()
	server := testenv.Server(t, testenv.Config{Localhost: true})
	admin := server.Admin(t)
	elsewhere := admin.NewUser(t, "Kim", "member", with{"email": "kim@example.org", "password": "the password of Kim"})
	kim := elsewhere.User
	list := func() (names []string) {
		var out struct{ Items []struct{ Name string } }
		admin.Want(t, http.StatusOK, http.MethodGet, at("/users/%d/passkeys", kim.ID), nil, &out)
		for _, k := range out.Items {
			names = append(names, k.Name)
		}
		return names
	}

	b := browse(t, server)
	recognizes := b.device()
	b.signIn(kim.Email, "the password of Kim")
	b.open("/me")
	b.press("Add a passkey")
	b.told("Passkey added")
	b.reads("not used yet")
	b.judged("passkeys", "section[aria-labelledby=passkeys]")
	b.press("Add a passkey")
	b.reads("already has a passkey")
	b.press("Rename: Passkey")
	b.fill("Passkey name", "My laptop\r")
	b.await("document.querySelector('section[aria-labelledby=passkeys]').innerText.includes('My laptop')")
	if names := list(); len(names) != 1 || names[0] != "My laptop" {
		t.Errorf("an administrator sees %q", names)
	}

	// The profile shows the other session, too, and ends it.
	b.await("document.querySelector('section[aria-labelledby=sessions]').innerText.includes('this browser')")
	b.click("document.querySelector('section[aria-labelledby=sessions] button')")
	b.told("Signed out there")
	elsewhere.WantProblem(t, http.StatusUnauthorized, "unauthorized", http.MethodGet, "/me", nil)

	signOut := func() {
		b.t.Helper()
		eval[bool](b, "fetch('/api/v1/auth/logout', { method: 'POST' }).then(() => true)")
		b.open("/")
		b.await("document.querySelector('input[type=password]')")
	}
	signOut()
	recognizes(false)
	b.press("Sign in with a passkey")
	b.reads("No passkey was used")
	recognizes(true)
	b.press("Sign in with a passkey")
	b.await("document.querySelector('.shell')")
	eval[bool](b, "(localStorage.suggest = '1', true)")
	eval[bool](b, "fetch('/api/v1/auth/logout', { method: 'POST' }).then(() => true)")
	b.open("/")
	// The browser suggested the passkey. The page alone is no proof: at first it assumes the user of the last visit.
	b.await("fetch('/api/v1/auth/session').then((r) => r.json()).then(({ user }) => user && document.querySelector('.shell'))")
	eval[bool](b, "(localStorage.removeItem('suggest'), true)")

	boss := browse(t, server)
	boss.signIn(testenv.AdminEmail, testenv.AdminPassword)

	// With a second factor required, the passkey confirms the password.
	server.Configure(t, server.Config(t)+"auth: { second_factor: required }\n")
	b.until("a second factor is required", func(int) string {
		var state struct{ Mode string }
		admin.Want(t, http.StatusOK, http.MethodGet, "/me/second-factor", nil, &state)
		if state.Mode != "required" {
			return state.Mode
		}
		return ""
	})
	signOut()
	b.fill("Email", kim.Email)
	b.fill("Password", "the password of Kim")
	b.press("Sign in")
	b.reads("Confirm it’s you")
	b.accessible("a passkey to sign in")
	b.press("Use a passkey")
	b.await("document.querySelector('.shell')")
	b.open("/me")
	b.press("Remove: My laptop")
	b.told("this is your only one")

	boss.open(at("/admin/people/%d", kim.ID))
	boss.press("Remove: My laptop")
	boss.told("Passkey removed")
	if names := list(); len(names) != 0 {
		t.Errorf("left: %q", names)
	}
	b.open("/")
	b.press("Sign in with a passkey")
	b.reads("no longer works here")
}
