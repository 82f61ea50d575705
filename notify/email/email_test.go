package email

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	netmail "net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"punctual/notify"
	"punctual/notify/outbox"
	"punctual/notify/render"
	"punctual/tests/testenv"
)

const from = "Punctual <rooms@example.org>"

func renderer(t *testing.T) *render.Renderer {
	t.Helper()
	r, err := render.New(render.Config{BaseURL: "https://rooms.example.org", Identity: render.Identity{Domain: "example.org"}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func plain(s *testenv.MailServer) SMTP { return SMTP{Host: s.Host(), Port: s.Port(), TLS: "none"} }

func newSMTP(t *testing.T, c SMTP) *Sender {
	t.Helper()
	s, err := NewSMTP(from, c, renderer(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func invitation(id int64) notify.Notification {
	start := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	return notify.Notification{
		ID: id, Kind: notify.Invitation, Channel: notify.Email, Version: 1,
		MessageID: fmt.Sprintf("<punctual-notification-%d-abc@example.org>", id),
		To:        notify.Recipient{Name: "Zoë Müller", Address: "zoe@example.org", Locale: "en", Timezone: "Europe/Berlin"},
		Facts: notify.Facts{
			MeetingID: 42, Title: "Übersicht & Ausblick", Start: start, End: start.Add(time.Hour), Timezone: "Europe/Berlin",
			Rooms: []string{"Turing"}, Organizer: notify.Contact{Name: "Grace Hopper", Email: "grace@example.org"}, Sequence: 1,
		},
	}
}

func TestMailOnTheWire(t *testing.T) {
	server := testenv.Mail(t)
	s := newSMTP(t, plain(server))
	if err := s.Send(t.Context(), invitation(1)); err != nil {
		t.Fatal(err)
	}
	m := server.Next(t, time.Minute)
	if m.From != "rooms@example.org" || !slices.Equal(m.To, []string{"zoe@example.org"}) {
		t.Errorf("envelope from %s to %v", m.From, m.To)
	}
	if got := m.ID(); got != "<punctual-notification-1-abc@example.org>" {
		t.Errorf("Message-ID %s", got)
	}
	for name, want := range map[string]string{
		"X-Punctual-Kind": "invitation", "Auto-Submitted": "auto-generated", "User-Agent": "", "X-Mailer": "",
		"Content-Language": "en", "From": `"Punctual" <rooms@example.org>`, "Reply-To": `"Grace Hopper" <grace@example.org>`,
	} {
		if got := m.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got, want := m.Subject(), "Invitation: Übersicht & Ausblick, Feb 10, 10:00"; got != want {
		t.Errorf("subject %q, want %q", got, want)
	}
	if to, err := m.Header.AddressList("To"); err != nil || to[0].Name != "Zoë Müller" || to[0].Address != "zoe@example.org" {
		t.Errorf("To: %v, %v", to, err)
	}
	if d, err := m.Header.Date(); err != nil || time.Since(d).Abs() > time.Minute {
		t.Errorf("Date: %v, %v", d, err)
	}
	if got, want := kinds(t, m.Raw), "multipart/mixed[multipart/alternative[text/plain text/html text/calendar] application/ics]"; got != want {
		t.Errorf("parts are %s, want %s", got, want)
	}
	if ct := string(m.Raw); !strings.Contains(ct, "text/calendar; method=REQUEST; charset=UTF-8") {
		t.Error("the calendar's type does not name its method and character set")
	}
	if cal := m.Part("text/calendar"); !strings.Contains(cal, "UID:meeting-42@example.org") || !strings.Contains(cal, "METHOD:REQUEST") {
		t.Errorf("calendar:\n%s", cal)
	}
}

// Texts that look like encoded words are shown as people wrote them.
func TestMailShowsEncodedWordsLiterally(t *testing.T) {
	server := testenv.Mail(t)
	s := newSMTP(t, plain(server))
	for _, title := range []string{"=?utf-8?q?x?=", "=?iso-8859-1?Q?=E9?= and =?UTF-8?B?w6k=?=", "Übersicht =?utf-8?q?x?=", strings.Repeat("=?utf-8?q?é?= ", 9) + "end"} {
		n := invitation(1)
		n.Facts.Title, n.To.Name, n.Facts.Organizer.Name = title, title, title
		if err := s.Send(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		m := server.Next(t, time.Minute)
		decoded, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
		if want := "Invitation: " + title + ", Feb 10, 10:00"; err != nil || decoded != want {
			t.Errorf("subject %q, want %q (%v)", decoded, want, err)
		}
		for _, header := range []string{"To", "Reply-To"} {
			decoded, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get(header))
			if shown := strings.ReplaceAll(decoded, "\u2060", ""); err != nil || !strings.Contains(shown, title) {
				t.Errorf("%s: %q, want %q in it (%v)", header, shown, title, err)
			}
		}
	}
}

// kinds writes the tree of content types on one line.
func kinds(t *testing.T, raw []byte) string {
	t.Helper()
	m, err := netmail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	var tree func(contentType string, body io.Reader) string
	tree = func(contentType string, body io.Reader) string {
		kind, params, err := mime.ParseMediaType(contentType)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(kind, "multipart/") {
			return kind
		}
		var in []string
		for r := multipart.NewReader(body, params["boundary"]); ; {
			p, err := r.NextPart()
			if err != nil {
				return kind + "[" + strings.Join(in, " ") + "]"
			}
			in = append(in, tree(p.Header.Get("Content-Type"), p))
		}
	}
	return tree(m.Header.Get("Content-Type"), m.Body)
}

func TestAnswersAreClassified(t *testing.T) {
	type class struct{ permanent, unavailable bool }
	temporary, permanent, unavailable := class{}, class{permanent: true}, class{unavailable: true}
	for _, c := range []struct {
		name string
		rcpt int
		data int
		want class
	}{
		{"greylisted", 451, 0, temporary},
		{"mailbox busy", 450, 0, temporary},
		{"no such mailbox", 550, 0, permanent},
		{"closing", 421, 0, unavailable},
		{"sign-in wanted", 530, 0, unavailable},
		{"out of space", 0, 452, temporary},
		{"content refused", 0, 554, permanent},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := testenv.Mail(t)
			server.OnRcpt(func(string) testenv.Answer { return testenv.Answer{Code: c.rcpt} })
			server.OnData(func(testenv.Message) testenv.Answer { return testenv.Answer{Code: c.data} })
			s := newSMTP(t, plain(server))
			err := s.Send(t.Context(), invitation(1))
			if err == nil {
				t.Fatal("no error")
			}
			if got := (class{notify.IsPermanent(err), notify.IsUnavailable(err)}); got != c.want {
				t.Errorf("%v is %+v, want %+v", err, got, c.want)
			}
			if strings.Contains(err.Error(), "zoe@") {
				t.Errorf("the error repeats the recipient: %v", err)
			}
			// The connection is good for the next mail.
			server.OnRcpt(nil)
			server.OnData(nil)
			if err := s.Send(t.Context(), invitation(2)); err != nil {
				t.Errorf("after a refusal: %v", err)
			}
			if n := server.Dialled(); n != 1 && c.rcpt != 421 {
				t.Errorf("%d connections, want 1", n)
			}
		})
	}
}

func TestTemporaryThenSent(t *testing.T) {
	server := testenv.Mail(t)
	server.Script(testenv.Answer{Code: 451})
	s := newSMTP(t, plain(server))
	n := invitation(1)
	if err := s.Send(t.Context(), n); err == nil || notify.IsPermanent(err) || notify.IsUnavailable(err) {
		t.Fatalf("first attempt: %v", err)
	}
	if err := s.Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if got := server.Counts()[n.MessageID]; got != 1 {
		t.Errorf("accepted %d times", got)
	}
}

func TestHangingServer(t *testing.T) {
	for name, send := range map[string]func(s *testenv.MailServer, timeout time.Duration) error{
		"context": func(server *testenv.MailServer, timeout time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			err := newSMTP(t, plain(server)).Send(ctx, invitation(1))
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
			return err
		},
		"timeout": func(server *testenv.MailServer, timeout time.Duration) error {
			c := plain(server)
			c.Timeout = timeout
			return newSMTP(t, c).Send(t.Context(), invitation(1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := testenv.Mail(t)
			server.OnData(func(testenv.Message) testenv.Answer { return testenv.Answer{Wait: time.Hour} })
			for timeout := 200 * time.Millisecond; ; timeout *= 2 {
				err := send(server, timeout)
				if server.Tried() == 0 { // the machine is slow: the time was over before the server had the mail
					continue
				}
				if err == nil || notify.IsUnavailable(err) || notify.IsPermanent(err) {
					t.Errorf("error %v", err)
				}
				return
			}
		})
	}
}

func TestConnectionLostAfterTheMail(t *testing.T) {
	server := testenv.Mail(t)
	server.Script(testenv.Answer{Drop: true})
	s := newSMTP(t, plain(server))
	n := invitation(1)
	if err := s.Send(t.Context(), n); err == nil || notify.IsPermanent(err) || notify.IsUnavailable(err) {
		t.Fatalf("nobody knows whether it was taken: %v", err)
	}
	if err := s.Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if got := server.Counts()[n.MessageID]; got != 2 {
		t.Errorf("accepted %d times under one Message-ID, want 2: the one duplicate that cannot be avoided", got)
	}
}

func TestServerThatIsNotThere(t *testing.T) {
	for name, c := range map[string]SMTP{
		"nobody listens": {Host: "127.0.0.1", Port: 1, TLS: "none"},
		"no such name":   {Host: "mail.invalid", Port: 25, TLS: "none", Timeout: 2 * time.Second},
	} {
		if err := newSMTP(t, c).Send(t.Context(), invitation(1)); !notify.IsUnavailable(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConnectionsAreReused(t *testing.T) {
	server := testenv.Mail(t)
	c := plain(server)
	c.Connections = 4
	s := newSMTP(t, c)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 25 {
				if err := s.Send(t.Context(), invitation(int64(100*i+j))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := len(server.Messages()); got != 200 {
		t.Errorf("%d mails, want 200", got)
	}
	if got := server.Dialled(); got > 4+2 { // 200 mails over at most 100 each
		t.Errorf("%d connections for 200 mails over a pool of 4", got)
	}
}

func TestConnectionsAreRetired(t *testing.T) {
	for name, tune := range map[string]func(*SMTP){
		"after so many mails": func(c *SMTP) { c.MaxMails = 1 },
		"when old":            func(c *SMTP) { c.MaxAge = time.Nanosecond },
		"when idle":           func(c *SMTP) { c.IdleFor = time.Nanosecond },
	} {
		t.Run(name, func(t *testing.T) {
			server := testenv.Mail(t)
			c := plain(server)
			tune(&c)
			s := newSMTP(t, c)
			for i := range 3 {
				if err := s.Send(t.Context(), invitation(int64(i))); err != nil {
					t.Fatal(err)
				}
			}
			if got := server.Dialled(); got != 3 {
				t.Errorf("%d connections, want 3", got)
			}
		})
	}
}

func TestIdleConnectionsThatTheServerClosed(t *testing.T) {
	server := testenv.Mail(t)
	cable := plug(t, server.Addr())
	s := newSMTP(t, SMTP{Host: "127.0.0.1", Port: cable.port(), TLS: "none"})
	server.OnData(func(testenv.Message) testenv.Answer { return testenv.Answer{Wait: 100 * time.Millisecond} })
	var wg sync.WaitGroup
	for i := range 3 { // three connections at once
		wg.Go(func() {
			if err := s.Send(t.Context(), invitation(int64(i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	cable.cut()
	if err := s.Send(t.Context(), invitation(10)); err != nil {
		t.Errorf("over connections that had died while idle: %v", err)
	}
	if got := server.Counts()[invitation(10).MessageID]; got != 1 {
		t.Errorf("accepted %d times", got)
	}
}

// cable carries connections to a server until it is cut; new ones go through.
type cable struct {
	l     net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func plug(t *testing.T, addr string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{l: l}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", addr)
			if err != nil {
				near.Close()
				continue
			}
			c.mu.Lock()
			c.conns = append(c.conns, near, far)
			c.mu.Unlock()
			wg.Go(func() { io.Copy(far, near); far.Close() })
			wg.Go(func() { io.Copy(near, far); near.Close() })
		}
	})
	t.Cleanup(func() {
		l.Close()
		c.cut()
		wg.Wait()
	})
	return c
}

func (c *cable) port() int { return c.l.Addr().(*net.TCPAddr).Port }

func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}

func TestEncryptionAndSignIn(t *testing.T) {
	for _, c := range []struct {
		name, server, client string
		user, password       string
		trusted, works       bool
	}{
		{"STARTTLS", "starttls", "starttls", "", "", true, true},
		{"TLS", "tls", "tls", "", "", true, true},
		{"STARTTLS and sign-in", "starttls", "starttls", "u", "secret", true, true},
		{"TLS and sign-in", "tls", "tls", "u", "secret", true, true},
		{"sign-in in clear, as configured", "none", "none", "u", "secret", true, true},
		{"wrong password", "tls", "tls", "u", "wrong", true, false},
		{"unknown authority", "tls", "tls", "", "", false, false},
		{"STARTTLS is not offered", "none", "starttls", "", "", true, false},
		{"TLS to a clear port", "none", "tls", "", "", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			mc := testenv.MailConfig{TLS: c.server}
			if c.user != "" {
				mc.Username, mc.Password = "u", "secret"
			}
			server := testenv.MailWith(t, mc)
			conf := SMTP{Host: server.Host(), Port: server.Port(), TLS: c.client, Username: c.user, Password: c.password, Timeout: time.Minute}
			if c.trusted {
				conf.Roots = server.CA
			}
			err := newSMTP(t, conf).Send(t.Context(), invitation(1))
			if !c.works {
				if !notify.IsUnavailable(err) {
					t.Errorf("error %v, want unavailable", err)
				}
				if err != nil && strings.Contains(err.Error(), "wrong") {
					t.Errorf("the password is in the error: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			m := server.Next(t, time.Minute)
			if m.TLS != (c.server != "none") || m.User != c.user {
				t.Errorf("encrypted %v, as %q", m.TLS, m.User)
			}
		})
	}
}

func TestBadAddresses(t *testing.T) {
	server := testenv.Mail(t)
	s := newSMTP(t, plain(server))
	for _, addr := range []string{
		"", "zoe", "zoe@", "@example.org", "a@example.org, b@example.org", "Zoë <zoe@example.org>",
		"zoe@example.org\r\nBcc: all@example.org", "zoe@example.org>\r\nRCPT TO:<all@example.org",
	} {
		n := invitation(1)
		n.To.Address = addr
		if err := s.Send(t.Context(), n); !notify.IsPermanent(err) {
			t.Errorf("address %q: %v", addr, err)
		}
	}
	if server.Tried() != 0 {
		t.Error("something was sent")
	}
}

func TestHeadersCannotBeInjected(t *testing.T) {
	server := testenv.Mail(t)
	s := newSMTP(t, plain(server))
	n := invitation(1)
	n.To.Name = "Zoë\r\nBcc: all@example.org"
	n.Facts.Title = "Review\r\nX-Evil: 1\r\n\r\nbody"
	n.Facts.Organizer.Name = "Grace\nX-Evil: 2"
	if err := s.Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	m := server.Next(t, time.Minute)
	if m.Header.Get("Bcc") != "" || m.Header.Get("X-Evil") != "" || len(m.To) != 1 {
		t.Errorf("headers %v to %v", m.Header, m.To)
	}
}

func TestOutboxKeepsOneFilePerMail(t *testing.T) {
	box, err := outbox.Open(filepath.Join(t.TempDir(), "data", "outbox"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewOutbox(from, box, renderer(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{1, 1, 2} {
		if err := s.Send(t.Context(), invitation(id)); err != nil {
			t.Fatal(err)
		}
	}
	items, err := box.List("", 10)
	if err != nil || len(items) != 2 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	if it := items[0]; it.Kind != "invitation" || !strings.Contains(it.To, "Zoë Müller") || !strings.HasPrefix(it.Subject, "Invitation: Übersicht") {
		t.Errorf("item %+v", it)
	}
	m, err := box.Read(items[1].Name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(m.Text, "Grace Hopper invited you") || !strings.Contains(m.HTML, "<h1") {
		t.Errorf("content %q, %q", m.Text, m.HTML)
	}
	if left, _ := filepath.Glob(filepath.Join(box.Dir(), ".tmp-*")); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
	if info, err := os.Stat(box.Dir()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", info.Mode(), err)
	}
}

func TestSenderIsChecked(t *testing.T) {
	for _, bad := range []string{"", "rooms", "Rooms <rooms>"} {
		if _, err := NewSMTP(bad, SMTP{Host: "x", TLS: "none"}, renderer(t)); err == nil {
			t.Errorf("sender %q was taken", bad)
		}
	}
	if _, err := NewSMTP(from, SMTP{Host: "x", TLS: "ssl"}, renderer(t)); err == nil {
		t.Error("tls: ssl was taken")
	}
	if d, err := Domain(from); d != "example.org" || err != nil {
		t.Errorf("domain %q, %v", d, err)
	}
}
