// Package ldap checks passwords with the directory of a company, over LDAP version 3 (RFC 4511): Active
// Directory, OpenLDAP, FreeIPA, 389 Directory Server and others.
package ldap

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-ldap/ldap/v3"

	"punctual/account"
)

// Config of a [Directory].
type Config struct {
	ID       string // names the directory in identities; a person of another ID is another person
	URL      string // ldap://HOST or ldaps://HOST, with a port or without
	StartTLS bool   // encrypt before anything is sent; with ldap:// only
	Roots    *x509.CertPool

	// BindDN and BindPassword are those of the account that searches. Without BindDN, searches are
	// anonymous.
	BindDN, BindPassword string

	Domains []string // of addresses; the directory is not asked about others
	Base    string   // DN of the tree with the people
	Filter  string   // finds a person; {email} is the address, {user} its part before the @
	Mail    string   // attribute with the address
	Name    string   // attribute with the name; without a value: cn
	Subject string   // attribute that identifies a person for good

	GroupBase   string // DN of the tree with the groups
	GroupFilter string // finds the groups of a person or group; {dn} is its DN
	// Roles are the groups, by name (cn) or DN, that each role is for. Without any, the directory does
	// not decide roles.
	Roles account.GroupRoles

	Log *slog.Logger
}

// Placeholders of filters.
const (
	emailPlaceholder = "{email}"
	userPlaceholder  = "{user}"
	dnPlaceholder    = "{dn}"
)

// inChain is the rule of Active Directory by which a filter finds nested groups itself.
const inChain = "1.2.840.113556.1.4.1941"

// Defaults returns what a directory usually needs: the filters and attributes of Active Directory, or
// those of the schema of RFC 2798 and RFC 4530.
func Defaults(activeDirectory bool) Config {
	if activeDirectory {
		return Config{
			Filter: "(&(objectCategory=person)(objectClass=user)(|(mail={email})(userPrincipalName={email})))",
			Mail:   "mail", Name: "displayName", Subject: "objectGUID",
			GroupFilter: "(&(objectClass=group)(member:" + inChain + ":={dn}))",
		}
	}
	return Config{
		Filter: "(&(objectClass=person)(mail={email}))", Mail: "mail", Name: "displayName", Subject: "entryUUID", GroupFilter: "(member={dn})",
	}
}

// CheckFilters returns an error if a filter is none, or does not say where the address or the DN goes.
func (c Config) CheckFilters() (filter, groupFilter error) {
	return checkFilter(c.Filter, emailPlaceholder, userPlaceholder), checkFilter(c.GroupFilter, dnPlaceholder)
}

// checkFilter requires one of the placeholders.
func checkFilter(filter string, placeholders ...string) error {
	filled := filter
	for _, p := range placeholders {
		filled = strings.ReplaceAll(filled, p, "x")
	}
	if filled == filter {
		return fmt.Errorf("it must contain %s", strings.Join(placeholders, " or "))
	}
	_, err := ldap.CompileFilter(filled)
	return err
}

// IsDN reports whether s is a distinguished name (RFC 4514).
func IsDN(s string) bool {
	_, err := ldap.ParseDN(s)
	return err == nil && s != ""
}

// Directory is an LDAP server. Each sign-in has a connection of its own. Safe for concurrent use.
type Directory struct {
	Config
	host, port string
	encrypted  bool // from the first byte

	mu    sync.Mutex
	err   error     // of the last attempt to connect
	again time.Time // until then everybody gets err
}

const (
	timeout      = 10 * time.Second // of a sign-in
	pause        = 5 * time.Second  // after a failed attempt to connect
	maxPassword  = 1024             // bytes
	maxGroups    = 1000             // of a person
	maxNesting   = 20               // of groups in groups
	groupsAtOnce = 50               // in one search
)

