package tests

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// company is an installation with a provider whose people may sign in.
type company struct {
	*testing.T
	provider *testenv.OpenIDProvider
	server   *testenv.ServerInstance
	admin    *testenv.Client
}

// newCompany starts one, with more YAML for the section auth.
func newCompany(t *testing.T, on setup, more ...string) *company {
	c := &company{T: t, provider: testenv.OpenID(t)}
	config := func(key, issuer string) string {
		return fmt.Sprintf("    %s: { name: %q, issuer: %q, client_id: %q, client_secret: %q, domains: [example.org], groups: teams, roles: { manager: [Facility], admin: [IT] } }\n",
			key, "Example "+key, issuer, testenv.OpenIDClient, testenv.OpenIDSecret)
	}
	on.YAML += "auth:\n  login_rate: 1000/s\n  oidc:\n" + config("corp", c.provider.URL) + config("gone", "http://127.0.0.1:9/") + strings.Join(more, "")
	c.server = testenv.Server(t, on.Config)
	c.provider.Redirect = c.server.URL + "/auth/corp/callback"
	c.admin = c.server.Admin(t)
	return c
}

// browser is one person's: it keeps cookies.
func (c *company) browser() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		c.Fatal(err)
	}
	return &http.Client{Jar: jar, Timeout: patience}
}

// goes opens an address and returns where the browser ends up, without the host.
func (c *company) goes(b *http.Client, address string) string {
	c.Helper()
	res, err := b.Get(address)
	if err != nil {
		c.Fatal(err)
	}
	defer res.Body.Close()
	if body, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK {
		c.Fatalf("%s: %s %s", res.Request.URL, res.Status, body)
	}
	return strings.TrimPrefix(res.Request.URL.String(), c.server.URL)
}

type account struct {
	ID                int64
	Email, Name, Role string
	Locale, Timezone  string
}

// user is who is signed in; nil: nobody.
func (c *company) user(b *http.Client) *account {
	c.Helper()
	res, err := b.Get(c.server.URL + "/api/v1/auth/session")
	if err != nil {
		c.Fatal(err)
	}
	defer res.Body.Close()
	var session struct{ User *account }
	if err := json.NewDecoder(res.Body).Decode(&session); err != nil {
		c.Fatal(err)
	}
	return session.User
}

// signsIn lets a person sign in who must succeed.
func (c *company) signsIn(claims with) (*http.Client, *account) {
	c.Helper()
	c.provider.Is(claims)
	b := c.browser()
	if at := c.goes(b, c.server.URL+"/auth/corp?return="+url.QueryEscape("/week?date=2027-01-04")); at != "/week?date=2027-01-04" {
		c.Fatalf("%v ends up at %s", claims, at)
	}
	u := c.user(b)
	if u == nil {
		c.Fatalf("%v is not signed in", claims)
	}
	return b, u
}

// refused lets a browser try, which must end at the sign-in page with the reason.
func (c *company) refused(reason, address string) {
	c.Helper()
	b := c.browser()
	at, err := url.Parse(c.goes(b, c.server.URL+address))
	if err != nil || at.Path != "/" || at.Query().Get("sign_in") != reason {
		c.Errorf("%s ends up at %v, want the reason %s", address, at, reason)
	}
	if u := c.user(b); u != nil {
		c.Errorf("%s signs %s in", address, u.Email)
	}
}

func person(subject, email string, groups ...string) with {
	return with{"sub": subject, "email": email, "email_verified": true, "name": "Grace Hopper", "locale": "de-DE", "zoneinfo": "Europe/Berlin", "teams": groups}
}

