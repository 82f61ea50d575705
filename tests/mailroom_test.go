package tests

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"punctual/tests/testenv"
)

// mailroomYAML is the section of config.yaml for rooms that receive mail over a socket in the server's folder.
const mailroomYAML = `mailroom:
  domain: rooms.example.org
  listen: "lmtp+unix:mail.sock"
  trust: { authserv_ids: [mx.example.org] }
`

// invite is an invitation as a mail server delivers it.
type invite struct {
	uid, from, organizer, to string
	start                    time.Time
	sequence                 int
	method                   string // empty: REQUEST
	proven                   string // by dmarc=; empty: pass
}

func (i invite) eml() string {
	pick := func(s, otherwise string) string {
		if s == "" {
			return otherwise
		}
		return s
	}
	i.organizer = pick(i.organizer, i.from)
	const stamp = "20060102T150405Z"
	return strings.Join([]string{
		"Authentication-Results: mx.example.org; dmarc=" + pick(i.proven, "pass") + " header.from=example.org",
		"From: <" + i.from + ">", "To: <" + i.to + ">", "Subject: Review " + i.uid, fmt.Sprintf("Message-ID: <%s.%d@example.org>", i.uid, i.sequence), "MIME-Version: 1.0",
		"Content-Type: text/calendar; charset=UTF-8; method=" + pick(i.method, "REQUEST"), "",
		"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Example//EN", "METHOD:" + pick(i.method, "REQUEST"), "BEGIN:VEVENT", "UID:" + i.uid, fmt.Sprint("SEQUENCE:", i.sequence),
		"DTSTAMP:20270101T000000Z", "DTSTART:" + i.start.UTC().Format(stamp), "DTEND:" + i.start.Add(time.Hour).UTC().Format(stamp), "SUMMARY:Review",
		"ORGANIZER:mailto:" + i.organizer, "ATTENDEE;CUTYPE=ROOM;PARTSTAT=NEEDS-ACTION:mailto:" + i.to, "END:VEVENT", "END:VCALENDAR", "",
	}, "\r\n")
}

// deliver hands a mail to a server over LMTP, and returns the code of its answer: 250, or that of a refusal.
func deliver(t *testing.T, server *testenv.ServerInstance, to, eml string) int {
	t.Helper()
	code := func(err error) int {
		if e, ok := errors.AsType[*smtp.SMTPError](err); ok {
			return e.Code
		}
		if err != nil {
			t.Fatal(err)
		}
		return 250
	}
	conn, err := net.Dial("unix", filepath.Join(server.Dir, "mail.sock"))
	if err != nil {
		t.Fatal(err)
	}
	c := smtp.NewClientLMTP(conn)
	defer c.Close()
	if err := c.Mail("bounces@example.org", nil); err != nil {
		return code(err)
	}
	if err := c.Rcpt(to, nil); err != nil {
		return code(err)
	}
	w, err := c.Data()
	if err != nil {
		return code(err)
	}
	if _, err := io.WriteString(w, eml); err != nil {
		t.Fatal(err)
	}
	return code(w.Close())
}

type receivedMail struct {
	ID      int64   `json:"id"`
	Verdict string  `json:"verdict"`
	State   string  `json:"state"`
	From    *string `json:"from"`
	Outcome *struct {
		Answers []struct {
			Status string `json:"status"`
			Mail   *struct {
				To       string `json:"to"`
				Calendar string `json:"calendar"`
			} `json:"mail"`
		} `json:"answers"`
		MeetingIDs []int64 `json:"meeting_ids"`
	} `json:"outcome"`
	Raw *string `json:"raw"`
}

