package mailroom

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/delayjob"
)

// report is a delivery report with the lines of its recipients and the header that it quotes.
func report(kind, recipients, quoted string) string {
	return strings.ReplaceAll(`From: MAILER-DAEMON@mx.example.org
To: rooms@example.org
Subject: Undelivered Mail Returned to Sender
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b
Content-Type: text/plain

I'm sorry.
--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example.org

`+recipients+`
--b
Content-Type: `+kind+`

`+quoted+`
--b--
`, "\n", "\r\n")
}

const ada = "Final-Recipient: rfc822; Ada@example.org\nOriginal-Recipient: rfc822;ada@example.com\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 5.1.1\n <ada@example.org>: no such mailbox\n"

func TestReadLetter_report(t *testing.T) {
	t.Parallel()
	failed := []Failed{{Recipients: []string{"ada@example.com", "Ada@example.org"}, Status: "5.1.1", Diagnostic: "550 5.1.1 <ada@example.org>: no such mailbox"}}
	const quoted = "Message-ID: <1@example.org>\nX-Punctual-Report: 1.proof\nSubject: Review\n\nX-Punctual-Report: 2.proof\n"
	for name, c := range map[string]struct {
		raw  string
		want *Report
	}{
		"with the mail":      {report("message/rfc822", ada, quoted), &Report{"1.proof", failed}},
		"with its header":    {report("text/rfc822-headers", ada, quoted), &Report{"1.proof", failed}},
		"in base64":          {strings.Replace(report("message/rfc822", ada, "WC1QdW5jdHVhbC1SZXBvcnQ6IDEucHJvb2YNCg0K"), "message/rfc822", "message/rfc822\r\nContent-Transfer-Encoding: base64", 1), &Report{"1.proof", failed}},
		"without the mail":   {report("text/plain", ada, quoted), &Report{"", failed}},
		"delayed":            {report("message/rfc822", strings.Replace(ada, "failed", "delayed", 1), quoted), &Report{"1.proof", nil}},
		"several recipients": {report("message/rfc822", "Final-Recipient: rfc822; bob@example.org\nAction: delivered\nStatus: 2.0.0\n\n\n"+ada, quoted), &Report{"1.proof", failed}},
		"a comment, in capitals": {report("message/rfc822", "Final-Recipient: <bob@example.org>\nAction: FAILED\nStatus: 5.0.0 (permanent failure)\n", quoted),
			&Report{"1.proof", []Failed{{Recipients: []string{"bob@example.org"}, Status: "5.0.0"}}}},
		"damaged at its end":    {strings.TrimSuffix(report("message/rfc822", ada, quoted), "--b--\r\n"), &Report{"1.proof", failed}},
		"unreadable":            {report("message/rfc822", "no field\n\n"+ada, quoted), &Report{"1.proof", nil}},
		"about the opened mail": {strings.Replace(report("message/rfc822", ada, quoted), "delivery-status;", "disposition-notification;", 1), nil},
		"an ordinary mail":      {header + "\r\nhello", nil},
	} {
		l, err := ReadLetter([]byte(c.raw), testLimits)
		if diff := cmp.Diff(c.want, l.Report); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// fakeStore knows one room and stores all mails.
type fakeStore struct {
	Store
	stored []*Mail
}

func (s *fakeStore) Known(_ context.Context, local string) (bool, error) {
	return local == "turing", nil
}

func (s *fakeStore) Put(_ context.Context, ms []*Mail) error {
	for _, m := range ms {
		m.ID = int64(len(s.stored) + 1)
		s.stored = append(s.stored, m)
	}
	return nil
}

// fakes implements the other parts of [Options]. It marks whom reports with the proof 1.proof name.
type fakes struct{ marked []string }

func (f *fakes) Schedule(context.Context, ...delayjob.Message)             {}
func (f *fakes) AllowN(context.Context, string, int) (bool, time.Duration) { return true, 0 }
func (f *fakes) Received(Verdict)                                          {}
func (f *fakes) Duplicate()                                                {}
func (f *fakes) Answered(time.Duration)                                    {}
func (f *fakes) Gone(status string) bool                                   { return status == "5.1.1" }
func (f *fakes) Reported(_ context.Context, proof string, failed map[string]string) (marked []string, err error) {
	if proof != "1.proof" {
		return nil, nil
	}
	for _, address := range slices.Sorted(maps.Keys(failed)) {
		marked = append(marked, address)
		f.marked = append(f.marked, address+": "+failed[address])
	}
	return marked, nil
}

// Reports come to the sender of notifications or to a room. They mark addresses and are never answered. The
// sender of notifications takes nothing else.
func TestReceive_report(t *testing.T) {
	t.Parallel()
	const quoted = "X-Punctual-Report: 1.proof\n"
	const gone = ": 5.1.1 550 5.1.1 <ada@example.org>: no such mailbox"
	marked := []string{"ada@example.com" + gone, "ada@example.org" + gone}
	for name, c := range map[string]struct {
		raw, to string
		source  Source
		marked  []string
		reason  string // of the stored mail; empty: none is stored
		err     error
	}{
		"to the sender":      {report("message/rfc822", ada, quoted), "Rooms@example.org", LMTP, marked, "is a delivery report: mails to ada@example.com and ada@example.org bounce", nil},
		"to a room":          {report("message/rfc822", ada, quoted), "turing@rooms.example.org", IMAP, marked, "is a delivery report: mails to ada@example.com and ada@example.org bounce", nil},
		"of another mail":    {report("message/rfc822", ada, "X-Punctual-Report: 2.proof\n"), "rooms@example.org", LMTP, nil, "is a delivery report that marks no address", nil},
		"of a full mailbox":  {report("message/rfc822", strings.Replace(ada, "5.1.1", "5.2.2", 1), quoted), "rooms@example.org", LMTP, nil, "is a delivery report that marks no address", nil},
		"with an invitation": {strings.Replace(report("message/rfc822", ada, quoted), "text/plain", "text/calendar", 1), "turing@rooms.example.org", LMTP, marked, "is a delivery report: mails to ada@example.com and ada@example.org bounce", nil},
		"no report":          {header + "\r\nhello", "rooms@example.org", LMTP, nil, "", ErrNoResponse},
		"no report, by IMAP": {header + "\r\nhello", "rooms@example.org", IMAP, nil, "", nil},
	} {
		f, store := &fakes{}, &fakeStore{}
		s := NewService(store, Options{
			Settings: func() Settings {
				return Settings{Domain: "rooms.example.org", Reports: "rooms@example.org", Limits: testLimits}
			},
			Scheduler: f, Limiter: f, Observer: f, Bouncer: f, Log: slog.New(slog.DiscardHandler), Now: time.Now,
		})
		if known, err := s.Known(t.Context(), c.to); !known || err != nil {
			t.Errorf("%s: known %v, %v", name, known, err)
		}
		ms, err := s.Receive(t.Context(), Envelope{Source: c.source, Recipients: []string{c.to}}, []byte(c.raw))
		reason := ""
		if len(ms) == 1 && ms[0].Verdict == Loop && ms[0].State == Refused {
			reason = ms[0].Reason
		}
		if err != c.err || reason != c.reason || !slices.Equal(f.marked, c.marked) {
			t.Errorf("%s: %+v, %v, marked %q", name, ms, err, f.marked)
		}
	}
}
