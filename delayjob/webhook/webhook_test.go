package webhook

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"0.0.0.0", "10.1.2.3", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.9.9.9", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8",
		"192.0.2.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
		"168.63.129.16", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1",
		"64:ff9b:1::1", "100::1", "2001::1", "2001:10::1", "2001:db8::1", "2002:7f00:1::1", "2002:a00:1::", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254",
		"fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1",
	} {
		if !refused(netip.MustParseAddr(bad), nil) {
			t.Errorf("%s is let through", bad)
		}
	}
	if !refused(netip.Addr{}, networks("0.0.0.0/0", "::/0")) {
		t.Error("no address is let through")
	}
	for _, good := range []string{"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.32.0.1", "192.0.1.1", "198.20.0.1", "2606:4700::1111", "2a00:1450::1", "2002:808:808::1", "64:ff9b::808:808", "::ffff:8.8.8.8"} {
		if refused(netip.MustParseAddr(good), nil) {
			t.Errorf("%s is refused", good)
		}
	}
	for _, row := range []struct {
		addr, network string
		want          bool
	}{
		{"10.1.2.3", "10.1.0.0/16", false}, {"::ffff:10.1.2.3", "10.1.0.0/16", false}, {"10.2.2.3", "10.1.0.0/16", true}, {"::1", "::1/128", false},
		{"127.0.0.1", "::/0", true}, {"64:ff9b::7f00:1", "127.0.0.0/8", true},
	} {
		if got := refused(netip.MustParseAddr(row.addr), networks(row.network)); got != row.want {
			t.Errorf("%s with %s allowed: refused %v", row.addr, row.network, got)
		}
	}
}

func TestSender_CheckURL(t *testing.T) {
	t.Parallel()
	s := NewSender("test", nil)
	for _, bad := range []string{
		"", "example.org", "ftp://example.org/", "https://", "https:///x", "https://u:p@1.1.1.1/", "https://1.1.1.1/#x", "https://1.1.1.1/#", "http://[::1", "http://1.1.1.1/" + strings.Repeat("x", 2000),
		"http://127.0.0.1/", "http://localhost:8080/", "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://169.254.169.254/latest/meta-data/", "http://nowhere.invalid/",
		"http://0x7f000001/", "http://2130706433/", "http://0177.0.0.1/",
	} {
		if err := s.CheckURL(t.Context(), bad); err == nil {
			t.Errorf("%q is let through", bad)
		}
	}
	if err := s.CheckURL(t.Context(), "https://1.1.1.1:8443/hook?token=x"); err != nil {
		t.Error(err)
	}
	s.Allow(networks("127.0.0.0/8", "::1/128"))
	if err := s.CheckURL(t.Context(), "http://localhost:8080/"); err != nil {
		t.Error(err)
	}
}

func receiver(t *testing.T, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

var loopback = networks("127.0.0.0/8", "::1/128")

func TestSender_Send(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body string
	url := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, body = r, string(b)
		_, _ = io.WriteString(w, strings.Repeat("y", 1<<20))
	})
	s := NewSender("punctual/test", loopback)
	s.now = func() time.Time { return time.Unix(1_700_000_000, 987_654_321) }
	a, err := s.Send(t.Context(), Post{URL: url + "/hook", Secret: "shh", Topic: "orders", ID: "a", Key: "a:3", Attempt: 2, Body: []byte(`{"n":1}`)})
	if err != nil || a.Status != http.StatusOK || len(a.Text) != answerRead {
		t.Fatalf("%d, %d bytes, %v", a.Status, len(a.Text), err)
	}
	if body != `{"n":1}` || got.Method != http.MethodPost || got.URL.Path != "/hook" || got.ContentLength != 7 {
		t.Errorf("%s %s %q", got.Method, got.URL, body)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "punctual/test", "Idempotency-Key": "a:3", "X-Punctual-Topic": "orders",
		"X-Punctual-Id": "a", "X-Punctual-Attempt": "2",
		"X-Punctual-Timestamp": "1700000000", "X-Punctual-Signature": Sign("shh", "1700000000", []byte(body)),
	} {
		if v := got.Header.Get(name); v != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}
}

