package tests

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	rule                     string // such as RRULE:FREQ=DAILY;COUNT=2; empty: one date
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
	summary := "SUMMARY:Review"
	if i.rule != "" {
		summary += "\r\n" + i.rule
	}
	return strings.Join([]string{
		"Authentication-Results: mx.example.org; dmarc=" + pick(i.proven, "pass") + " header.from=example.org",
		"From: <" + i.from + ">", "To: <" + i.to + ">", "Subject: Review " + i.uid, fmt.Sprintf("Message-ID: <%s.%d@example.org>", i.uid, i.sequence), "MIME-Version: 1.0",
		"Content-Type: text/calendar; charset=UTF-8; method=" + pick(i.method, "REQUEST"), "",
		"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Example//EN", "METHOD:" + pick(i.method, "REQUEST"), "BEGIN:VEVENT", "UID:" + i.uid, fmt.Sprint("SEQUENCE:", i.sequence),
		"DTSTAMP:20270101T000000Z", "DTSTART:" + i.start.UTC().Format(stamp), "DTEND:" + i.start.Add(time.Hour).UTC().Format(stamp), summary,
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
		on.Mail = testenv.Mail(t)
		on.YAML = strings.Replace(mailroomYAML, "trust: {", "trust: { unauthenticated: confirm,", 1) + "  suggest: counter\n  senders: { unknown: guest, domains: [guests.example.org] }\n"
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		ada := admin.NewUser(t, "Ada", "member").User.Email
		admin.NewRoom(t, "Turing", with{"address": "turing"})
		const room = "turing@rooms.example.org"
		start := time.Now().Add(48 * time.Hour).Truncate(time.Hour)
		replies := func(n int) []testenv.Message {
			t.Helper()
			var all []testenv.Message
			eventually(t, time.Now().Add(slack), fmt.Sprint(n, " replies"), func() bool {
				all = slices.DeleteFunc(on.Mail.Where(ada, "reply"), func(m testenv.Message) bool {
					return strings.Contains(m.Part("text/calendar"), "METHOD:COUNTER") || strings.Contains(m.Subject(), "confirm")
				})
				return len(all) >= n
			})
			return all
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
		// The first alternative is proposed, too. That the organizer does not want it changes nothing.
		proposed := func() string {
			for _, m := range on.Mail.Where(ada, "reply") {
				if cal := m.Part("text/calendar"); strings.Contains(cal, "METHOD:COUNTER") {
					return m.Header.Get("Content-Type") + cal
				}
			}
			return ""
		}
		eventually(t, time.Now().Add(slack), "a proposal", func() bool { return proposed() != "" })
		for _, want := range []string{"UID:two", "X-MS-OLK-ORIGINALSTART:" + start.UTC().Format("20060102T150405Z"), "LOCATION:Turing", "PARTSTAT=DECLINED", "DTSTART:" + start.UTC().Add(time.Hour).Format("20060102T150405Z")} {
			if !strings.Contains(proposed(), want) {
				t.Errorf("the proposal lacks %s:\n%s", want, proposed())
			}
		}
		deliver(t, server, room, invite{uid: "two", from: ada, to: room, start: start.Add(time.Hour), method: "DECLINECOUNTER"}.eml())
		eventually(t, time.Now().Add(slack), "the answer to the proposal is done", func() bool { return len(byState("done")) == 3 })
		if code := deliver(t, server, "nobody@rooms.example.org", one.eml()); code != 550 {
			t.Errorf("an unknown room: %d", code)
		}
		if code := deliver(t, server, room, one.eml()+strings.Repeat("0123456789abcdef\r\n", 70_000)); code != 552 {
			t.Errorf("a large mail: %d", code)
		}
		if done := testenv.All[receivedMail](t, admin, "/mailroom/messages?state=done"); len(done) != 3 || len(done[2].Outcome.MeetingIDs) != 1 || done[1].Outcome.Answers[0].Status != "DECLINED" {
			t.Errorf("done: %+v", done)
		}

		// Neither is answered: the address is forged, or the sender is not the organizer.
		later := start.Add(2 * time.Hour)
		deliver(t, server, room, invite{uid: "three", from: ada, to: room, start: later, proven: "none"}.eml())
		deliver(t, server, room, invite{uid: "four", from: "eve@example.org", organizer: ada, to: room, start: later}.eml())
		deliver(t, server, room, invite{uid: "five", from: room, to: room, start: later}.eml())
		eventually(t, time.Now().Add(slack), "both are in quarantine", func() bool { return len(byState("quarantined")) == 2 })
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
		eventually(t, time.Now().Add(slack), "the released mail is done", func() bool {
			return len(testenv.All[receivedMail](t, admin, "/mailroom/messages?state=done")) == 4
		})
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
		if got := len(replies(3)); got != 3 {
			t.Errorf("%d replies, want 3", got)
		}

		// Who sends winmail.dat is told what to change, once.
		for i, proven := range []string{"none", "pass", "pass"} {
			deliver(t, server, room, strings.Join([]string{
				"Authentication-Results: mx.example.org; dmarc=" + proven + " header.from=example.org", "From: <" + ada + ">", "To: <" + room + ">",
				fmt.Sprintf("Message-ID: <winmail.%d@example.org>", i), "MIME-Version: 1.0", "Content-Type: application/ms-tnef; name=winmail.dat", "", "x", "",
			}, "\r\n"))
		}
		if help := replies(4)[3]; !strings.Contains(help.Part("text/plain"), "choose HTML") || help.From != room {
			t.Errorf("help from %s:\n%s", help.From, help.Part("text/plain"))
		}
		eventually(t, time.Now().Add(slack), "all are refused", func() bool { return len(byState("refused")) == 4 })
		if got := len(replies(4)); got != 4 {
			t.Errorf("%d replies, want 4", got)
		}

		// Senders who are not authenticated are asked, once. The link in their mail releases it; looking at the page
		// does not. What failed DMARC, or came from nobody, is asked about nobody.
		const zoe = "zoe@guests.example.org"
		strange := "Zo\u00eb\u2028" + strings.Repeat("x", 300) + "\x01"
		unproven := strings.Replace(invite{uid: "seven", from: zoe, to: room, start: start.Add(6 * time.Hour), proven: "none"}.eml(), "ORGANIZER:", "ORGANIZER;CN=\""+strange+"\";SENT-BY=\"mailto:office@guests.example.org\":", 1)
		unproven = strings.Replace(unproven, "SUMMARY:Review", "SUMMARY:Re\x00vi\u2028ew"+strings.Repeat("\r\n "+strings.Repeat("x", 70), 30), 1)
		deliver(t, server, room, unproven)
		deliver(t, server, room, "Received: again\r\n"+unproven)
		deliver(t, server, room, strings.Replace(unproven, "dmarc=none", "dmarc=fail", 1)+" ")
		eventually(t, time.Now().Add(slack), "the sender is asked", func() bool { return len(on.Mail.Where(zoe, "reply")) > 0 })
		ask := on.Mail.Where(zoe, "reply")[0]
		_, link, _ := strings.Cut(ask.Part("text/plain"), "/confirm-invitation?token=")
		token, _, _ := strings.Cut(link, "\r\n")
		page := strings.TrimSuffix(admin.Base, "/api/v1") + "/confirm-invitation"
		follow := func(status int, want string, act func() (*http.Response, error)) {
			t.Helper()
			res, err := act()
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if text, _ := io.ReadAll(res.Body); res.StatusCode != status || !strings.Contains(string(text), want) {
				t.Errorf("%d, want %d with %q: %s", res.StatusCode, status, want, text)
			}
		}
		look := func() (*http.Response, error) { return http.Get(page + "?token=" + token) }
		confirm := func() (*http.Response, error) { return http.PostForm(page, url.Values{"token": {token}}) }
		for range 2 {
			follow(http.StatusOK, "Is this invitation from you?", look)
		}
		eventually(t, time.Now().Add(slack), "the mail waits", func() bool {
			return len(testenv.All[receivedMail](t, admin, "/mailroom/messages?q=guests.example.org&state=quarantined")) == 2
		})
		if ask.Header.Get("Auto-Submitted") != "auto-replied" || ask.From != room {
			t.Errorf("asked by %s: %v", ask.From, ask.Header)
		}
		follow(http.StatusOK, "You confirmed this invitation", confirm)
		follow(http.StatusConflict, "You confirmed this invitation", confirm)
		follow(http.StatusOK, "You confirmed this invitation", look)
		follow(http.StatusNotFound, "This link does not work", func() (*http.Response, error) { return http.Get(page + "?token=x" + token) })
		eventually(t, time.Now().Add(slack), "the room answers", func() bool { return len(on.Mail.Where(zoe, "reply")) > 1 })
		answer := on.Mail.Where(zoe, "reply")[1]
		if cal := answer.Part("text/calendar"); !strings.Contains(cal, "PARTSTAT=ACCEPTED") || answer.Header.Get("Cc") != "<office@guests.example.org>" || len(on.Mail.Where(zoe, "reply")) != 2 {
			t.Errorf("the answer, with Cc %s:\n%s", answer.Header.Get("Cc"), cal)
		}
		// The sender became a user, whose name is adjusted.
		guests := slices.DeleteFunc(testenv.All[struct{ Name, Email string }](t, admin, "/users"), func(u struct{ Name, Email string }) bool { return u.Email != zoe })
		if len(guests) != 1 || guests[0].Name != "Zo\u00eb "+strings.Repeat("x", 196) {
			t.Errorf("guests: %+v", guests)
		}
	})
}

