package email

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wneessen/go-mail"

	"punctual/meeting"
	"punctual/notify"
	"punctual/tests/testenv"
)

// script is a mail server on one port. It reads as many commands at once as group says before it
// replies to them, so a client that waits for each reply gets none.
type script struct {
	extensions []string
	group      int
	reply      map[string]string // by the first word of a command; default: accepted

	mu       sync.Mutex
	commands []string // the commands after EHLO, and "content" with its number of lines
	dialed   int
}

func (s *script) serve(t *testing.T) SMTP {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var conns []net.Conn
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.dialed++
			conns = append(conns, c)
			s.mu.Unlock()
			wg.Go(func() { s.talk(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		s.mu.Unlock()
		wg.Wait()
	})
	return SMTP{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, TLS: "none", Timeout: time.Minute}
}

func (s *script) talk(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	line := func() (string, bool) {
		text, err := r.ReadString('\n')
		return strings.TrimRight(text, "\r\n"), err == nil
	}
	fmt.Fprint(c, "220 mail.test\r\n")
	for {
		var verbs []string
		for len(verbs) < s.group {
			text, ok := line()
			if !ok {
				return
			}
			verb, _, _ := strings.Cut(text, " ")
			if verb == "EHLO" {
				fmt.Fprint(c, "250-mail.test\r\n")
				for _, extension := range s.extensions {
					fmt.Fprintf(c, "250-%s\r\n", extension)
				}
				fmt.Fprint(c, "250 HELP\r\n")
				continue
			}
			s.record(verb)
			if verb == "QUIT" || verb == "RSET" { // never in a group
				fmt.Fprint(c, "250 ok\r\n")
				continue
			}
			verbs = append(verbs, verb)
		}
		for _, verb := range verbs {
			reply := s.reply[verb]
			if reply == "" {
				reply = map[string]string{"DATA": "354 go on"}[verb]
			}
			if reply == "" {
				reply = "250 ok"
			}
			fmt.Fprint(c, strings.ReplaceAll(reply, "\n", "\r\n")+"\r\n")
			if verb != "DATA" || !strings.HasPrefix(reply, "354") {
				continue
			}
			lines := 0
			for text, ok := line(); text != "."; text, ok = line() {
				if !ok {
					return
				}
				lines++
			}
			content := "content"
			if lines == 0 {
				content = "no content"
			}
			s.record(content)
			if lines == 0 {
				fmt.Fprint(c, "554 no valid recipients\r\n")
			} else {
				fmt.Fprint(c, "250 accepted\r\n")
			}
		}
	}
}

func (s *script) record(command string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commands = append(s.commands, command)
}

func (s *script) got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commands)
}

func TestTransaction(t *testing.T) {
	refused := "550-5.1.1 no such\n550 5.1.1 mailbox"
	whole := []string{"MAIL", "RCPT", "DATA", "content"}
	for _, c := range []struct {
		name   string
		server *script
		want   []string
	}{
		{"pipelined", &script{extensions: []string{"PIPELINING"}, group: 3}, whole},
		{"not offered", &script{group: 1}, whole},
		{"pipelined, recipient refused, DATA refused",
			&script{extensions: []string{"PIPELINING"}, group: 3, reply: map[string]string{"RCPT": refused, "DATA": "503 no recipients"}},
			[]string{"MAIL", "RCPT", "DATA", "RSET"}},
		{"pipelined, recipient refused, DATA accepted",
			&script{extensions: []string{"PIPELINING"}, group: 3, reply: map[string]string{"RCPT": refused}},
			[]string{"MAIL", "RCPT", "DATA", "no content", "RSET"}},
		{"not offered, recipient refused", &script{group: 1, reply: map[string]string{"RCPT": refused}}, []string{"MAIL", "RCPT", "RSET"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := c.server
			s := newSMTP(t, server.serve(t))
			for i := range 2 { // the connection serves a second mail
				err := s.Send(t.Context(), invitation(int64(i)))
				if server.reply == nil && err != nil {
					t.Fatal(err)
				}
				if server.reply == nil {
					continue
				}
				if want := "RCPT TO: 550 5.1.1 no such 5.1.1 mailbox"; err == nil || err.Error() != want || !notify.IsPermanent(err) {
					t.Errorf("error %v, permanent %v, want permanent %q", err, notify.IsPermanent(err), want)
				}
			}
			if got, want := server.got(), slices.Repeat(c.want, 2); !slices.Equal(got, want) {
				t.Errorf("commands %v, want %v", got, want)
			}
			if server.dialed != 1 {
				t.Errorf("%d connections, want 1", server.dialed)
			}
		})
	}
}

