package account_test

import (
	"errors"
	"testing"

	"punctual/account"
)

// Users see where they are signed in, and end what they do not recognize.
func TestSessions(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{})
	u := f.mustCreate(t, email, account.Member)
	eve := f.mustCreate(t, "eve@example.org", account.Member)
	begin := func(email, agent, ip string) (*account.Principal, string) {
		t.Helper()
		in, err := f.Login(t.Context(), email, password, account.Client{IP: ip, Agent: agent})
		if err != nil {
			t.Fatal(err)
		}
		p, err := f.Authenticate(t.Context(), in.Secret)
		if err != nil {
			t.Fatal(err)
		}
		return p, in.Secret
	}
	for _, c := range []struct{ agent, want string }{
		{"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Windows"},
		{"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36 Edg/138.0.0.0", "Edge on Windows"},
		{"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.4 Safari/605.1.15", "Safari on Mac"},
		{"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/138.0 Mobile/15E148 Safari/604.1", "Chrome on iPhone"},
		{"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Mobile Safari/537.36", "Chrome on Android"},
		{"curl/8.5.0", ""}, {"", ""},
	} {
		p, _ := begin(email, c.agent, "192.0.2.7")
		list, _, err := f.ListSessions(t.Context(), u.ID, account.Page{})
		if err != nil || list[len(list)-1].ID != p.TokenID || list[len(list)-1].Device != c.want || list[len(list)-1].Address != "192.0.2.7" {
			t.Errorf("%q: %+v %v, want %q", c.agent, list[len(list)-1], err, c.want)
		}
	}
	hers, secret := begin("eve@example.org", "", ip)
	if err := f.DeleteSession(t.Context(), u.ID, hers.TokenID); !errors.Is(err, account.ErrNotFound) || !f.works(t, secret) {
		t.Errorf("a session of somebody else: %v", err)
	}
	if err := f.DeleteSession(t.Context(), eve.ID, hers.TokenID); err != nil || f.works(t, secret) {
		t.Errorf("ended: %v", err)
	}
	hers, _ = begin("eve@example.org", "", ip)
	token, err := f.Authenticate(t.Context(), mustToken(t, f, hers))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.DeleteSession(t.Context(), eve.ID, token.TokenID); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("an API token is no session: %v", err)
	}
}