// TestMailroom: an invitation that a mail server delivers is booked and answered, once. What is not
// trusted waits for an administrator, unanswered.
func TestMailroom(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		on.Mail, on.YAML = testenv.Mail(t), mailroomYAML
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		ada := admin.NewUser(t, "Ada", "member").User.Email
		admin.NewRoom(t, "Turing", with{"address": "turing"})
		const room = "turing@rooms.example.org"
		start := time.Now().Add(48 * time.Hour).Truncate(time.Hour)
		replies := func(n int) []testenv.Message {
			t.Helper()
			eventually(t, time.Now().Add(slack), fmt.Sprint(n, " replies"), func() bool { return len(on.Mail.Where(ada, "reply")) >= n })
			return on.Mail.Where(ada, "reply")
		}
		byState := func(state string) []receivedMail {
			return testenv.All[receivedMail](t, admin, "/mailroom/messages?limit=2&state="+state)
		}

		one := invite{uid: "one", from: ada, to: room, start: start}
		for range 2 { // the mail server did not hear the first answer
			if code := deliver(t, server, room, "Received: by mx.example.org; now\r\n"+one.eml()); code != 250 {
				t.Fatalf("an invitation: %d", code)
			}
		}
		reply := replies(1)[0]
		if cal := reply.Part("text/calendar"); !strings.Contains(cal, "METHOD:REPLY") || !strings.Contains(cal, "PARTSTAT=ACCEPTED") || reply.From != room {
			t.Errorf("reply from %s:\n%s", reply.From, cal)
		}
		if code := deliver(t, server, room, invite{uid: "two", from: ada, to: room, start: start}.eml()); code != 250 {
			t.Errorf("a second invitation: %d", code)
		}
		if cal := replies(2)[1].Part("text/calendar"); !strings.Contains(cal, "PARTSTAT=DECLINED") {
			t.Errorf("reply for a taken slot:\n%s", cal)
		}
		if code := deliver(t, server, "nobody@rooms.example.org", one.eml()); code != 550 {
			t.Errorf("an unknown room: %d", code)
		}
		if code := deliver(t, server, room, one.eml()+strings.Repeat("0123456789abcdef\r\n", 70_000)); code != 552 {
			t.Errorf("a large mail: %d", code)
		}
		eventually(t, time.Now().Add(slack), "both mails are done", func() bool { return len(byState("done")) == 2 })
		if done := byState("done"); len(done) != 2 || len(done[1].Outcome.MeetingIDs) != 1 || done[0].Outcome.Answers[0].Status != "DECLINED" {
			t.Errorf("done: %+v", done)
		}

		// Neither is answered: the address is forged, or the sender is not the organizer.
		later := start.Add(2 * time.Hour)
		deliver(t, server, room, invite{uid: "three", from: ada, to: room, start: later, proven: "none"}.eml())
		deliver(t, server, room, invite{uid: "four", from: "eve@example.org", organizer: ada, to: room, start: later}.eml())
		deliver(t, server, room, invite{uid: "five", from: room, to: room, start: later}.eml())
		held := byState("quarantined")
		if len(held) != 2 || held[0].Verdict != "not_organizer" || held[1].Verdict != "unauthenticated" {
			t.Fatalf("quarantined: %+v", held)
		}
		if refused := byState("refused"); len(refused) != 1 || refused[0].Verdict != "loop" {
			t.Errorf("refused: %+v", refused)
		}
		var detail receivedMail
		admin.Want(t, http.StatusOK, http.MethodGet, fmt.Sprintf("/mailroom/messages/%d?raw=true", held[1].ID), nil, &detail)
		if detail.Raw == nil || !strings.Contains(*detail.Raw, "UID:three") || *detail.From != ada {
			t.Errorf("detail: %+v", detail)
		}
		admin.Want(t, http.StatusOK, http.MethodPost, fmt.Sprintf("/mailroom/messages/%d/process", held[1].ID), nil, nil)
		if cal := replies(3)[2].Part("text/calendar"); !strings.Contains(cal, "PARTSTAT=ACCEPTED") || !strings.Contains(cal, "UID:three") {
			t.Errorf("reply to a released mail:\n%s", cal)
		}
		eventually(t, time.Now().Add(slack), "the released mail is done", func() bool { return len(byState("done")) == 3 })
		admin.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, fmt.Sprintf("/mailroom/messages/%d/process", held[1].ID), nil)

		// A dry run says what the room would answer, and books nothing.
		raw := base64.StdEncoding.EncodeToString([]byte(invite{uid: "six", from: ada, to: room, start: start.Add(4 * time.Hour)}.eml()))
		for range 2 {
			var tried struct {
				Items []receivedMail `json:"items"`
			}
			admin.Want(t, http.StatusOK, http.MethodPost, "/mailroom/messages", with{"raw": raw, "dry_run": true}, &tried)
			if len(tried.Items) != 1 || tried.Items[0].Verdict != "trusted" || tried.Items[0].State != "new" || tried.Items[0].Outcome == nil ||
				tried.Items[0].Outcome.Answers[0].Status != "ACCEPTED" || tried.Items[0].Outcome.Answers[0].Mail == nil ||
				!strings.Contains(tried.Items[0].Outcome.Answers[0].Mail.Calendar, "PARTSTAT=ACCEPTED") {
				t.Errorf("dry run: %+v", tried.Items)
			}
		}
		admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/mailroom/messages", with{"raw": raw, "recipient": "nobody@rooms.example.org"})
		if got := len(on.Mail.Where(ada, "reply")); got != 3 {
			t.Errorf("%d replies, want 3", got)
		}
	})
}

// TestMailroom_killed: a mail that was accepted is answered although the program is killed right then.
func TestMailroom_killed(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		on.Mail, on.YAML = testenv.Mail(t), mailroomYAML
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		ada := admin.NewUser(t, "Ada", "member").User.Email
		const n = 8
		start := time.Now().Add(48 * time.Hour).Truncate(time.Hour)
		for i := range n {
			room := admin.NewRoom(t, fmt.Sprint("Room ", i), with{"address": fmt.Sprint("room-", i)})
			to := fmt.Sprint("room-", i, "@rooms.example.org")
			if code := deliver(t, server, to, invite{uid: room.Name, from: ada, to: to, start: start}.eml()); code != 250 {
				t.Fatalf("%s: %d", to, code)
			}
		}
		server.Kill()
		server.Start(t)
		answered := map[string]bool{}
		eventually(t, time.Now().Add(slack), "all are answered", func() bool {
			for _, m := range on.Mail.Where(ada, "reply") {
				answered[m.From] = strings.Contains(m.Part("text/calendar"), "PARTSTAT=ACCEPTED")
			}
			return len(answered) == n
		})
	})
}
