//go:build activedirectory

package ldap_test

import (
	"bytes"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	client "github.com/go-ldap/ldap/v3"

	"punctual/account"
	"punctual/account/ldap"
	"punctual/tests/testenv"
)

const adPeople, adRight = "CN=Users," + testenv.ADBase, "Right 1 password"

// adPassword is the form in which Active Directory takes passwords (MS-ADTS, section 3.1.1.3.1.5).
func adPassword(text string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(`"` + text + `"`)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return string(b)
}

// Flags of userAccountControl.
const adNormal, adDisabled = "512", "514"

type adUser struct {
	name, control string
	more          map[string]string
}

func (u adUser) add(c *client.Conn) error {
	r := client.NewAddRequest("CN="+u.name+","+adPeople, nil)
	r.Attribute("objectClass", []string{"user"})
	r.Attribute("sAMAccountName", []string{u.name})
	r.Attribute("unicodePwd", []string{adPassword(adRight)})
	r.Attribute("userAccountControl", []string{u.control})
	for name, value := range u.more {
		r.Attribute(name, []string{value})
	}
	if err := c.Add(r); err != nil {
		return fmt.Errorf("add %s: %w", u.name, err)
	}
	return nil
}

// People sign in with a real Active Directory as its administrators set them up.
func TestActiveDirectory(t *testing.T) {
	s := testenv.ActiveDirectory(t)
	s.Change(t, func(c *client.Conn) error {
		for _, u := range []adUser{
			{"reader", adNormal, map[string]string{"userPrincipalName": "reader@example.org"}},
			{"hopper", adNormal, map[string]string{"userPrincipalName": "grace@corp.example.org", "mail": "Grace@example.org", "displayName": "Grace Hopper", "preferredLanguage": "de"}},
			{"nomail", adNormal, map[string]string{"userPrincipalName": "nomail@example.org"}},
			{"disabled", adDisabled, map[string]string{"mail": "disabled@example.org"}},
			{"expired", adNormal, map[string]string{"mail": "expired@example.org", "pwdLastSet": "0"}},                  // must be changed first
			{"ended", adNormal, map[string]string{"mail": "ended@example.org", "accountExpires": "116444736000000000"}}, // 1970
			{"twin1", adNormal, map[string]string{"mail": "twin@example.org"}},
			{"twin2", adNormal, map[string]string{"mail": "twin@example.org"}},
		} {
			if err := u.add(c); err != nil {
				return err
			}
		}
		for _, g := range [][]string{{"Desk", "hopper"}, {"Facility", "Desk"}, {"IT", "Facility"}, {"Others", "disabled"}} {
			r := client.NewAddRequest("CN="+g[0]+","+adPeople, nil)
			r.Attribute("objectClass", []string{"group"})
			r.Attribute("sAMAccountName", []string{g[0]})
			r.Attribute("member", []string{"CN=" + g[1] + "," + adPeople})
			if err := c.Add(r); err != nil {
				return fmt.Errorf("add %s: %w", g[0], err)
			}
		}
		ring := client.NewModifyRequest("CN=Desk,"+adPeople, nil) // groups that contain each other
		ring.Add("member", []string{"CN=IT," + adPeople})
		return c.Modify(ring)
	})

	pem, err := os.ReadFile(s.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	c := ldap.Defaults(true)
	c.Roots = x509.NewCertPool()
	c.Roots.AppendCertsFromPEM(pem)
	c.ID, c.URL, c.BindDN, c.BindPassword = "corp", "ldaps://"+s.Address, "CN=reader,"+adPeople, adRight
	c.Base, c.GroupBase, c.Domains = testenv.ADBase, testenv.ADBase, []string{"example.org", "corp.example.org"} // the top of the domain, which also answers with referrals
	c.Roles = account.GroupRoles{account.Manager: {"facility"}, account.Admin: {"cn=it, " + adPeople}}
	c.Log = slog.New(slog.NewTextHandler(&log, nil))
	startTLS := c
	startTLS.URL, startTLS.StartTLS, startTLS.BindDN = "ldap://"+s.Address, true, "reader@example.org"
	named := c
	named.Filter = "(&(objectCategory=person)(objectClass=user)(sAMAccountName={user}))"

	var subject string
	for name, way := range map[string]struct {
		config ldap.Config
		email  string
	}{
		"LDAPS, mail": {c, "grace@example.org"}, "LDAPS, userPrincipalName": {c, "grace@corp.example.org"},
		"StartTLS, mail": {startTLS, "grace@example.org"}, "sAMAccountName": {named, "Hopper@example.org"},
	} {
		d := ldap.New(way.config)
		if err := d.Check(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		grace, err := d.Authenticate(t.Context(), way.email, adRight, true)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, log.String())
		}
		if subject == "" {
			subject = grace.Subject
		}
		want := account.Identity{
			Source: "ldap:corp", Issuer: "ldap:corp", Subject: subject, Email: "Grace@example.org", EmailVerified: true, Name: "Grace Hopper", Locale: "de", Role: account.Admin, Join: true,
		}
		if diff := cmp.Diff(want, grace, cmpopts.IgnoreFields(account.Identity{}, "InGroup")); diff != "" || len(subject) != 32 {
			t.Errorf("%s: the ID is %q\n%s", name, subject, diff)
		}
		for group, in := range map[string]bool{"Desk": true, "Facility": true, "it": true, "Others": false} {
			if grace.InGroup(group) != in {
				t.Errorf("%s: in %s: %t, want %t", name, group, !in, in)
			}
		}
	}
	d := ldap.New(c)
	person, err := d.Person(t.Context(), "grace@example.org")
	for i, g := range person.Groups {
		person.Groups[i] = strings.TrimSuffix(g, ","+adPeople)
	}
	slices.Sort(person.Groups)
	if diff := cmp.Diff([]string{"CN=Desk", "CN=Facility", "CN=IT"}, person.Groups); diff != "" || err != nil {
		t.Errorf("groups: %v\n%s", err, diff)
	}

	// A user without the attribute mail has no address that the directory vouches for.
	if id, err := d.Authenticate(t.Context(), "nomail@example.org", adRight, false); err != nil || id.EmailVerified || id.Join {
		t.Errorf("without mail: %+v %v", id, err)
	}
	byUPN := c
	byUPN.Mail = "userPrincipalName"
	if id, err := ldap.New(byUPN).Authenticate(t.Context(), "nomail@example.org", adRight, false); err != nil || !id.EmailVerified || id.Email != "nomail@example.org" {
		t.Errorf("with the principal name as address: %+v %v", id, err)
	}

	for _, typed := range [][2]string{
		{"grace@example.org", "wrong"}, {"grace@example.org", ""}, {"unknown@example.org", adRight}, {"twin@example.org", adRight},
		{"disabled@example.org", adRight}, {"expired@example.org", adRight}, {"ended@example.org", adRight}, {"*@example.org", adRight},
	} {
		if id, err := d.Authenticate(t.Context(), typed[0], typed[1], false); !errors.Is(err, account.ErrWrongCredentials) {
			t.Errorf("%q: %+v %v", typed, id, err)
		}
	}

	// A person who is renamed and moved is the same person.
	s.Change(t, func(c *client.Conn) error {
		unit := client.NewAddRequest("OU=Navy,"+testenv.ADBase, nil)
		unit.Attribute("objectClass", []string{"organizationalUnit"})
		if err := c.Add(unit); err != nil {
			return err
		}
		return c.ModifyDN(client.NewModifyDNRequest("CN=hopper,"+adPeople, "CN=Grace Brewster", true, "OU=Navy,"+testenv.ADBase))
	})
	if id, err := d.Authenticate(t.Context(), "grace@example.org", adRight, true); err != nil || id.Subject != subject || id.Role != account.Admin {
		t.Errorf("after a move: %+v %v", id, err)
	}

	// Without encryption, a domain refuses passwords: that is a fault of the settings, not of the person.
	plain := c
	plain.URL = "ldap://" + s.Address
	if _, err := ldap.New(plain).Authenticate(t.Context(), "grace@example.org", adRight, false); err == nil || errors.Is(err, account.ErrUnauthorized) {
		t.Errorf("without encryption: %v", err)
	}
}
