package tests

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"punctual/tests/testenv"
)

// people are those in the directory of a company; Grace is in a group within a group.
const people = `dn: ou=people,dc=example,dc=org
objectClass: organizationalUnit

dn: ou=groups,dc=example,dc=org
objectClass: organizationalUnit

dn: uid=turing,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
cn: Alan Turing
sn: Turing
mail: turing@example.org
userPassword: turing's

dn: uid=kim,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
cn: Kim
sn: Kim
mail: kim@example.org
userPassword: kim's

dn: cn=Desk,ou=groups,dc=example,dc=org
objectClass: groupOfNames
member: uid=turing,ou=people,dc=example,dc=org

dn: cn=Facility,ou=groups,dc=example,dc=org
objectClass: groupOfNames
member: cn=Desk,ou=groups,dc=example,dc=org
`

func directoryConfig(d *testenv.LDAPServer) string {
	return fmt.Sprintf("  ldap:\n    staff: { url: %q, start_tls: true, ca_file: %q, bind_dn: %q, bind_password: %q, domains: [example.org], base: %q, group_base: %q, roles: { manager: [Facility] } }\n",
		d.URL, d.CAFile, testenv.LDAPReader, testenv.LDAPPassword, "ou=people,"+testenv.LDAPBase, "ou=groups,"+testenv.LDAPBase)
}

// signsInByPassword returns the user; nil: refused like everybody who is refused.
func (c *company) signsInByPassword(email, password string) *account {
	c.Helper()
	res := c.server.Anonymous().Do(c.T, http.MethodPost, "/auth/login", with{"email": email, "password": password})
	if res.Status != http.StatusOK {
		if p, err := res.Problem(); err != nil || p.Code != "unauthorized" || p.Title != "Wrong email or password" {
			c.Errorf("%s: %+v %v", email, p, err)
		}
		return nil
	}
	var session struct{ User *account }
	if err := res.Decode(&session); err != nil {
		c.Fatal(err)
	}
	return session.User
}

// usesDirectory is the part of TestCompanyAccounts about passwords of a directory, which it stops.
func (c *company) usesDirectory(t *testing.T, d *testenv.LDAPServer) {
	const turing = "uid=turing,ou=people," + testenv.LDAPBase
	first := c.signsInByPassword("Turing@example.org", "turing's")
	if first == nil || first.Email != "turing@example.org" || first.Name != "Alan Turing" || first.Role != "manager" {
		t.Fatalf("the new user is %+v", first)
	}
	for _, wrong := range [][2]string{{"turing@example.org", "kim's"}, {"turing@example.org", ""}, {"nobody@example.org", "kim's"}, {"*", "kim's"}} {
		if u := c.signsInByPassword(wrong[0], wrong[1]); u != nil {
			t.Errorf("%q signs %+v in", wrong, u)
		}
	}

	// A new address is the same person; leaving the group ends the role.
	d.Set(t, turing, "mail", "alan@example.org")
	d.Set(t, "cn=Desk,ou=groups,"+testenv.LDAPBase, "member", "uid=kim,ou=people,"+testenv.LDAPBase)
	if u := c.signsInByPassword("alan@example.org", "turing's"); u == nil || u.ID != first.ID || u.Role != "member" {
		t.Errorf("with a new address: %+v", u)
	}

	// Somebody with a password here keeps it, and may use either.
	kim := c.admin.NewUser(t, "Kim", "member", with{"email": "kim@example.org", "password": "the password of here"}).User
	for _, password := range []string{"kim's", "the password of here"} {
		if u := c.signsInByPassword("kim@example.org", password); u == nil || u.ID != kim.ID {
			t.Errorf("with the password %q Kim is %+v", password, u)
		}
	}
	c.admin.Want(t, http.StatusOK, http.MethodPatch, at("/users/%d", first.ID), with{"disabled": true}, nil)
	if u := c.signsInByPassword("alan@example.org", "turing's"); u != nil {
		t.Errorf("a disabled user signs in: %+v", u)
	}

	out, err := c.server.Command(t, "auth", "test", "staff", "--email", "kim@example.org", "--config", c.server.ConfigFile()).CombinedOutput()
	for _, line := range []string{"reached", "uid=kim,", "cn=Desk,ou=groups,", "cn=Facility,ou=groups,", "role          manager"} {
		if err != nil || !strings.Contains(string(out), line) {
			t.Errorf("auth test does not mention %q: %v\n%s", line, err, out)
		}
	}
	if out, _ := c.server.Command(t, "config", "check", "--config", c.server.ConfigFile()).CombinedOutput(); strings.Contains(string(out), testenv.LDAPPassword) {
		t.Errorf("the password is shown:\n%s", out)
	}

	// Without the directory only its own people wait.
	d.Stop()
	c.server.Anonymous().WantProblem(t, http.StatusServiceUnavailable, "directory_unavailable", http.MethodPost, "/auth/login", with{"email": "alan@example.org", "password": "turing's"})
	if u := c.signsInByPassword("kim@example.org", "the password of here"); u == nil || u.ID != kim.ID {
		t.Errorf("without the directory Kim is %+v", u)
	}
	if out, err := c.server.Command(t, "auth", "test", "staff", "--config", c.server.ConfigFile()).CombinedOutput(); err == nil || !strings.Contains(string(out), "failed") {
		t.Errorf("auth test of a directory that is down: %v\n%s", err, out)
	}
	if strings.Contains(c.server.Log(), testenv.LDAPPassword) || strings.Contains(c.server.Log(), "turing's") {
		t.Error("a password is in the log")
	}
}