func TestSign(t *testing.T) {
	t.Parallel()
	// printf '1700000000.{"n":1}' | openssl dgst -sha256 -hmac shh
	const want = "v1=46cd19b30c7f39ba0e82d8a9d9a98a8fa93aea72d6f1445226ec7bdf63d9339e"
	if got := Sign("shh", "1700000000", []byte(`{"n":1}`)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAnswer_String(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		a    Answer
		want string
	}{
		{Answer{Status: 204}, "204 No Content"}, {Answer{Status: 599}, "599"}, {Answer{Status: 599, Text: " \n"}, "599"},
		{Answer{Status: 502, Text: " the\x00desk \xff\r\n\tis\x1b[31m closed "}, "502 Bad Gateway: the desk is [31m closed"},
		{Answer{Status: 500, Text: strings.Repeat("x", textKept-1) + "é"}, "500 Internal Server Error: " + strings.Repeat("x", textKept-1)},
	} {
		if got := row.a.String(); got != row.want {
			t.Errorf("%+v: %q, want %q", row.a, got, row.want)
		}
	}
}

func TestSender_Send_refuses(t *testing.T) {
	t.Parallel()
	hit := false
	url := receiver(t, func(http.ResponseWriter, *http.Request) { hit = true })
	port := url[strings.LastIndexByte(url, ':'):]
	s := NewSender("test", nil)
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"} {
		_, err := s.Send(t.Context(), Post{URL: "http://" + host + port})
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", host, err)
		}
	}
	s.Allow(loopback)
	if _, err := s.Send(t.Context(), Post{URL: url}); err != nil || !hit {
		t.Errorf("allowed: %v", err)
	}
	s.Allow(nil) // also connections that are open
	hit = false
	if _, err := s.Send(t.Context(), Post{URL: url}); !errors.Is(err, ErrRefused) || hit {
		t.Errorf("no longer allowed: %v", err)
	}
}

func TestSender_Send_redirectsAndTime(t *testing.T) {
	t.Parallel()
	hit := false
	inside := receiver(t, func(http.ResponseWriter, *http.Request) { hit = true })
	s := NewSender("test", loopback)
	a, err := s.Send(t.Context(), Post{URL: receiver(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inside, http.StatusTemporaryRedirect)
	})})
	if err != nil || a.Status != http.StatusTemporaryRedirect || hit {
		t.Errorf("%+v, %v, followed %v", a, err, hit)
	}
	done := make(chan struct{})
	slow := receiver(t, func(_ http.ResponseWriter, r *http.Request) { <-done })
	defer close(done)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := s.Send(ctx, Post{URL: slow + "/?token=secret"}); err == nil || err.Error() != "no answer in time" {
		t.Errorf("%v", err)
	}
}

func TestSender_retryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		status int
		header string
		want   time.Duration
	}{
		{503, "7", 7 * time.Second}, {429, " 7 ", 7 * time.Second}, {500, "7", 0}, {503, "-1", 0}, {503, "soon", 0}, {503, "", 0},
		{503, "99999999999", retryCap}, {429, now.Add(90 * time.Second).Format(http.TimeFormat), 90 * time.Second}, {429, now.Add(-time.Hour).Format(http.TimeFormat), 0},
	} {
		s := NewSender("test", loopback)
		s.now = func() time.Time { return now }
		url := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", row.header)
			w.WriteHeader(row.status)
		})
		if a, err := s.Send(t.Context(), Post{URL: url}); err != nil || a.RetryAfter != row.want {
			t.Errorf("%d %q: %v, %v; want %v", row.status, row.header, a.RetryAfter, err, row.want)
		}
	}
}
