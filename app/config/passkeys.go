package config

import (
	"net"
	"net/url"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Passkeys says whether people sign in with passkeys, and to which domain browsers bind them.
type Passkeys struct {
	Enabled bool   `yaml:"enabled" restart:"true"`
	Domain  string `yaml:"domain" restart:"true"` // empty: the host of http.base_url
}

// PasskeyDomain returns the domain of passkeys. It is empty if they are off, or if browsers allow none at
// http.base_url: that takes a name instead of an address, and HTTPS except for localhost.
func (c *Config) PasskeyDomain() string {
	u, err := url.Parse(c.HTTP.BaseURL)
	if err != nil || !c.Auth.Passkeys.Enabled || !allowsPasskeys(u) {
		return ""
	}
	if c.Auth.Passkeys.Domain != "" {
		return c.Auth.Passkeys.Domain
	}
	return strings.ToLower(u.Hostname())
}

func allowsPasskeys(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	return host != "" && net.ParseIP(host) == nil && (u.Scheme == "https" || host == "localhost" || strings.HasSuffix(host, ".localhost"))
}

func (p *Passkeys) validate(baseURL string, r *rules) {
	u, err := url.Parse(baseURL)
	if p.Domain == "" || err != nil { // http.base_url is reported elsewhere
		return
	}
	const path = "auth.passkeys.domain"
	host := strings.ToLower(u.Hostname())
	r.check(allowsPasskeys(u), path, "cannot be used with http.base_url %q: browsers allow passkeys for names only, with https", baseURL)
	r.check(p.Domain == host || strings.HasSuffix(host, "."+p.Domain), path, "is %q; it must be the host of http.base_url, %s, or a domain above it", p.Domain, host)
	if p.Domain != host {
		_, err := publicsuffix.EffectiveTLDPlusOne(p.Domain)
		r.check(err == nil, path, "is %q, which belongs to the public; it must be a domain of yours", p.Domain)
	}
}