// All recipients of a mail get it, or none does: its commands are not pipelined.
func TestTransaction_severalRecipients(t *testing.T) {
	server := &script{extensions: []string{"PIPELINING"}, group: 1, reply: map[string]string{"RCPT": "450 busy"}}
	p, err := newPool(server.serve(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	m := mail.NewMsg()
	if err := errors.Join(m.From("turing@example.org"), m.To("ada@example.org"), m.Cc("bob@example.org")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.send(t.Context(), m); err == nil || notify.IsPermanent(err) || notify.IsUnavailable(err) {
		t.Errorf("error %v, want a temporary one", err)
	}
	if got, want := server.got(), []string{"MAIL", "RCPT", "RSET"}; !slices.Equal(got, want) {
		t.Errorf("commands %v, want %v", got, want)
	}
}

// Recipients whose address does not exist are reported, others are not.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		command, reply, want string
	}{
		{"RCPT", "550-5.1.1 no such\n550 5.1.1 mailbox", "zoe@example.org: 550 5.1.1 no such 5.1.1 mailbox"},
		{"RCPT", "553 5.1.3 bad address", "zoe@example.org: 553 5.1.3 bad address"},
		{"RCPT", "450 4.1.1 unknown for now", ""},
		{"RCPT", "550 5.7.1 you are on a list", ""},
		{"RCPT", "552 5.2.2 mailbox full", ""},
		{"RCPT", "550 5.1.8 bad sender", ""},
		{"RCPT", "550 no such mailbox", ""}, // or a policy
		{"MAIL", "550 5.1.1 bad sender", ""},
		{"DATA", "550 5.1.1 no", ""},
	} {
		server := &script{group: 1, reply: map[string]string{c.command: c.reply}}
		smtp, got := server.serve(t), ""
		smtp.Refused = func(_ context.Context, address, reply, messageID string) {
			got = address + ": " + reply
			if messageID != invitation(1).MessageID {
				t.Errorf("Message-ID %s", messageID)
			}
		}
		if err := newSMTP(t, smtp).Send(t.Context(), invitation(1)); err == nil || got != c.want {
			t.Errorf("%s %s: %v, reported %q, want %q", c.command, c.reply, err, got, c.want)
		}
	}
}

// If the address of one recipient does not exist, the others get the mail.
func TestRefused_oneOfSeveral(t *testing.T) {
	for _, bad := range []string{"zoe@example.org", "deputy@example.org"} {
		server := testenv.Mail(t)
		server.OnRcpt(func(to string) testenv.Answer {
			if to == bad {
				return testenv.Answer{Code: 550, Bad: true}
			}
			return testenv.Answer{}
		})
		smtp, got := plain(server), ""
		smtp.Refused = func(_ context.Context, address, _, _ string) { got += address }
		n := invitation(1)
		n.Facts.Reply = &meeting.Reply{From: "turing@example.org", Name: "Turing", Subject: "Accepted", Text: "Accepted", CC: "deputy@example.org"}
		if err := newSMTP(t, smtp).Send(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		if m := server.Next(t, time.Minute); len(m.To) != 1 || m.To[0] == bad || got != bad {
			t.Errorf("sent to %v, reported %q", m.To, got)
		}
	}
}

// The address that bounced gets nothing, and is not named. The mail carries the proof for delivery reports.
func TestCompose_except(t *testing.T) {
	for except, want := range map[string]string{"zoe@example.org": "deputy@example.org", "DEPUTY@example.org": "zoe@example.org"} {
		server := testenv.Mail(t)
		n := invitation(1)
		n.Facts.Reply = &meeting.Reply{From: "turing@example.org", Name: "Turing", Subject: "Accepted", Text: "Accepted", CC: "deputy@example.org"}
		n.Except, n.Proof = except, "1.proof"
		if err := newSMTP(t, plain(server)).Send(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		m := server.Next(t, time.Minute)
		raw := strings.ToLower(string(m.Raw))
		if len(m.To) != 1 || m.To[0] != want || strings.Contains(raw, strings.ToLower(except)) || !strings.Contains(raw, "x-punctual-report: 1.proof") {
			t.Errorf("without %s: sent to %v:\n%s", except, m.To, m.Raw)
		}
	}
}
