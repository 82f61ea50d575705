package caldav

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// No input makes the reader of stored events fail. What it reads stays the same when it is written, folded and read again.
func FuzzParseICS(f *testing.F) {
	f.Add("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nATTENDEE;CN=\"A;B:C\";PARTSTAT=ACCEPTED:mailto:a@example.org\r\nSUMMARY:" + strings.Repeat("Ü", 80) + "\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n")
	f.Add("begin:vcalendar\nSUMMARY:a\n b\n\tc\nX-\"Y;Z:\"=1:2\n:no name\nno colon\nend:VCALENDAR")
	f.Add("BEGIN:VCALENDAR\nEND:VEVENT\n")
	f.Add("BEGIN:VCALENDAR\n" + strings.Repeat("BEGIN:X\n", 20))
	f.Add("BEGIN:VCALENDAR\nA;=;;B=\"\"\";C:\nEND:VCALENDAR\nBEGIN:VCALENDAR\nEND:VCALENDAR")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseICS(text)
		if err != nil {
			return
		}
		written := c.String()
		for l := range strings.SplitSeq(written, "\r\n") {
			if len(l) > 75 && utf8.ValidString(text) {
				t.Errorf("a line of %d bytes: %q", len(l), l)
			}
		}
		again, err := parseICS(written)
		if err != nil {
			t.Fatalf("%v in %q", err, written)
		}
		if twice := again.String(); twice != written {
			t.Errorf("%q becomes %q", written, twice)
		}
		for _, l := range c.lines {
			for part := range splitParams(l.params) {
				name, _, _ := strings.Cut(part, "=")
				l.setParam(name, "x")
				if got := l.param(name); got != "x" {
					t.Errorf("parameter %q of %q is %q", name, l, got)
				}
			}
		}
	})
}