// TestCompanyAccounts: people sign in with the accounts of their company. Who they are is what the
// provider or the directory vouches for, and nothing else.
func TestCompanyAccounts(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		directory := testenv.LDAP(t, people)
		c := newCompany(t, on, directoryConfig(directory))

		// Somebody new becomes a user, with what the provider knows.
		_, grace := c.signsIn(person("1", "Grace@Example.org"))
		if want := (account{grace.ID, "grace@example.org", "Grace Hopper", "member", "de-DE", "Europe/Berlin"}); *grace != want {
			t.Errorf("the new user is %+v, want %+v", *grace, want)
		}
		c.signsIn(with{"sub": "odd", "email": "odd@example.org", "email_verified": "true", "name": strings.Repeat("x\n", 300), "locale": "x", "zoneinfo": "Moon"})

		// Groups decide the role at each sign-in; the address may change.
		b, again := c.signsIn(person("1", "hopper@example.org", "Facility", "Others"))
		if again.ID != grace.ID || again.Role != "manager" {
			t.Errorf("the second time: %+v", again)
		}
		if _, again = c.signsIn(person("1", "hopper@example.org", "Facility", "IT")); again.Role != "admin" {
			t.Errorf("in two groups: %+v", again)
		}
		if _, again = c.signsIn(person("1", "hopper@example.org")); again.Role != "member" || again.ID != grace.ID {
			t.Errorf("in no group: %+v", again)
		}

		// A user is found by the verified address, and then by the identity.
		alice := c.admin.NewUser(t, "Alice", "member", with{"email": "alice@example.org"}).User
		if _, u := c.signsIn(person("2", "alice@example.org")); u.ID != alice.ID {
			t.Errorf("Alice is %+v, want the user %d", u, alice.ID)
		}
		c.provider.Is(person("3", "alice@example.org")) // somebody else has her address now
		c.refused("other_identity", "/auth/corp")
		if out, err := c.server.Command(t, "user", "unlink", "alice@example.org", "--config", c.server.ConfigFile()).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if _, u := c.signsIn(person("3", "alice@example.org")); u.ID != alice.ID {
			t.Errorf("after unlinking Alice is %+v", u)
		}

		// The only admin stays one.
		if _, u := c.signsIn(person("root", testenv.AdminEmail)); u.Role != "admin" {
			t.Errorf("the last admin became %s", u.Role)
		}

		// Who is not let in.
		c.provider.Is(with{"sub": "4", "email": "mallory@example.org", "email_verified": false})
		c.refused("unverified_email", "/auth/corp")
		c.provider.Is(with{"sub": "4", "email_verified": true})
		c.refused("unverified_email", "/auth/corp")
		c.provider.Is(person("4", "mallory@example.com"))
		c.refused("no_account", "/auth/corp")
		c.admin.Want(t, http.StatusOK, http.MethodPatch, at("/users/%d", alice.ID), with{"disabled": true}, nil)
		c.provider.Is(person("3", "alice@example.org"))
		c.refused("disabled", "/auth/corp")
		c.provider.Denies()
		c.refused("denied", "/auth/corp")
		c.provider.Is(person("1", "grace@example.org"))
		c.refused("expired", "/auth/corp/callback?code=x&state=y") // a sign-in that did not begin here
		c.refused("expired", "/auth/corp/callback?code=x&state=")
		for claim, value := range map[string]any{"nonce": "another", "aud": "another", "iss": "https://example.com", "exp": time.Now().Add(-time.Hour).Unix()} {
			c.provider.Forges(func(claims map[string]any) { claims[claim] = value })
			c.refused("failed", "/auth/corp")
		}
		c.provider.Forges(nil)
		c.refused("failed", "/auth/gone") // a provider that is down

		// Nobody is sent elsewhere, and nothing is good for twice.
		for _, path := range []string{"//example.com", "https://example.com/", "/\\example.com", "javascript:alert(1)", ""} {
			if at := c.goes(c.browser(), c.server.URL+"/auth/corp?return="+url.QueryEscape(path)); at != "/" {
				t.Errorf("return=%s leads to %s", path, at)
			}
		}
		var callback string
		once := c.browser()
		once.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
			if r.URL.Path == "/auth/corp/callback" {
				callback = r.URL.String()
			}
			return nil
		}
		c.goes(once, c.server.URL+"/auth/corp")
		if at := c.goes(once, callback); !strings.Contains(at, "sign_in=expired") {
			t.Errorf("a second time the same answer leads to %s", at)
		}

		// When the provider says so, sessions end; others' words count for nothing.
		token := c.provider.LogoutToken("1")
		idToken := c.provider.LogoutToken("1")
		idToken["nonce"] = "n"
		for name, raw := range map[string]string{"none": "", "an ID token": c.provider.Sign(nil, idToken), "another's": testenv.OpenID(t).Sign(nil, token)} {
			if status := c.logout(raw); status != http.StatusBadRequest {
				t.Errorf("logout with %s: %d", name, status)
			}
		}
		if c.user(b) == nil {
			t.Fatal("the session ended")
		}
		if status := c.logout(c.provider.Sign(nil, token)); status != http.StatusOK {
			t.Errorf("logout: %d", status)
		}
		if u := c.user(b); u != nil {
			t.Errorf("%s is still signed in", u.Email)
		}
		// Each token counts once, and a session of the provider can end alone.
		b, _ = c.signsIn(person("1", "grace@example.org"))
		laptop, phone := person("1", "grace@example.org"), person("1", "grace@example.org")
		laptop["sid"], phone["sid"] = "laptop", "phone"
		l, _ := c.signsIn(laptop)
		p, _ := c.signsIn(phone)
		if status := c.logout(c.provider.Sign(nil, token)); status != http.StatusBadRequest {
			t.Errorf("logout again: %d", status)
		}
		old := c.provider.LogoutToken("1")
		old["iat"] = time.Now().Add(-2 * time.Hour).Unix()
		if status := c.logout(c.provider.Sign(nil, old)); status != http.StatusBadRequest {
			t.Errorf("logout of two hours ago: %d", status)
		}
		bySession := c.provider.LogoutToken("")
		delete(bySession, "sub")
		bySession["sid"] = "laptop"
		if status := c.logout(c.provider.Sign(nil, bySession)); status != http.StatusOK {
			t.Errorf("logout of a session: %d", status)
		}
		if c.user(b) == nil || c.user(l) != nil || c.user(p) == nil {
			t.Errorf("after the session ended at the provider: %v, %v and %v, want only the second ended", c.user(b), c.user(l), c.user(p))
		}
		if status := c.logout(c.provider.Sign(nil, c.provider.LogoutToken("nobody"))); status != http.StatusOK {
			t.Errorf("logout of somebody unknown: %d", status)
		}

		// One person who signs in for the first time in ten windows is one user.
		c.provider.Is(person("5", "ten@example.org"))
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				b := c.browser()
				res, err := b.Get(c.server.URL + "/auth/corp")
				if err != nil {
					t.Error(err)
					return
				}
				res.Body.Close()
				if u := c.user(b); u == nil || u.Email != "ten@example.org" {
					t.Errorf("at %s: %+v", res.Request.URL, u)
				}
			})
		}
		wg.Wait()

		out, err := c.server.Command(t, "auth", "test", "--config", c.server.ConfigFile()).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.provider.Redirect) || !strings.Contains(string(out), "reached") || !strings.Contains(string(out), "1 of the providers not reached") {
			t.Errorf("auth test: %v\n%s", err, out)
		}
		if out, err := c.server.Command(t, "auth", "test", "corp", "--config", c.server.ConfigFile()).CombinedOutput(); err != nil {
			t.Errorf("auth test corp: %v\n%s", err, out)
		}
		if out, _ := c.server.Command(t, "config", "check", "--config", c.server.ConfigFile()).CombinedOutput(); strings.Contains(string(out), testenv.OpenIDSecret) {
			t.Errorf("the secret is shown:\n%s", out)
		}
		c.usesDirectory(t, directory)
	})
}

func (c *company) logout(token string) int {
	c.Helper()
	res, err := http.PostForm(c.server.URL+"/auth/corp/logout", url.Values{"logout_token": {token}})
	if err != nil {
		c.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}
