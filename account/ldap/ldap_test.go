package ldap_test

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"punctual/account"
	"punctual/account/ldap"
	"punctual/tests/testenv"
)

const base = testenv.LDAPBase

// entries are people, and groups nested three levels deep, some of which contain each other.
func entries() string {
	var b strings.Builder
	for _, unit := range []string{"people", "groups"} {
		fmt.Fprintf(&b, "dn: ou=%s,%s\nobjectClass: organizationalUnit\n\n", unit, base)
	}
	person := func(uid, mail, more string) {
		fmt.Fprintf(&b, "dn: uid=%s,ou=people,%s\nobjectClass: inetOrgPerson\ncn: %s the first\nsn: x\nmail: %s\n%s\n", uid, base, uid, mail, more)
	}
	person("grace", "Grace@Example.org", "displayName: Grace Hopper\npreferredLanguage: de\nuserPassword: right\n")
	person("ada", "ada@example.org", "userPassword: right\n")
	person("nobody", "nobody@example.org", "")
	person("twin1", "twin@example.org", "userPassword: right\n")
	person("twin2", "twin@example.org", "userPassword: right\n")
	person("away", "away@example.com", "userPassword: right\n")
	group := func(name string, members ...string) {
		fmt.Fprintf(&b, "dn: cn=%s,ou=groups,%s\nobjectClass: groupOfNames\n", name, base)
		for _, m := range members {
			fmt.Fprintf(&b, "member: %s,%s\n", m, base)
		}
		b.WriteString("\n")
	}
	group("Desk", "uid=grace,ou=people")
	group("Facility", "cn=Desk,ou=groups", "cn=Ring,ou=groups")
	group("Ring", "cn=Facility,ou=groups", "uid=nobody,ou=people")
	group("IT", "cn=Ring,ou=groups")
	group("Other", "uid=nobody,ou=people")
	inner := "uid=ada,ou=people" // far more levels than anybody has
	for i := range 30 {
		group(fmt.Sprint("Level", i), inner)
		inner = fmt.Sprintf("cn=Level%d,ou=groups", i)
	}
	return b.String()
}

