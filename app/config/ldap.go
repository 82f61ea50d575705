package config

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"punctual/account"
	"punctual/account/ldap"
)

// LDAP is a directory with whose passwords people sign in. Empty filters and attributes mean those of
// [ldap.Defaults].
type LDAP struct {
	URL             string              `yaml:"url"`
	StartTLS        bool                `yaml:"start_tls"`
	CAFile          string              `yaml:"ca_file"` // PEM; empty: the authorities of the system
	BindDN          string              `yaml:"bind_dn"` // empty: searches are anonymous
	BindPassword    string              `yaml:"bind_password" secret:"true"`
	ActiveDirectory bool                `yaml:"active_directory"`
	Domains         []string            `yaml:"domains"`
	Base            string              `yaml:"base"`
	Filter          string              `yaml:"filter"`
	Mail            string              `yaml:"mail"`
	Name            string              `yaml:"name"`
	ID              string              `yaml:"id"`
	GroupBase       string              `yaml:"group_base"` // empty: base
	GroupFilter     string              `yaml:"group_filter"`
	Roles           map[string][]string `yaml:"roles"` // groups by role; none: the directory does not decide roles
}

// Directory converts c to the configuration of the directory with a key. c must be valid.
func (c *LDAP) Directory(id string) ldap.Config {
	d := ldap.Defaults(c.ActiveDirectory)
	d.ID, d.URL, d.StartTLS, d.BindDN, d.BindPassword = id, c.URL, c.StartTLS, c.BindDN, c.BindPassword
	d.Roots, _ = c.roots()
	d.Domains, d.Base, d.Filter = c.Domains, c.Base, cmp.Or(c.Filter, d.Filter)
	d.Mail, d.Name, d.Subject = cmp.Or(c.Mail, d.Mail), cmp.Or(c.Name, d.Name), cmp.Or(c.ID, d.Subject)
	d.GroupBase, d.GroupFilter, d.Roles = cmp.Or(c.GroupBase, c.Base), cmp.Or(c.GroupFilter, d.GroupFilter), groupRoles(c.Roles)
	return d
}

// roots returns the authorities of ca_file, nil for those of the system.
func (c *LDAP) roots() (*x509.CertPool, error) {
	if c.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New("it holds no certificate in PEM")
	}
	return roots, nil
}

func (c *LDAP) validate(id string, r *rules) {
	path := "auth.ldap." + id
	r.check(providerID.MatchString(id), path, "is a directory with the key %q; a key has 1 to 32 letters a-z, digits or -", id)
	u, err := url.Parse(c.URL)
	r.check(err == nil && (u.Scheme == "ldap" || u.Scheme == "ldaps") && u.Hostname() != "" && u.User == nil && strings.Trim(u.Path, "/") == "" && u.RawQuery == "", path+".url",
		"is %q; it must be the address of the directory, such as ldaps://ldap.example.org", c.URL)
	if err == nil {
		r.check(u.Scheme != "ldap" || c.StartTLS || isLoopback(u.Hostname()), path+".url", "sends passwords unencrypted; write ldaps:// or set %s.start_tls", path)
		r.check(u.Scheme != "ldaps" || !c.StartTLS, path+".start_tls", "is set, but ldaps:// is encrypted from the start")
	}
	_, err = c.roots()
	r.check(err == nil, path+".ca_file", "cannot be used: %v", err)
	r.check(c.BindDN == "" || ldap.IsDN(c.BindDN), path+".bind_dn", "is %q; it must be a distinguished name, such as cn=punctual,ou=services,dc=example,dc=org", c.BindDN)
	r.check((c.BindDN == "") == (c.BindPassword == ""), path+".bind_password", "and %s.bind_dn must both be set, or none for anonymous searches", path)
	r.check(len(c.Domains) > 0, path+".domains", "must list the domains of the addresses in the directory, such as example.org")
	for i, d := range c.Domains {
		r.check(domainName.MatchString(d), fmt.Sprintf("%s.domains[%d]", path, i), "must be a domain such as example.org, not %q", d)
	}
	r.check(ldap.IsDN(c.Base), path+".base", "is %q; it must be the distinguished name above the people, such as ou=people,dc=example,dc=org", c.Base)
	r.check(c.GroupBase == "" || ldap.IsDN(c.GroupBase), path+".group_base", "is %q; it must be the distinguished name above the groups, such as ou=groups,dc=example,dc=org", c.GroupBase)
	filter, groupFilter := c.Directory(id).CheckFilters()
	r.check(filter == nil, path+".filter", "cannot work: %v", filter)
	r.check(groupFilter == nil, path+".group_filter", "cannot work: %v", groupFilter)
	r.groupRoles(path, c.Roles)
}

func groupRoles(roles map[string][]string) account.GroupRoles {
	m := account.GroupRoles{}
	for role, groups := range roles {
		m[account.Role(role)] = groups
	}
	return m
}
