package config

import "testing"

func TestPasskeyDomain(t *testing.T) {
	for _, c := range []struct {
		baseURL, domain, want string
		off                   bool
	}{
		{baseURL: "https://rooms.example.org", want: "rooms.example.org"},
		{baseURL: "https://Rooms.example.org:8443", want: "rooms.example.org"},
		{baseURL: "https://rooms.example.org", domain: "example.org", want: "example.org"},
		{baseURL: "https://rooms.example.org", off: true},
		{baseURL: "http://localhost:8080", want: "localhost"},
		{baseURL: "http://rooms.example.org"},
		{baseURL: "https://192.0.2.1"},
		{baseURL: "http://127.0.0.1:8080"},
		{baseURL: "https://[::1]"},
	} {
		settings := Default()
		settings.HTTP.BaseURL, settings.Auth.Passkeys = c.baseURL, Passkeys{Enabled: !c.off, Domain: c.domain}
		if got := settings.PasskeyDomain(); got != c.want {
			t.Errorf("%s, %q: %q, want %q", c.baseURL, c.domain, got, c.want)
		}
	}
}
