package account_test

import (
	"errors"
	"testing"
	"time"

	"punctual/account"
)

// A logout token ends the sessions that it names, of its own provider, and counts once.
func TestEndSessions(t *testing.T) {
	t.Parallel()
	const corp, other = "https://corp.example.org", "https://other.example.org"
	for name, c := range map[string]struct {
		logout account.Logout
		ended  []string
	}{
		"a session":                      {account.Logout{Session: "laptop"}, []string{"laptop"}},
		"a person":                       {account.Logout{Subject: "ada"}, []string{"laptop", "phone", "unnamed", "password"}},
		"a session of a person":          {account.Logout{Subject: "ada", Session: "laptop"}, []string{"laptop", "unnamed"}},
		"a session of somebody else":     {account.Logout{Subject: "eve", Session: "laptop"}, nil},
		"an unknown session":             {account.Logout{Session: "tablet"}, nil},
		"a session of another provider":  {account.Logout{Issuer: other, Session: "laptop"}, nil},
		"an unknown person":              {account.Logout{Subject: "bob"}, nil},
		"a token issued a while ago":     {account.Logout{Session: "phone", Issued: time.Unix(-3600, 0)}, []string{"phone"}},
		"by a clock that is a bit ahead": {account.Logout{Session: "phone", Issued: time.Unix(300, 0)}, []string{"phone"}},
		"too old":                        {account.Logout{Session: "phone", Issued: time.Unix(-3601, 0)}, nil},
		"from the future":                {account.Logout{Session: "phone", Issued: time.Unix(301, 0)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newService(t, account.Config{})
			f.mustCreate(t, email, account.Member)
			f.mustCreate(t, "eve@example.org", account.Member)
			secrets := map[string]string{}
			secrets["password"], _ = f.mustLogin(t, email, password)
			begin := func(name, subject, address, session string) {
				t.Helper()
				in, err := f.LoginWith(t.Context(), account.Identity{Issuer: corp, Subject: subject, Session: session, Email: address, EmailVerified: true}, account.Client{IP: ip})
				if err != nil {
					t.Fatal(err)
				}
				secrets[name] = in.Secret
			}
			begin("laptop", "ada", email, "laptop")
			begin("phone", "ada", email, "phone")
			begin("unnamed", "ada", email, "")
			begin("eve", "eve", "eve@example.org", "desk")

			l := c.logout
			if l.Issuer == "" {
				l.Issuer = corp
			}
			offset := time.Duration(0)
			if !l.Issued.IsZero() {
				offset = time.Duration(l.Issued.Unix()) * time.Second
			}
			l.ID, l.Issued = "1", f.now().Add(offset)
			err := f.EndSessions(t.Context(), l)
			if late := offset < -time.Hour || offset > 5*time.Minute; errors.Is(err, account.ErrLogoutTime) != late || !late && err != nil {
				t.Errorf("end: %v", err)
			}
			ended := map[string]bool{}
			for _, name := range c.ended {
				ended[name] = true
			}
			for name, secret := range secrets {
				if f.works(t, secret) == ended[name] {
					t.Errorf("session %s: ended is %t, want %t", name, !ended[name], ended[name])
				}
			}
			if err != nil {
				return
			}

			// The same token again, as long as it would not be too old.
			f.advance(l.Issued.Add(time.Hour).Sub(f.now()))
			f.mustLogin(t, email, password) // deletes what has expired
			if err := f.EndSessions(t.Context(), l); !errors.Is(err, account.ErrLogoutRepeated) {
				t.Errorf("a second time: %v", err)
			}
			l.Issuer = "https://third.example.org" // whose IDs are its own
			if err := f.EndSessions(t.Context(), l); err != nil {
				t.Errorf("the same ID of another issuer: %v", err)
			}
		})
	}
}
