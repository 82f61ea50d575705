package account_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"punctual/account"
)

// directory knows people by address, all with the password of the tests in reverse.
type directory struct {
	people map[string]account.Identity
	err    error
	asked  int
	groups bool // of the last person
}

const companyPassword = "drowssap gnol doog a"

func (d *directory) Serves(email string) bool { return strings.HasSuffix(email, "@example.org") }

func (d *directory) Source() string { return "ldap:corp" }

func (d *directory) Authenticate(_ context.Context, email, password string, groups bool) (account.Identity, error) {
	d.asked++
	d.groups = groups
	id, known := d.people[email]
	switch {
	case d.err != nil:
		return account.Identity{}, d.err
	case !known || password != companyPassword:
		return account.Identity{}, account.ErrWrongCredentials
	}
	return id, nil
}

func inDirectory(subject, email string) account.Identity {
	return account.Identity{Issuer: "ldap:corp", Subject: subject, Email: email, EmailVerified: true, Name: "Grace", Join: true}
}

// People of a directory sign in like those with a password here, and nobody gets another's account.
func TestLogin_directory(t *testing.T) {
	t.Parallel()
	d := &directory{people: map[string]account.Identity{"grace@example.org": inDirectory("1", "grace@example.org"), email: inDirectory("2", email)}}
	var refused []error
	s := newService(t, account.Config{Directories: []account.Directory{d}, Refused: func(_ context.Context, _ *account.User, _ string, reason error) { refused = append(refused, reason) }})
	ada := s.mustCreate(t, email, account.Member)
	login := func(email, password string) (*account.User, error) {
		in, err := s.Login(t.Context(), email, password, account.Client{IP: ip})
		if err != nil {
			return nil, err
		}
		return in.User, nil
	}
	wantUser := func(email, password string, id int64) {
		t.Helper()
		if u, err := login(email, password); err != nil || u.ID != id {
			t.Errorf("%s is %+v, %v; want the user %d", email, u, err, id)
		}
	}
	wantRefused := func(email, password string, reason error) {
		t.Helper()
		refused = nil
		if u, err := login(email, password); !errors.Is(err, account.ErrWrongCredentials) || u != nil {
			t.Errorf("%s: %+v %v", email, u, err)
		}
		if len(refused) != 1 || !errors.Is(refused[0], reason) {
			t.Errorf("%s: the reason is %v, want %v", email, refused, reason)
		}
	}

	grace, err := login("Grace@example.org", companyPassword)
	if err != nil {
		t.Fatal(err)
	}
	wantUser(email, password, ada.ID)
	if d.asked != 1 {
		t.Errorf("the directory was asked about a password that was right here: %d", d.asked)
	}
	wantUser(email, companyPassword, ada.ID) // the first time, by address
	wantUser(email, password, ada.ID)
	wantRefused("grace@example.org", password, account.ErrWrongCredentials)
	wantRefused("nobody@example.org", companyPassword, account.ErrWrongCredentials)
	asked := d.asked
	wantRefused("grace@example.com", companyPassword, account.ErrWrongCredentials)
	if d.asked != asked {
		t.Error("the directory got a password of another domain")
	}

	// Ada's address passes on to Grace: each still has one account, by her own password.
	d.people[email] = inDirectory("1", email)
	wantUser(email, companyPassword, grace.ID)
	wantUser(email, password, ada.ID)
	d.people[email] = inDirectory("3", email) // and on to somebody new, who must not get Ada's
	wantRefused(email, companyPassword, account.ErrOtherIdentity)
	unverified := inDirectory("4", "x@example.com")
	unverified.EmailVerified, unverified.Join = false, false
	d.people["x@example.org"] = unverified
	wantRefused("x@example.org", companyPassword, account.ErrUnverifiedEmail)

	if _, err := s.UpdateUser(t.Context(), grace.ID, nil, account.UserPatch{Disabled: new(true)}); err != nil {
		t.Fatal(err)
	}
	wantRefused("grace@example.org", companyPassword, account.ErrDisabled)
}

// A directory that is down uses up nobody's attempts, and tells nothing about the accounts here.
func TestLogin_directoryDown(t *testing.T) {
	t.Parallel()
	d := &directory{err: errors.New("no route to host")}
	limiter := account.NewMemoryLimiter(account.Rate{Count: 2, Per: 1 << 62})
	s := newService(t, account.Config{Directories: []account.Directory{d}, Limiter: limiter})
	s.mustCreate(t, email, account.Member)
	for i := range 4 {
		for _, address := range []string{"grace@example.org", email} {
			_, err := s.Login(t.Context(), address, "wrong", account.Client{IP: ip})
			_, limited := errors.AsType[*account.RateLimitError](err)
			guess := address == email && i >= 2 // the password here is guessed no more often than ever
			if limited != guess || !guess && (!errors.Is(err, account.ErrDirectoryDown) || errors.Is(err, account.ErrUnauthorized)) {
				t.Errorf("attempt %d of %s: %v", i+1, address, err)
			}
		}
	}
	if _, err := s.Login(t.Context(), "x@example.com", "wrong", account.Client{IP: ip}); !errors.Is(err, account.ErrWrongCredentials) {
		t.Errorf("an address that the directory does not serve: %v", err)
	}
	s.mustCreate(t, "bob@example.org", account.Member)
	if _, err := s.Login(t.Context(), "bob@example.org", password, account.Client{IP: ip}); err != nil {
		t.Errorf("a password here: %v", err)
	}
}

// At a sign-in, a person joins the groups that the directory says, and leaves the others of it.
func TestLogin_groups(t *testing.T) {
	t.Parallel()
	grace := inDirectory("1", "grace@example.org")
	d := &directory{people: map[string]account.Identity{}}
	s := newService(t, account.Config{Directories: []account.Directory{d}, Sources: []account.Source{{Key: "ldap:corp", Name: "Corp"}}})
	login := func(groups ...string) *account.Principal {
		t.Helper()
		grace.Source, grace.InGroup = "ldap:corp", func(id string) bool { return slices.Contains(groups, id) }
		if groups == nil {
			grace.InGroup = nil
		}
		d.people["grace@example.org"] = grace
		_, p := s.mustLogin(t, "grace@example.org", companyPassword)
		return p
	}
	if p := login("IT"); len(p.Groups) != 0 || d.groups {
		t.Errorf("without a group here: %v, asked %v", p.Groups, d.groups)
	}
	it, err := s.CreateGroup(t.Context(), "Our IT", "ldap:corp", "IT")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ChangeMembers(t.Context(), it.ID, []int64{1}, nil); !errors.Is(err, account.ErrGroupProvided) {
		t.Errorf("members of a provided group: %v", err)
	}
	for _, c := range []struct {
		groups []string
		want   []int64
	}{{[]string{"IT", "X"}, []int64{it.ID}}, {nil, []int64{it.ID}}, {[]string{"X"}, nil}} {
		if p := login(c.groups...); !slices.Equal(p.Groups, c.want) || !d.groups {
			t.Errorf("in %v: %v, want %v; asked %v", c.groups, p.Groups, c.want, d.groups)
		}
	}
}
