package config

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"punctual/account"
)

// OIDC is an OpenID Connect provider with whose accounts people sign in.
type OIDC struct {
	Name         string              `yaml:"name"` // on the button
	Issuer       string              `yaml:"issuer"`
	ClientID     string              `yaml:"client_id"`
	ClientSecret string              `yaml:"client_secret" secret:"true"`
	Scopes       []string            `yaml:"scopes"`      // beside openid; none: profile and email
	Domains      []string            `yaml:"domains"`     // of addresses whose owners become users
	TrustEmail   bool                `yaml:"trust_email"` // addresses count as verified
	Groups       string              `yaml:"groups"`      // claim with the groups of a person; empty: groups
	Roles        map[string][]string `yaml:"roles"`       // groups by role; none: the provider does not decide roles
}

var providerID = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

func (c *OIDC) validate(id string, r *rules) {
	path := "auth.oidc." + id
	r.check(providerID.MatchString(id), path, "is a provider with the key %q; a key has 1 to 32 letters a-z, digits or -", id)
	r.check(strings.TrimSpace(c.Name) != "" && len(c.Name) <= 60, path+".name", "must be the text for the button, such as Example Corp, of at most 60 bytes")
	u, err := url.Parse(c.Issuer)
	r.check(err == nil && isHTTP(u) && u.User == nil && u.RawQuery == "" && u.Fragment == "" && (u.Scheme == "https" || isLoopback(u.Hostname())), path+".issuer",
		"is %q; it must be the https address of the issuer, such as https://login.example.org/realms/main", c.Issuer)
	r.check(c.ClientID != "", path+".client_id", "must be the ID that the provider gave to punctual")
	for i, s := range c.Scopes {
		r.check(s != "" && !strings.ContainsAny(s, " \t\n\""), fmt.Sprintf("%s.scopes[%d]", path, i), "is %q; it must be a single scope", s)
	}
	for i, d := range c.Domains {
		r.check(domainName.MatchString(d), fmt.Sprintf("%s.domains[%d]", path, i), "must be a domain such as example.org, not %q", d)
	}
	r.groupRoles(path, c.Roles)
}

func (r *rules) groupRoles(path string, roles map[string][]string) {
	for role, groups := range roles {
		r.check(slices.Contains([]string{"member", "manager", "admin"}, role), path+".roles."+role, "is no role; roles are member, manager and admin")
		r.check(len(groups) > 0 && !slices.Contains(groups, ""), path+".roles."+role, "must list the groups that get the role")
	}
}

// GroupRoles returns the groups that each role is for.
func (c *OIDC) GroupRoles() account.GroupRoles { return groupRoles(c.Roles) }

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
