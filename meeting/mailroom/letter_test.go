package mailroom

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"mime/quotedprintable"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

var testLimits = Limits{Size: 1 << 20, Depth: 20, Parts: 100, Events: 400}

const header = "From: \"Lovelace, Ada\" <Ada@Example.org>\r\nTo: turing@rooms.example.org\r\nSubject: =?utf-8?q?=C3=9Cbersicht?=\r\nMessage-ID: <1@example.org>\r\nMIME-Version: 1.0\r\n"

// invitation is a REQUEST with the given lines in its event.
func invitation(lines ...string) string {
	return strings.Join(append(append([]string{"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:x", "METHOD:REQUEST", "BEGIN:VEVENT", "UID:42@example.org",
		"DTSTAMP:20270101T000000Z", "DTSTART:20270210T090000Z", "DTEND:20270210T100000Z", "SUMMARY:Übersicht"}, lines...), "END:VEVENT", "END:VCALENDAR", ""), "\r\n")
}

func encodedLatin1(t *testing.T, s string) string {
	t.Helper()
	text, err := charmap.ISO8859_1.NewEncoder().String(s)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// TestReadCalendar_method: a method that only the type of the part names counts, but not against the calendar.
func TestReadCalendar_method(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		strings.Replace(invitation(), "METHOD:REQUEST\r\n", "", 1):                   "CANCEL",
		strings.Replace(invitation(), "METHOD:REQUEST\r\n", "METHOD:PUBLISH\r\n", 1): "PUBLISH",
	} {
		letter, err := ReadLetter([]byte(header+"Content-Type: text/calendar; charset=utf-8; method=cancel\r\n\r\n"+in), testLimits)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := ReadCalendar(letter, testLimits); err != nil || c.Method != want {
			t.Errorf("%+v, %v, want %s", c, err, want)
		}
	}
}

// TestReadLetter: the calendar message is found however a program sends it, and is read as UTF-8.
func TestReadLetter(t *testing.T) {
	t.Parallel()
	ics := invitation()
	wrapped := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	mixed := func(parts ...string) string {
		return header + "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n" + strings.Join(parts, "\r\n--b\r\n") + "\r\n--b--\r\n"
	}
	plain := "Content-Type: text/plain\r\n\r\nhello"
	for name, c := range map[string]struct {
		raw  string
		want string
	}{
		"alone":                                 {header + "Content-Type: text/calendar; method=REQUEST; charset=UTF-8\r\n\r\n" + ics, ics},
		"with null characters":                  {header + "Content-Type: text/calendar\r\n\r\n" + strings.Replace(ics, "SUMMARY:", "SUMMARY:\x00", 1), ics},
		"base64":                                {header + "Content-Type: text/calendar; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n" + wrapped(ics), ics},
		"Latin-1 and quoted-printable":          {header + "Content-Type: text/calendar; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n" + encodedLatin1(t, ics), ics},
		"no character set, but Latin-1":         {header + "Content-Type: text/calendar\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n" + encodedLatin1(t, ics), ics},
		"the alternative before the attachment": {mixed("Content-Type: application/ics; name=invite.ics\r\n\r\nattached", "Content-Type: multipart/alternative; boundary=a\r\n\r\n--a\r\n"+plain+"\r\n--a\r\nContent-Type: text/calendar\r\n\r\nalternative\r\n--a--"), "alternative"},
		"an attachment by its name":             {mixed(plain, "Content-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=\"Invite.ICS\"\r\n\r\nattached"), "attached"},
		"an unknown character set":              {header + "Content-Type: text/calendar; charset=klingon\r\n\r\nBEGIN", "BEGIN"},
		"none":                                  {mixed(plain), ""},
		"within an attached mail":               {mixed(plain, "Content-Type: message/rfc822\r\n\r\nContent-Type: text/calendar\r\n\r\nforwarded"), ""},
	} {
		l, err := ReadLetter([]byte(c.raw), testLimits)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if string(l.Calendar) != c.want {
			t.Errorf("%s: calendar %q, want %q", name, l.Calendar, c.want)
		}
		if l.From != "ada@example.org" || l.Subject != "Übersicht" || l.MessageID != "<1@example.org>" || l.Automatic != "" || l.Bulk || l.Winmail {
			t.Errorf("%s: %+v", name, l)
		}
	}
	l, err := ReadLetter([]byte(mixed(plain, "Content-Type: application/ms-tnef; name=winmail.dat\r\n\r\nx")), testLimits)
	if err != nil || !l.Winmail || l.Calendar != nil {
		t.Errorf("winmail.dat: %+v, %v", l, err)
	}
	for path, want := range map[string]string{"<>": "<>", " <Ada@Example.org>": "ada@example.org", "": ""} {
		if l, err := ReadLetter([]byte("Return-Path: "+path+"\r\nReturn-Path: <eve@example.org>\r\n\r\n"), testLimits); err != nil || l.Returned != want {
			t.Errorf("Return-Path %q: %q, %v", path, l.Returned, err)
		}
	}
	l, err = ReadLetter([]byte("From: a@example.org\r\nFrom: b@example.org\r\nAuto-Submitted: auto-replied (vacation); x=y\r\nPrecedence: Bulk\r\nAuthentication-Results: one\r\nAuthentication-Results: two\r\n\r\n"), testLimits)
	if err != nil || l.From != "" || l.Automatic != "auto-replied" || !l.Bulk || fmt.Sprint(l.Results) != "[one two]" {
		t.Errorf("header: %+v, %v", l, err)
	}
}