// New returns a directory without contacting it.
func New(c Config) *Directory {
	d := &Directory{Config: c}
	if u, err := url.Parse(c.URL); err == nil {
		d.host, d.port, d.encrypted = u.Hostname(), cmp.Or(u.Port(), "389"), u.Scheme == "ldaps"
		if d.encrypted {
			d.port = cmp.Or(u.Port(), "636")
		}
	}
	return d
}

// Serves implements [account.Directory]. Directories ignore control characters, accents and spaces when
// they compare, so addresses with any have no place here: each would have attempts of its own.
func (d *Directory) Serves(email string) bool {
	if strings.ContainsFunc(email, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return false
	}
	_, domain, _ := strings.Cut(email, "@")
	return slices.ContainsFunc(d.Domains, func(own string) bool { return strings.EqualFold(own, domain) })
}

// Source implements [account.Directory].
func (d *Directory) Source() string { return SourceOf(d.ID) }

// SourceOf returns the source of the groups of a directory, see [account.Group].
func SourceOf(id string) string { return "ldap:" + id }

// Authenticate implements [account.Directory]. A person who is unknown, or not the only one with the
// address, costs a bind too, so that the time it takes does not show who is known.
func (d *Directory) Authenticate(ctx context.Context, email, password string, groups bool) (account.Identity, error) {
	if password == "" || len(password) > maxPassword { // a bind without a password always succeeds (RFC 4513, section 5.1.2)
		return account.Identity{}, account.ErrWrongCredentials
	}
	id, err := d.authenticate(ctx, email, password, groups)
	if err != nil && !errors.Is(err, account.ErrUnauthorized) {
		d.Log.Warn("directory failed", "directory", d.ID, "error", err)
	}
	return id, err
}

func (d *Directory) authenticate(ctx context.Context, email, password string, groups bool) (account.Identity, error) {
	conn, err := d.connect(ctx)
	if err != nil {
		return account.Identity{}, err
	}
	defer conn.Close()
	person, err := d.find(conn, email)
	if err != nil {
		return account.Identity{}, err
	}
	dn := "cn=" + rand.Text() + "," + d.Base // nobody
	if person != nil {
		dn = person.DN
	}
	switch err := conn.Bind(dn, password); {
	case refused(err), err == nil && person == nil:
		if person != nil {
			d.Log.Info("directory refused a password", "directory", d.ID, "dn", dn, "error", err)
		}
		return account.Identity{}, account.ErrWrongCredentials
	case err != nil:
		return account.Identity{}, fmt.Errorf("bind as %s: %w", dn, err)
	}
	groups = groups || len(d.Roles) > 0
	if groups { // people may often not search groups
		if err := d.bind(conn); err != nil {
			return account.Identity{}, err
		}
	}
	p, err := d.describe(conn, person, groups)
	return p.Identity, err
}

// refused reports whether the server refused to let a person in, rather than failed. Servers answer
// with several codes for accounts that are locked or have no password.
func refused(err error) bool {
	return ldap.IsErrorAnyOf(err, ldap.LDAPResultInvalidCredentials, ldap.LDAPResultInappropriateAuthentication, ldap.LDAPResultUnwillingToPerform,
		ldap.LDAPResultConstraintViolation, ldap.LDAPResultInsufficientAccessRights, ldap.LDAPResultNoSuchObject, ldap.LDAPResultInvalidDNSyntax)
}

// connect returns a connection on which searches are allowed. It ends after [timeout]. After a failure
// it fails for [pause] without an attempt, so that a server that does not answer holds nobody up.
func (d *Directory) connect(ctx context.Context) (*ldap.Conn, error) {
	d.mu.Lock()
	err, again := d.err, d.again
	d.mu.Unlock()
	if time.Now().Before(again) {
		return nil, err
	}
	conn, err := d.dial(ctx)
	if err == nil {
		if err = d.bind(conn); err != nil {
			conn.Close()
		}
	}
	if err != nil && ctx.Err() == nil {
		d.mu.Lock()
		d.err, d.again = err, time.Now().Add(pause)
		d.mu.Unlock()
	}
	if err != nil {
		return nil, err
	}
	return conn, nil
}