// config is that of a server as people write it, with a log.
func config(t *testing.T, s *testenv.LDAPServer, log *bytes.Buffer) ldap.Config {
	c := ldap.Defaults(false)
	pem, err := os.ReadFile(s.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	c.Roots = x509.NewCertPool()
	c.Roots.AppendCertsFromPEM(pem)
	c.ID, c.URL, c.StartTLS, c.BindDN, c.BindPassword = "corp", s.URL, true, testenv.LDAPReader, testenv.LDAPPassword
	c.Base, c.GroupBase, c.Domains = "ou=people,"+base, "ou=groups,"+base, []string{"Example.org"}
	c.Roles = account.GroupRoles{account.Manager: {"facility"}, account.Admin: {"CN=IT, OU=Groups, DC=example, DC=org"}}
	c.Log = slog.New(slog.NewTextHandler(log, nil))
	return c
}

// A person is who has the address and the password, with the groups that contain the person's groups.
func TestDirectory(t *testing.T) {
	t.Parallel()
	s := testenv.LDAP(t, entries())
	var log bytes.Buffer
	c := config(t, s, &log)
	d := ldap.New(c)

	grace, err := d.Authenticate(t.Context(), "grace@example.org", "right", false)
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	if len(grace.Subject) != 36 { // a UUID
		t.Errorf("the ID is %q", grace.Subject)
	}
	for group, want := range map[string]bool{"desk": true, "cn=ring,ou=groups," + base: true, "Guests": false, "cn=grace": false} {
		if grace.InGroup(group) != want {
			t.Errorf("in %s: %v", group, !want)
		}
	}
	want := account.Identity{
		Source: "ldap:corp", Issuer: "ldap:corp", Subject: grace.Subject, Email: "Grace@Example.org", EmailVerified: true, Name: "Grace Hopper", Locale: "de", Role: account.Admin, Join: true,
	}
	if diff := cmp.Diff(want, grace, cmpopts.IgnoreFields(account.Identity{}, "InGroup")); diff != "" {
		t.Error(diff)
	}
	person, err := d.Person(t.Context(), "grace@example.org")
	var groups []string
	for _, g := range person.Groups {
		groups = append(groups, strings.TrimSuffix(strings.TrimPrefix(g, "cn="), ",ou=groups,"+base))
	}
	slices.Sort(groups)
	if diff := cmp.Diff([]string{"Desk", "Facility", "IT", "Ring"}, groups); diff != "" || err != nil || person.Identity.Subject != grace.Subject || person.Identity.Role != grace.Role {
		t.Errorf("%v %+v\n%s", err, person, diff)
	}
	if ada, err := d.Authenticate(t.Context(), "ada@example.org", "right", false); err != nil || ada.Role != account.Member || ada.Name != "ada the first" {
		t.Errorf("%v %+v", err, ada)
	}
	if !strings.Contains(log.String(), "too many groups") {
		t.Errorf("deep groups are not in the log:\n%s", log.String())
	}
	if away, err := d.Authenticate(t.Context(), "away@example.com", "right", false); err != nil || away.EmailVerified || away.Join {
		t.Errorf("an address of another domain: %v %+v", err, away)
	}

	// Whatever is typed, it neither matches others nor binds as anybody.
	for _, typed := range [][2]string{
		{"grace@example.org", "wrong"}, {"grace@example.org", ""}, {"grace@example.org", strings.Repeat("x", 2000)},
		{"unknown@example.org", "right"}, {"twin@example.org", "right"}, {"nobody@example.org", "right"}, {"nobody@example.org", ""},
		{"*", "right"}, {"g*@example.org", "right"}, {"x)(mail=grace@example.org", "right"}, {"x)(|(mail=*", "right"}, {"\xff@example.org", "right"},
	} {
		if id, err := d.Authenticate(t.Context(), typed[0], typed[1], false); !errors.Is(err, account.ErrWrongCredentials) {
			t.Errorf("%q: %+v %v", typed, id, err)
		}
	}

	// The part of the address before the @ can be the name of the account.
	named := c
	named.Filter = "(uid={user})"
	for email, want := range map[string]error{"grace@example.org": nil, "grace*@example.org": account.ErrWrongCredentials, "*@example.org": account.ErrWrongCredentials} {
		if id, err := ldap.New(named).Authenticate(t.Context(), email, "right", false); !errors.Is(err, want) || err == nil && id.Subject != grace.Subject {
			t.Errorf("by name, %s: %+v %v", email, id, err)
		}
	}

	// Groups decide nothing unless roles are set.
	plain := c
	plain.Roles = nil
	if id, err := ldap.New(plain).Authenticate(t.Context(), "grace@example.org", "right", false); err != nil || id.Role != "" || id.InGroup != nil {
		t.Errorf("without roles: %+v %v", id, err)
	}
	if id, err := ldap.New(plain).Authenticate(t.Context(), "grace@example.org", "right", true); err != nil || id.Role != "" || !id.InGroup("Desk") {
		t.Errorf("with groups, without roles: %+v %v", id, err)
	}
	if err := d.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := d.Person(t.Context(), "unknown@example.org"); !errors.Is(err, account.ErrNotFound) {
		t.Error(err)
	}
	for _, secret := range []string{"right", "reader: *"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("a password is in the log:\n%s", log.String())
		}
	}

	// A directory that cannot tell says so, and never that somebody is unknown.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	go func() {
		for {
			conn, err := silent.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	for name, change := range map[string]func(*ldap.Config){
		"an unknown certificate":      func(c *ldap.Config) { c.Roots = nil },
		"without TLS":                 func(c *ldap.Config) { c.StartTLS = false },
		"a wrong password to search":  func(c *ldap.Config) { c.BindPassword = "x" },
		"anonymous searches":          func(c *ldap.Config) { c.BindDN = "" },
		"a base that does not exist":  func(c *ldap.Config) { c.Base = "ou=x," + base },
		"no ID":                       func(c *ldap.Config) { c.Subject = "employeeNumber" },
		"groups that cannot be found": func(c *ldap.Config) { c.GroupBase = "ou=x," + base },
		"a server that hangs up":      func(c *ldap.Config) { c.URL = "ldap://" + silent.Addr().String() },
		"nobody there":                func(c *ldap.Config) { c.URL = "ldaps://127.0.0.1:9" },
	} {
		broken := c
		change(&broken)
		d := ldap.New(broken)
		for range 2 { // the second time perhaps without an attempt
			if id, err := d.Authenticate(t.Context(), "grace@example.org", "right", false); err == nil || errors.Is(err, account.ErrUnauthorized) {
				t.Errorf("%s: %+v %v", name, id, err)
			}
		}
	}
}

// The usual settings work, wrong ones are refused, and nobody has two spellings of one address.
func TestConfig(t *testing.T) {
	t.Parallel()
	for _, ad := range []bool{false, true} {
		if filter, groups := ldap.Defaults(ad).CheckFilters(); filter != nil || groups != nil {
			t.Errorf("the filters of Active Directory: %v: %v %v", ad, filter, groups)
		}
	}
	if c := ldap.Defaults(true); c.Subject != "objectGUID" || !strings.Contains(c.GroupFilter, "1.2.840.113556.1.4.1941:={dn}") {
		t.Errorf("%+v", c)
	}
	c := ldap.Config{Filter: "(mail={email}", GroupFilter: "(member=x)"}
	if filter, groups := c.CheckFilters(); filter == nil || groups == nil {
		t.Errorf("wrong filters are accepted: %v %v", filter, groups)
	}
	d := ldap.New(ldap.Config{Domains: []string{"example.org"}})
	for address, want := range map[string]bool{
		"x@EXAMPLE.org": true, "x@example.com": false, "x": false, "": false, "x@example.org@example.com": false,
		"x\x00@example.org": false, "x @example.org": false, "é@example.org": false, "ｘ@example.org": false, "x\u00ad@example.org": false,
	} {
		if d.Serves(address) != want {
			t.Errorf("asked for %q: %v", address, !want)
		}
	}
}