// nested is a mail of n multiparts within each other, padded to size bytes.
func nested(n, size int) []byte {
	var b bytes.Buffer
	b.WriteString(header)
	for i := range n {
		fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n", i, i)
	}
	b.WriteString("Content-Type: text/plain\r\n\r\n")
	for b.Len() < size {
		b.WriteString("padding of a mail that is nested deeply\r\n")
	}
	for i := n - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "\r\n--b%d--\r\n", i)
	}
	return b.Bytes()
}

// TestReadLetter_bombs: a mail that exceeds a limit is refused while it is read.
func TestReadLetter_bombs(t *testing.T) {
	t.Parallel()
	parts := header + "Content-Type: multipart/mixed; boundary=b\r\n\r\n" + strings.Repeat("--b\r\n\r\nx\r\n", 101) + "--b--\r\n"
	for name, raw := range map[string][]byte{
		"3,000 levels": nested(3000, 200<<10),
		"21 levels":    nested(20, 0),
		"101 parts":    []byte(parts),
		"size":         append(nested(1, 1<<20), 'x'),
	} {
		if _, err := ReadLetter(raw, testLimits); !isComplex(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadLetter(nested(19, 0), testLimits); err != nil {
		t.Errorf("20 levels: %v", err)
	}
	if _, err := ReadLetter([]byte("Subject: "+strings.Repeat("x", maxHeader)), testLimits); err == nil {
		t.Error("a header without an end was read")
	}
}

func isComplex(err error) bool {
	_, ok := errors.AsType[*complexError](err)
	return ok
}

// BenchmarkReadLetter_nested: 200 kB with 3,000 levels.
func BenchmarkReadLetter_nested(b *testing.B) {
	raw := nested(3000, 200<<10)
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	for b.Loop() {
		if _, err := ReadLetter(raw, testLimits); !isComplex(err) {
			b.Fatal(err)
		}
		digest(raw)
	}
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	cpu := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	b.ReportMetric(float64(cpu.Microseconds())/float64(b.N), "µs-CPU/op")
}

// TestDigest: a mail that is delivered again has the same digest, and no other mail has.
func TestDigest(t *testing.T) {
	t.Parallel()
	mail := "Subject: a\r\nFrom: b\r\n\r\nReceived: in the body\r\n"
	want := digest([]byte(mail))
	for _, same := range []string{"Received: from x\r\n\tby y; now\r\n" + mail, "Return-Path: <a>\r\ndelivered-to: b\r\n" + mail} {
		if digest([]byte(same)) != want {
			t.Errorf("another digest of %q", same)
		}
	}
	for _, other := range []string{mail + "x", "Authentication-Results: z\r\n" + mail, strings.Replace(mail, "in the body", "elsewhere", 1)} {
		if digest([]byte(other)) == want {
			t.Errorf("the same digest of %q", other)
		}
	}
}

// No input makes the reader fail or exceed its limits.
func FuzzReadLetter(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.eml")
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(header + "Content-Type: text/calendar; charset=utf-16\r\nContent-Transfer-Encoding: base64\r\n\r\n/v8AQg=="))
	f.Add(nested(25, 0))
	f.Add([]byte(report("message/rfc822", ada, "Message-ID: <1@example.org>\n")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		l, _ := ReadLetter(raw, Limits{Size: 10_000, Depth: 5, Parts: 10, Events: 5})
		if len(l.Subject) > maxShown || len(l.MessageID) > maxShown || strings.ContainsAny(l.Subject+l.From+l.MessageID, "\x00\r\n") {
			t.Errorf("%+v", l)
		}
		if r := l.Report; r != nil {
			texts := r.Proof
			for _, f := range r.Failed {
				texts += f.Status + f.Diagnostic + strings.Join(f.Recipients, "")
			}
			if strings.ContainsAny(texts, "\x00\r\n") || !utf8.ValidString(texts) || len(r.Failed) > maxReported {
				t.Errorf("%+v", r)
			}
		}
		Trust{Servers: []string{"mx.example.org"}}.authenticated(l)
		digest(raw)
	})
}