func (d *Directory) dial(ctx context.Context) (*ldap.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	socket, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(d.host, d.port))
	if err != nil {
		return nil, fmt.Errorf("reach the directory: %w", err)
	}
	_ = socket.SetDeadline(time.Now().Add(timeout)) // for all that follows; fails only on a closed socket
	secure := &tls.Config{ServerName: d.host, RootCAs: d.Roots, MinVersion: tls.VersionTLS12}
	if d.encrypted {
		socket = tls.Client(socket, secure)
	}
	conn := ldap.NewConn(socket, d.encrypted)
	conn.Start()
	if d.StartTLS {
		if err := conn.StartTLS(secure); err != nil {
			conn.Close()
			return nil, fmt.Errorf("start TLS: %w", err)
		}
	}
	return conn, nil
}

// bind makes conn that of the account that searches.
func (d *Directory) bind(conn *ldap.Conn) error {
	var err error
	if d.BindDN == "" {
		err = conn.UnauthenticatedBind("")
	} else {
		err = conn.Bind(d.BindDN, d.BindPassword)
	}
	if err != nil {
		return fmt.Errorf("bind as %s: %w", cmp.Or(d.BindDN, "nobody"), err)
	}
	return nil
}

// search never follows aliases or referrals: they may lead to what others control.
func (d *Directory) search(conn *ldap.Conn, base, filter string, most int, attributes ...string) ([]*ldap.Entry, error) {
	found, err := conn.Search(ldap.NewSearchRequest(base, ldap.ScopeWholeSubtree, ldap.NeverDerefAliases, most, 0, false, filter, attributes, nil))
	if err != nil && !(most > 0 && ldap.IsErrorWithCode(err, ldap.LDAPResultSizeLimitExceeded)) {
		return nil, fmt.Errorf("search %s for %s: %w", base, filter, err)
	}
	return found.Entries, nil
}

// find returns the person with an address, nil if there is none or more than one.
func (d *Directory) find(conn *ldap.Conn, email string) (*ldap.Entry, error) {
	user, _, _ := strings.Cut(email, "@")
	filter := strings.NewReplacer(emailPlaceholder, ldap.EscapeFilter(email), userPlaceholder, ldap.EscapeFilter(user)).Replace(d.Filter)
	found, err := d.search(conn, d.Base, filter, 2, d.Mail, d.Name, "cn", d.Subject, "preferredLanguage")
	if err != nil {
		return nil, err
	}
	if len(found) > 1 {
		d.Log.Warn("directory has several people with one address", "directory", d.ID, "first", found[0].DN, "second", found[1].DN)
	}
	if len(found) != 1 {
		return nil, nil
	}
	return found[0], nil
}

// Person is what a directory says about somebody.
type Person struct {
	DN       string
	Groups   []string // DNs, with those that contain others of them
	Identity account.Identity
}

// describe returns who a person is, on request with groups. conn must be allowed to search.
func (d *Directory) describe(conn *ldap.Conn, e *ldap.Entry, withGroups bool) (Person, error) {
	subject, err := d.subject(e)
	if err != nil {
		return Person{}, fmt.Errorf("%s: %w", e.DN, err)
	}
	p := Person{DN: e.DN, Identity: account.Identity{
		Issuer: "ldap:" + d.ID, Subject: subject,
		Email: e.GetAttributeValue(d.Mail), Name: cmp.Or(e.GetAttributeValue(d.Name), e.GetAttributeValue("cn")), Locale: e.GetAttributeValue("preferredLanguage"),
	}}
	p.Identity.EmailVerified = d.Serves(p.Identity.Email)
	p.Identity.Join = p.Identity.EmailVerified
	if !withGroups {
		return p, nil
	}
	groups, err := d.groups(conn, e.DN)
	if err != nil {
		return Person{}, err
	}
	for _, g := range groups {
		p.Groups = append(p.Groups, g.DN)
	}
	p.Identity.Source = d.Source()
	p.Identity.InGroup = func(wanted string) bool {
		return slices.ContainsFunc(groups, func(g *ldap.Entry) bool { return isGroup(g, wanted) })
	}
	if len(d.Roles) > 0 {
		p.Identity.Role = d.Roles.Highest(p.Identity.InGroup)
	}
	return p, nil
}

