package tests

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"punctual/tests/testenv"
)

// TestPageTwoStep: a person sets up an app, needs its codes to sign in, and is helped by an
// administrator. Where everybody needs codes, they are set up before anything else.
func TestPageTwoStep(t *testing.T) {
	t.Parallel()
	server := testenv.Server(t, testenv.Config{})
	admin := server.Admin(t)
	kim := admin.NewUser(t, "Kim", "member", with{"email": "kim@example.org", "password": "the password of Kim"}).User
	setUp := func(b *tab) (recovery string) {
		b.await("document.querySelector('code')")
		b.accessible("an app for codes")
		code, err := totp.GenerateCode(strings.ReplaceAll(eval[string](b, "document.querySelector('code').innerText"), " ", ""), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		b.fill("Code", code)
		b.press("Turn on")
		b.await("document.querySelectorAll('ul[aria-label=\"Recovery codes\"] li').length === 10")
		b.judged("recovery codes", "ul[aria-label='Recovery codes']")
		return eval[string](b, "document.querySelector('ul[aria-label=\"Recovery codes\"] li').innerText")
	}

	b := browse(t, server)
	b.signIn(kim.Email, "the password of Kim")
	b.open("/me")
	b.press("Set up")
	recovery := setUp(b)
	b.press("I’ve saved them")
	b.reads("10 recovery codes left")

	other := browse(t, server)
	other.open("/")
	other.fill("Email", kim.Email)
	other.fill("Password", "the password of Kim")
	other.press("Sign in")
	other.reads("Open your authenticator app")
	other.accessible("a code to sign in")
	other.fill("Code", "123")
	other.press("Sign in")
	other.reads("unused recovery code")
	other.fill("Code", strings.ToLower(recovery))
	other.press("Sign in")
	other.await("document.querySelector('.shell')")
	other.open("/me")
	other.press("Turn off")
	other.fillIn("[aria-labelledby=two-step] input[type=password]", "the password of Kim")
	other.fill("Code", recovery)
	other.press("Turn off")
	other.reads("unused recovery code") // it was used
	other.press("Cancel")
	other.reads("9 recovery codes left")

	boss := browse(t, server)
	boss.signIn(testenv.AdminEmail, testenv.AdminPassword)
	boss.open(at("/admin/people/%d", kim.ID))
	boss.press("Reset")
	boss.told("Two-step verification reset")
	boss.await("!document.body.innerText.includes('lost the app')")

	server.Configure(t, server.Config(t)+"auth: { second_factor: required }\n")
	eventually(t, time.Now().Add(time.Minute), "codes are required", func() bool {
		var state struct{ Mode string }
		admin.Want(t, http.StatusOK, http.MethodGet, "/me/second-factor", nil, &state)
		return state.Mode == "required"
	})
	other.open("/")
	other.fill("Email", kim.Email)
	other.fill("Password", "the password of Kim")
	other.press("Sign in")
	other.reads("Everyone here needs a second step")
	other.open("/mine") // there is no way around
	setUp(other)
	other.press("Continue")
	other.await("document.querySelector('.shell') && location.pathname === '/mine'")
}
