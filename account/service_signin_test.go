package account_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"punctual/account"
)

// signIns are attempts against a service with few failures to spend and no time to win them back.
type signIns struct {
	*fixture
	t *testing.T
}

func newSignIns(t *testing.T, failures, wide int) *signIns {
	rate := func(n int) account.Limiter { return account.NewMemoryLimiter(account.Rate{Count: n, Per: time.Hour}) }
	return &signIns{newService(t, account.Config{Limiter: rate(failures), Wide: rate(wide)}), t}
}

func (s *signIns) right(email string, from account.Client) *account.SignIn {
	s.t.Helper()
	in, err := s.Login(s.t.Context(), email, password, from)
	if err != nil {
		s.t.Errorf("a right sign-in of %s from %+v: %v", email, from, err)
		return &account.SignIn{}
	}
	return in
}

// wrong reports whether a wrong password was refused without a look at it.
func (s *signIns) wrong(email string, from account.Client) (limited bool) {
	s.t.Helper()
	_, err := s.Login(s.t.Context(), email, "wrong", from)
	e, limited := errors.AsType[*account.RateLimitError](err)
	if !limited && !errors.Is(err, account.ErrUnauthorized) || limited && (e.RetryAfter <= 0 || e.RetryAfter > time.Hour) {
		s.t.Errorf("a wrong sign-in: %v", err)
	}
	return limited
}

func (s *signIns) wrongs(n int, email string, from account.Client) (tried int) {
	s.t.Helper()
	for range n {
		if !s.wrong(email, from) {
			tried++
		}
	}
	return tried
}

// Wrong passwords of others close an account neither on devices nor in networks that its owner uses.
func TestLogin_wrongAttemptsOfOthers(t *testing.T) {
	t.Parallel()
	s := newSignIns(t, 2, 4)
	s.mustCreate(t, email, account.Member)
	home := account.Client{IP: "192.0.2.1"}
	device := account.Client{IP: home.IP, Device: s.right(email, home).Device}

	if n := s.wrongs(5, email, home); n != 2 { // somebody behind the same address
		t.Errorf("%d wrong passwords were tried, want 2", n)
	}
	s.right(email, device)
	s.right(email, account.Client{IP: "198.51.100.1"})
	tried := 0
	for i := range 6 { // guesses from everywhere
		tried += s.wrongs(1, email, account.Client{IP: fmt.Sprint("203.0.113.", i)})
	}
	if tried != 4 {
		t.Errorf("%d wrong passwords were tried from many networks, want 4", tried)
	}
	s.right(email, device)
	s.right(email, account.Client{IP: "198.51.100.1"}) // known by now
	s.right(email, account.Client{IP: "203.0.113.77", Device: device.Device})
	if !s.wrong(email, account.Client{IP: "203.0.113.78"}) {
		t.Error("guesses from many networks have no limit")
	}

	if n := s.wrongs(4, email, device); n != 2 { // a device that was stolen
		t.Errorf("%d wrong passwords were tried on a known device, want 2", n)
	}
	other := s.right(email, account.Client{IP: "198.51.100.1"})
	s.right(email, account.Client{IP: home.IP, Device: other.Device})
	if n := s.wrongs(3, "bob@example.org", account.Client{IP: home.IP, Device: other.Device}); n > 2 {
		t.Errorf("a device is known for the account of another: %d tries", n)
	}
}

// Users of an office mistype passwords: their colleagues still sign in from the same address.
func TestLogin_typosOfAnOffice(t *testing.T) {
	t.Parallel()
	s := newSignIns(t, 2, 8)
	s.mustCreate(t, email, account.Member)
	office := account.Client{IP: "192.0.2.100"}
	for i := range 7 {
		if s.wrong(fmt.Sprintf("u%d@example.org", i), office) {
			t.Errorf("typo %d was refused", i+1)
		}
	}
	device := account.Client{IP: office.IP, Device: s.right(email, office).Device}
	if n := s.wrongs(3, "u8@example.org", office); n != 1 {
		t.Errorf("%d more wrong passwords were tried from the network, want 1", n)
	}
	s.right(email, device)
}

// Right sign-ins at the same moment wait for each other: none is refused, and together with them no
// more wrong passwords are tried than one after the other.
func TestLogin_atTheSameMoment(t *testing.T) {
	t.Parallel()
	s := newSignIns(t, 2, 3)
	s.mustCreate(t, email, account.Member)
	s.mustCreate(t, "bob@example.org", account.Member)
	var tried atomic.Int64
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() { s.right([]string{email, "bob@example.org"}[i%2], account.Client{IP: ip}) })
		wg.Go(func() {
			if !s.wrong("eve@example.org", account.Client{IP: ip}) {
				tried.Add(1)
			}
		})
	}
	wg.Wait()
	if tried.Load() != 2 {
		t.Errorf("%d wrong passwords were tried, want 2", tried.Load())
	}
}

// While a flood of strangers takes every place, users of known devices and networks sign in.
func TestLogin_flood(t *testing.T) {
	t.Parallel()
	s := newSignIns(t, 2, 4)
	s.mustCreate(t, email, account.Member)
	device := s.right(email, account.Client{IP: ip}).Device
	end := s.Flood(t.Context())
	if !s.wrong(email, account.Client{IP: "203.0.113.1"}) {
		t.Error("the flood has no bound")
	}
	waiting := s.Waiting()
	var wg sync.WaitGroup
	wg.Go(func() { s.right(email, account.Client{IP: "203.0.113.2", Device: device}) })
	wg.Go(func() { s.right("  ADA@example.org", account.Client{IP: ip}) })
	for s.Waiting() < waiting+2 {
		time.Sleep(time.Millisecond)
	}
	end()
	wg.Wait()
}

// An IPv6 client that has many networks is one client.
func TestLogin_manyNetworksOfASite(t *testing.T) {
	t.Parallel()
	s := newSignIns(t, 2, 4)
	at := func(i int) account.Client { return account.Client{IP: fmt.Sprintf("2001:db8:1:%x::1", i)} }
	tried := 0
	for i := range 5 {
		tried += s.wrongs(1, email, at(i))
	}
	if tried != 2 {
		t.Errorf("%d wrong passwords for one account were tried from a /48, want 2", tried)
	}
	for i := range 5 {
		tried += s.wrongs(1, fmt.Sprintf("u%d@example.org", i), at(10+i))
	}
	if tried != 4 {
		t.Errorf("%d wrong passwords were tried from a /48, want 4", tried)
	}
	if s.wrong("u9@example.org", account.Client{IP: "2001:db8:2::1"}) {
		t.Error("another site is refused")
	}
}