// subject returns what identifies a person for good. Active Directory's IDs are bytes.
func (d *Directory) subject(e *ldap.Entry) (string, error) {
	value := e.GetRawAttributeValue(d.Subject)
	switch {
	case len(value) == 0:
		return "", fmt.Errorf("it has no attribute %s", d.Subject)
	case strings.EqualFold(d.Subject, "objectGUID"), strings.EqualFold(d.Subject, "objectSid"):
		return hex.EncodeToString(value), nil
	case !utf8.Valid(value) || slices.Contains(value, 0):
		return "", fmt.Errorf("its attribute %s is no text", d.Subject)
	}
	return string(value), nil
}

// isGroup compares names and DNs as directories do, without case.
func isGroup(g *ldap.Entry, wanted string) bool {
	if slices.ContainsFunc(g.GetAttributeValues("cn"), func(name string) bool { return strings.EqualFold(name, wanted) }) {
		return true
	}
	have, err1 := ldap.ParseDN(g.DN)
	want, err2 := ldap.ParseDN(wanted)
	return err1 == nil && err2 == nil && have.EqualFold(want)
}

// groups returns the groups of a person, and those that contain them, in steps from the inside. Groups
// may contain each other. Beyond [maxGroups] and [maxNesting] it stops with a warning.
func (d *Directory) groups(conn *ldap.Conn, dn string) (all []*ldap.Entry, err error) {
	seen := map[string]bool{}
	members := []string{dn}
	for range maxNesting {
		var outer []string
		for some := range slices.Chunk(members, groupsAtOnce) {
			var filter strings.Builder
			filter.WriteString("(|")
			for _, member := range some {
				filter.WriteString(strings.ReplaceAll(d.GroupFilter, dnPlaceholder, ldap.EscapeFilter(member)))
			}
			found, err := d.search(conn, d.GroupBase, filter.String()+")", 0, "cn")
			if err != nil {
				return nil, err
			}
			for _, g := range found {
				if key := strings.ToLower(g.DN); !seen[key] {
					seen[key] = true
					all, outer = append(all, g), append(outer, g.DN)
				}
			}
		}
		members = outer
		if len(members) == 0 || strings.Contains(d.GroupFilter, inChain) {
			return all, nil
		}
		if len(all) > maxGroups {
			break
		}
	}
	d.Log.Warn("person has too many groups, the outermost are ignored", "directory", d.ID, "dn", dn, "groups", len(all))
	return all, nil
}

// Check reports whether the directory can be reached and searched.
func (d *Directory) Check(ctx context.Context) error {
	conn, err := d.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = d.search(conn, d.Base, "(objectClass=*)", 1, "1.1")
	if err == nil && len(d.Roles) > 0 {
		_, err = d.search(conn, d.GroupBase, "(objectClass=*)", 1, "1.1")
	}
	return err
}

// Person returns what the directory says about the person with an address, or [account.ErrNotFound].
func (d *Directory) Person(ctx context.Context, email string) (Person, error) {
	conn, err := d.connect(ctx)
	if err != nil {
		return Person{}, err
	}
	defer conn.Close()
	e, err := d.find(conn, email)
	if err != nil {
		return Person{}, err
	}
	if e == nil {
		return Person{}, account.ErrNotFound
	}
	return d.describe(conn, e, true)
}
