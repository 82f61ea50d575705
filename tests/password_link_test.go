package tests

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"punctual/tests/testenv"
)

var passwordLink = regexp.MustCompile(`https?://\S+/password#token=(pq_[\w-]+)`)

// TestPasswordLinks: an invited person chooses a password, later forgets it, and chooses another.
// Links lead to http.base_url, and neither the log nor any list shows their tokens.
func TestPasswordLinks(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		server := testenv.Server(t, on.Config)
		admin, anybody := server.Admin(t), server.Anonymous()
		elsewhere := testenv.Header("X-Forwarded-Host", "evil.example.net")
		token := func(kind string) string {
			t.Helper()
			m := mail.Next(t, slack)
			link := passwordLink.FindStringSubmatch(m.Part("text/plain"))
			if m.Kind() != kind || link == nil || !strings.HasPrefix(link[0], server.URL+"/password#") {
				t.Fatalf("mail %s, want %s with a link to %s:\n%s", m.Kind(), kind, server.URL, m.Part("text/plain"))
			}
			return link[1]
		}
		confirm := func(status int, token, password string, out any) {
			t.Helper()
			anybody.Want(t, status, http.MethodPost, "/auth/password-reset/confirm", with{"token": token, "password": password, "name": "Lee"}, out)
		}

		var lee struct{ ID int64 }
		admin.Want(t, http.StatusCreated, http.MethodPost, "/users", with{"email": "lee@example.org", "role": "member", "invite": true}, &lee, elsewhere)
		admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/users", with{"email": "x@example.org", "role": "member", "invite": true, "password": "a good long password"})
		invitation := token("invite_user")
		anybody.Want(t, http.StatusUnauthorized, http.MethodGet, "/me", nil, nil, testenv.Header("Authorization", "Bearer "+invitation))
		confirm(http.StatusOK, invitation, "a good long password", nil)
		confirm(http.StatusUnauthorized, invitation, "a good long password", nil)
		member := server.Login(t, "lee@example.org", "a good long password")
		admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, at("/users/%d/invite", lee.ID), nil)
		member.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, at("/users/%d/invite", lee.ID), nil)

		for _, email := range []string{"nobody@example.org", "LEE@example.org"} {
			anybody.Want(t, http.StatusAccepted, http.MethodPost, "/auth/password-reset", with{"email": email}, nil, elsewhere)
		}
		reset := token("password_reset")
		confirm(http.StatusOK, reset, "another good password", nil)
		confirm(http.StatusUnauthorized, reset, "another good password", nil)
		member.Want(t, http.StatusUnauthorized, http.MethodGet, "/me", nil, nil)
		server.Login(t, "lee@example.org", "another good password")

		ledger := string(admin.Do(t, http.MethodGet, "/notifications", nil).Body)
		audit := string(admin.Do(t, http.MethodGet, "/audit", nil).Body)
		for _, action := range []string{"user.created", "user.joined", "user.reset_requested", "user.password_reset"} {
			if !strings.Contains(audit, action) {
				t.Errorf("the audit log lacks %s", action)
			}
		}
		for _, secret := range []string{invitation, reset} {
			if strings.Contains(server.Log()+ledger+audit, secret) {
				t.Error("a log or a list shows the token of a link")
			}
		}
	})
}
