package lmtp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"punctual/meeting/mailroom"
	"punctual/meeting/mailroom/lmtp"
)

// room knows turing@ and hopper@rooms.example.org, and fails as long as down is set.
type room struct {
	mu     sync.Mutex
	down   string // at "rcpt" or at "data"
	stored []string
}

func (r *room) Known(_ context.Context, address string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down == "rcpt" {
		return false, errors.New("the database is down")
	}
	return address == "turing@rooms.example.org" || address == "hopper@rooms.example.org", nil
}

func (r *room) Receive(_ context.Context, e mailroom.Envelope, raw []byte) ([]*mailroom.Mail, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(raw) == 90 {
		return nil, mailroom.ErrNoResponse
	}
	if r.down == "data" {
		return nil, errors.New("the database is down")
	}
	r.stored = append(r.stored, fmt.Sprintf("%s %s %v %d", e.Source, e.Sender, e.Recipients, len(raw)))
	return nil, nil
}

func (r *room) MaxSize() int64 { return 20_000 }

func start(t *testing.T, at string, r *room, allowed string) *lmtp.Server {
	t.Helper()
	address, err := lmtp.ParseAddress(at)
	if err != nil {
		t.Fatal(err)
	}
	s, err := lmtp.Listen(t.Context(), address, "rooms.example.org", []netip.Prefix{netip.MustParsePrefix(allowed)}, r, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, time.Second) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// status is what a server answered: its code and enhanced code; "ok" for no error.
func status(err error) string {
	if e, ok := errors.AsType[*smtp.SMTPError](err); ok {
		return fmt.Sprint(e.Code, " ", e.EnhancedCode)
	}
	if err != nil {
		return err.Error()
	}
	return "ok"
}

func dial(t *testing.T, s *lmtp.Server, smtpOnly bool) *smtp.Client {
	t.Helper()
	c, err := net.Dial(s.Addr().Network(), s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client := smtp.NewClientLMTP(c)
	if smtpOnly {
		client = smtp.NewClient(c)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func send(t *testing.T, c *smtp.Client, size int, to ...string) (rcpt []string, data string) {
	t.Helper()
	if err := c.Mail("ada@example.org", nil); err != nil {
		t.Fatal(err)
	}
	for _, one := range to {
		rcpt = append(rcpt, status(c.Rcpt(one, nil)))
	}
	w, err := c.Data()
	if err != nil {
		return rcpt, status(err)
	}
	_, _ = io.WriteString(w, strings.Repeat("0123456789abcdef\r\n", size/18))
	return rcpt, status(w.Close())
}

// TestServer: what a mail server is told about each recipient and each mail.
func TestServer(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"lmtp:127.0.0.1:0", "smtp:127.0.0.1:0", "lmtp+unix:" + filepath.Join(t.TempDir(), "mail.sock")} {
		t.Run(strings.SplitN(at, ":", 2)[0], func(t *testing.T) {
			t.Parallel()
			r := &room{}
			c := dial(t, start(t, at, r, "127.0.0.0/8"), strings.HasPrefix(at, "smtp"))
			const ok, unknown, later = "ok", "550 [5 1 1]", "451 [4 3 0]"
			check := func(what string, rcpt []string, data string, want ...string) {
				t.Helper()
				if got := append(rcpt, data); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s: %v, want %v", what, got, want)
				}
			}
			rcpt, data := send(t, c, 900, "turing@rooms.example.org", "nobody@rooms.example.org", "hopper@rooms.example.org")
			check("two rooms and none", rcpt, data, ok, unknown, ok, ok)
			rcpt, data = send(t, c, 30_000, "turing@rooms.example.org")
			check("too large", rcpt, data, ok, "552 [5 3 4]")
			rcpt, data = send(t, c, 90, "turing@rooms.example.org")
			check("written by a person", rcpt, data, ok, "550 [5 7 1]")
			r.down = "data"
			rcpt, data = send(t, c, 900, "turing@rooms.example.org")
			check("the database is down", rcpt, data, ok, later)
			r.down = "rcpt"
			if err := c.Reset(); err != nil {
				t.Fatal(err)
			}
			if err := c.Mail("ada@example.org", nil); err != nil {
				t.Fatal(err)
			}
			if got := status(c.Rcpt("turing@rooms.example.org", nil)); got != later {
				t.Errorf("the database is down: %s at RCPT", got)
			}
			if want := "[lmtp ada@example.org [hopper@rooms.example.org turing@rooms.example.org] 900]"; fmt.Sprint(r.stored) != want {
				t.Errorf("stored %v, want %s", r.stored, want)
			}
		})
	}
}

// TestServer_networks: others than the configured mail servers are turned away.
func TestServer_networks(t *testing.T) {
	t.Parallel()
	c := dial(t, start(t, "lmtp:127.0.0.1:0", &room{}, "10.0.0.0/8"), false)
	if got := status(c.Hello("x.example.org")); got != "554 [5 7 1]" {
		t.Errorf("%s from a network that is not allowed", got)
	}
}

// TestListen_socket: the socket of a process that was killed is replaced, that of a living one is not.
func TestListen_socket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mail.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	start(t, "lmtp+unix:"+path, &room{}, "127.0.0.0/8")
	if _, err := lmtp.Listen(t.Context(), lmtp.Address{Network: "unix", Address: path}, "x", nil, &room{}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("two servers listen on one socket")
	}
}