// TestMailroom_responses: responses of calendar programs to invitations arrive by mail. They count, unless
// they are forged.
func TestMailroom_responses(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		on.Mail, on.YAML = testenv.Mail(t), mailroomYAML
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		ada := admin.NewUser(t, "Ada", "member")
		start := time.Now().Add(48 * time.Hour).Truncate(time.Hour)
		var me struct {
			CalendarMails bool `json:"calendar_mails"`
		}
		ada.Want(t, http.StatusOK, http.MethodPatch, "/me", with{"calendar_mails": true}, &me)
		if !me.CalendarMails {
			t.Error("the preference is not kept")
		}
		m := ada.Book(t, with{
			"room_ids": []int64{admin.NewRoom(t, "Turing").ID}, "title": "Review", "start": start, "end": start.Add(time.Hour),
			"attendees": []with{{"email": "guest@example.org"}},
		})
		var invitation testenv.Message
		eventually(t, time.Now().Add(slack), "the invitation", func() bool {
			found := on.Mail.Where("guest@example.org", "invitation")
			if len(found) > 0 {
				invitation = found[0]
			}
			return len(found) > 0
		})
		calendar := strings.ReplaceAll(invitation.Part("text/calendar"), "\r\n ", "")
		to := fmt.Sprintf("meeting-%d@rooms.example.org", m.ID)
		if !strings.Contains(calendar, ":mailto:"+to+"\r\n") || !strings.Contains(invitation.Header.Get("Reply-To"), ada.User.Email) {
			t.Fatalf("Reply-To %s\n%s", invitation.Header.Get("Reply-To"), calendar)
		}
		eventually(t, time.Now().Add(slack), "the organizer's own copy", func() bool { return len(on.Mail.Where(ada.User.Email, "invitation")) == 1 })
		if own := on.Mail.Where(ada.User.Email, "invitation")[0]; !strings.Contains(strings.ReplaceAll(own.Part("text/calendar"), "\r\n ", ""), "PARTSTAT=ACCEPTED;ROLE=CHAIR:mailto:"+ada.User.Email) {
			t.Errorf("the organizer's own copy:\n%s", own.Part("text/calendar"))
		}
		_, uid, _ := strings.Cut(calendar, "\r\nUID:")
		uid, _, _ = strings.Cut(uid, "\r\n")
		respond := func(from, status, proven string) {
			t.Helper()
			eml := strings.NewReplacer(
				"ATTENDEE;CUTYPE=ROOM;PARTSTAT=NEEDS-ACTION:mailto:"+to, "ATTENDEE;PARTSTAT="+status+":mailto:guest@example.org\r\nCOMMENT:by mail", "DTSTAMP:20270101T000000Z", "DTSTAMP:"+time.Now().UTC().Format("20060102T150405Z"),
			).Replace(invite{uid: uid, from: from, to: to, start: start, sequence: 1, method: "REPLY", proven: proven}.eml())
			if code := deliver(t, server, to, eml); code != 250 {
				t.Errorf("a response: %d", code)
			}
		}
		respond("guest@example.org", "DECLINED", "none")
		respond("eve@example.org", "DECLINED", "pass")
		respond("guest@example.org", "ACCEPTED", "pass")
		eventually(t, time.Now().Add(slack), "the response counts", func() bool { return answersTo(ada.Meeting(t, m.ID))["guest@example.org"] == "accepted" })
		if comment := ada.Meeting(t, m.ID).Attendees[0].Comment; comment == nil || *comment != "by mail" {
			t.Errorf("the organizer reads %v", comment)
		}
		held := testenv.All[receivedMail](t, admin, "/mailroom/messages?state=quarantined")
		if len(held) != 2 || held[0].Verdict != "not_attendee" || held[1].Verdict != "unauthenticated" {
			t.Errorf("quarantined: %+v", held)
		}
		text := "From: <guest@example.org>\r\nTo: <" + to + ">\r\nSubject: A question\r\n\r\nWhich floor?\r\n"
		if code := deliver(t, server, to, text); code != 550 {
			t.Errorf("a mail that a person wrote: %d", code)
		}
		if code := deliver(t, server, "series-1@rooms.example.org", text); code != 550 {
			t.Errorf("an unknown series: %d", code)
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

// TestMailroom_race: of many invitations for one slot that two instances receive, one is accepted, and all
// are answered.
func TestMailroom_race(t *testing.T) {
	t.Parallel()
	const invitations = 200
	on := onServers(t)
	on.Mail, on.YAML = testenv.Mail(t), mailroomYAML+"  limits: { per_sender: 1000/m }\n"
	a, b := twoServers(t, on.Config)
	admin := a.Admin(t)
	ada := admin.NewUser(t, "Ada", "member").User.Email
	admin.NewRoom(t, "Turing", with{"address": "turing"})
	const room = "turing@rooms.example.org"
	start := time.Now().Add(48 * time.Hour).Truncate(time.Hour)
	var group sync.WaitGroup
	for lane := range 8 {
		group.Go(func() {
			for i := lane; i < invitations; i += 8 {
				server := []*testenv.ServerInstance{a, b}[i%2]
				if code := deliver(t, server, room, invite{uid: fmt.Sprint("race-", i), from: ada, to: room, start: start}.eml()); code != 250 {
					t.Errorf("invitation %d: %d", i, code)
				}
			}
		})
	}
	group.Wait()
	answers := map[string]string{}
	eventually(t, time.Now().Add(4*slack), "all are answered", func() bool {
		for _, m := range on.Mail.Where(ada, "reply") {
			calendar := m.Part("text/calendar")
			for _, status := range []string{"ACCEPTED", "DECLINED"} {
				if strings.Contains(calendar, "PARTSTAT="+status) {
					answers[m.Header.Get("In-Reply-To")] = status
				}
			}
		}
		return len(answers) == invitations
	})
	count := map[string]int{}
	for _, status := range answers {
		count[status]++
	}
	if count["ACCEPTED"] != 1 || count["DECLINED"] != invitations-1 {
		t.Errorf("answers: %v", count)
	}
	for id, n := range on.Mail.Counts() {
		if n != 1 {
			t.Errorf("%s was sent %d times", id, n)
		}
	}
}
