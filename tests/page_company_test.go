package tests

import (
	"testing"

	"github.com/chromedp/chromedp"

	"punctual/tests/testenv"
)

// TestPageCompanyAccount: one click signs somebody in with the company's account and shows what they
// wanted to see; a refusal is explained, in each language, and the password still works.
func TestPageCompanyAccount(t *testing.T) {
	t.Parallel()
	c := newCompany(t, setup{})
	c.provider.Is(person("1", "grace@example.org"))
	b := browse(t, c.server)
	b.elsewhere = c.provider.URL
	b.open("/mine")
	b.reads("or with a password")
	b.judged("sign-in with a company", "a.button[href^='/auth/corp?']")
	b.press("Sign in with Example corp")
	b.await("document.querySelector('.shell') && location.pathname === '/mine'")
	b.reads("Grace Hopper")

	c.provider.Is(with{"sub": "2", "email": "mallory@example.com", "email_verified": true})
	stranger := browse(t, c.server)
	stranger.elsewhere = c.provider.URL
	stranger.open("/")
	for _, language := range []struct{ button, says string }{
		{"Deutsch", "noch kein Konto"},
		{"中文", "您在这里还没有账户"},
		{"English", "no account for you here yet"},
	} {
		button := language.button
		stranger.press(button)
		stranger.await("document.querySelector('button[aria-pressed=true]').innerText === %q", button)
		stranger.click("document.querySelector('a.button[href^=\"/auth/corp?\"]')")
		stranger.reads(language.says)
		stranger.await("location.pathname === '/' && location.search === ''")
		stranger.accessible("refused in " + button)
		stranger.shot("refused")
	}
	stranger.fill("Email", testenv.AdminEmail)
	stranger.fill("Password", testenv.AdminPassword)
	stranger.press("Sign in")
	stranger.await("document.querySelector('.shell')")
	stranger.do(chromedp.Navigate(c.server.URL + "/admin/audit"))
	stranger.await("document.querySelector('li[data-action=\"user.created\"]')")
}
