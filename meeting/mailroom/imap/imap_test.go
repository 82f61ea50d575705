package imap_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"

	"punctual/meeting/mailroom"
	mailimap "punctual/meeting/mailroom/imap"
)

// room keeps the first line of each mail, and fails the first time.
type room struct {
	mu     sync.Mutex
	failed bool
	stored []string
}

func (r *room) Addressed(_ context.Context, raw []byte) ([]string, error) {
	if strings.Contains(string(raw), "turing") {
		return []string{"turing@rooms.example.org"}, nil
	}
	return nil, nil
}

func (r *room) Receive(_ context.Context, e mailroom.Envelope, raw []byte) ([]*mailroom.Mail, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.failed {
		r.failed = true
		return nil, errors.New("the database is down")
	}
	line, _, _ := strings.Cut(string(raw), "\r\n")
	r.stored = append(r.stored, fmt.Sprint(e.Source, " ", e.Recipients, " ", line))
	return nil, nil
}

func (r *room) MaxSize() int64 { return 1000 }

func (r *room) has() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.stored...)
}

type literal struct {
	io.Reader
	size int64
}

func (l literal) Size() int64 { return l.size }

// TestReader: mails are stored and moved, those that arrive while the reader waits as well, and one that
// could not be stored is tried again.
func TestReader(t *testing.T) {
	t.Parallel()
	memory := imapmemserver.New()
	user := imapmemserver.NewUser("rooms", "secret")
	if err := user.Create("INBOX", nil); err != nil {
		t.Fatal(err)
	}
	memory.AddUser(user)
	server := imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return memory.NewSession(), nil, nil
		},
		Caps: imap.CapSet{imap.CapIMAP4rev1: {}, imap.CapIMAP4rev2: {}}, InsecureAuth: true,
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	put := func(text string) {
		t.Helper()
		if _, err := user.Append("INBOX", literal{strings.NewReader(text), int64(len(text))}, &imap.AppendOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	put("Subject: one\r\nTo: turing\r\n\r\n")
	put("Subject: too large\r\nTo: turing\r\n\r\n" + strings.Repeat("x", 1000))
	put("Subject: for nobody\r\n\r\n")

	r := &room{}
	at := l.Addr().(*net.TCPAddr)
	reader := mailimap.NewReader(mailimap.Config{
		Host: "127.0.0.1", Port: at.Port, Username: "rooms", Password: "secret", TLS: "none", Mailbox: "INBOX", Done: "Done", Poll: time.Minute,
	}, r, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- reader.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	wait := func(want string) {
		t.Helper()
		for deadline := time.Now().Add(4 * time.Minute); fmt.Sprint(r.has()) != want; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("stored %v, want %s", r.has(), want)
			}
		}
	}
	wait("[imap [turing@rooms.example.org] Subject: one]")
	put("Subject: two\r\nTo: turing\r\n\r\n")
	wait("[imap [turing@rooms.example.org] Subject: one imap [turing@rooms.example.org] Subject: two]")

	c, err := imapclient.DialInsecure(l.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Login("rooms", "secret").Wait(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(4 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		left, err := c.Status("INBOX", &imap.StatusOptions{NumMessages: true}).Wait()
		if err != nil {
			t.Fatal(err)
		}
		done, err := c.Status("Done", &imap.StatusOptions{NumMessages: true}).Wait()
		if err != nil {
			t.Fatal(err)
		}
		if *left.NumMessages == 0 && *done.NumMessages == 4 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d mails are left, %d are done", *left.NumMessages, *done.NumMessages)
		}
	}
}
