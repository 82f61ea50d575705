package render

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	ics "github.com/arran4/golang-ical"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"punctual/notify"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func newRenderer(t *testing.T) *Renderer {
	t.Helper()
	r, err := New(Config{BaseURL: "https://rooms.example.org/", Identity: Identity{Domain: "rooms.example.org"}, Links: Links{Decide: decide, CheckIn: checkIn, Respond: respond, Accept: accept, ChoosePassword: choosePassword, Unsubscribe: unsubscribe}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// unsubscribe is a link in digests only, so that other goldens show the mails without one.
func unsubscribe(n notify.Notification) string {
	if n.Kind != notify.DigestMail {
		return ""
	}
	return "https://rooms.example.org/choose-mails?token=digest"
}

func checkIn(n notify.Notification) string {
	return "https://rooms.example.org/check-in?token=" + n.To.Address
}

func respond(n notify.Notification) string {
	return "https://rooms.example.org/respond?token=" + n.To.Address
}

func accept(n notify.Notification) string {
	return fmt.Sprintf("https://rooms.example.org/offer?token=%d", n.Facts.WaitID)
}

func choosePassword(n notify.Notification) string {
	return "https://rooms.example.org/password#token=secret-of-" + n.Facts.LinkSeed
}

func decide(n notify.Notification) string {
	if n.Facts.Request == nil {
		return ""
	}
	return fmt.Sprintf("https://rooms.example.org/decide?token=%d", n.Facts.Request.Number)
}

// A rule is said in words only where they are few and right.
func TestRule(t *testing.T) {
	t.Parallel()
	ls, err := loadLocales(files)
	if err != nil {
		t.Fatal(err)
	}
	berlin, _ := time.LoadLocation("Europe/Berlin")
	auckland, _ := time.LoadLocation("Pacific/Auckland")
	for _, tt := range []struct{ rule, locale, want string }{
		{"FREQ=DAILY;COUNT=5", "en", "every day"},
		{"FREQ=DAILY;INTERVAL=3;COUNT=5", "en", "every 3 days"},
		{"FREQ=WEEKLY;INTERVAL=2;UNTIL=20270331T150000Z;BYDAY=MO,WE;WKST=SU", "en", "every 2 weeks on Mon, Wed"},
		{"FREQ=WEEKLY;BYDAY=MO,WE", "de", "wöchentlich am Mo, Mi"},
		{"FREQ=MONTHLY;INTERVAL=2;COUNT=4", "de", "alle 2 Monate"},
		{"FREQ=WEEKLY;BYDAY=MO,WE", "zh-CN", "每周（周一、周三）"},
		{"FREQ=YEARLY;COUNT=4", "zh-CN", "每年"},
		{"FREQ=MONTHLY;BYDAY=-1FR;COUNT=3", "en", ""},
		{"FREQ=MONTHLY;BYDAY=MO;COUNT=3", "en", ""},
		{"FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=3", "en", ""},
	} {
		v := &view{locale: ls.of(tt.locale), room: berlin, start: time.Date(2027, 2, 10, 20, 0, 0, 0, berlin)}
		v.facts.Series = &notify.Series{Rule: tt.rule}
		if got := v.rule(); got != tt.want {
			t.Errorf("%s in %s: %q, want %q", tt.rule, tt.locale, got, tt.want)
		}
		if v.start = v.start.In(auckland); v.rule() != "" {
			t.Errorf("%s: on another day of the week for the reader: %q", tt.rule, v.rule())
		}
	}
}

// What a mail reads as plain text, what one sees of its HTML and its calendar are kept for every
// scenario; the HTML itself, whose frame is the same for all, for the first of each kind in English.
func TestGolden(t *testing.T) {
	r := newRenderer(t)
	whole := map[notify.Kind]bool{}
	for _, s := range samples() {
		t.Run(s.Name, func(t *testing.T) {
			m, err := r.Mail(s.Notification, s.Now)
			if err != nil {
				t.Fatal(err)
			}
			sms, err := r.SMS(s.Notification, s.Now)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("Subject: %s\nSMS: %s\n\n%s", m.Subject, sms, m.Text)
			if m.Calendar != "" {
				got += "\n" + m.Method + "\n" + strings.ReplaceAll(m.Calendar, "\r\n", "\n")
			}
			golden(t, s.Name+".golden", got+"\n"+seen(t, m.HTML))
			if s.Notification.To.Locale == "en" && !whole[s.Notification.Kind] {
				whole[s.Notification.Kind] = true
				golden(t, s.Name+".html", m.HTML)
			}
		})
	}
}

// seen is what one reads of a page, each piece of text on a line and after a link where it leads.
func seen(t *testing.T, page string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("HTML\n")
	for n := range root.Descendants() {
		text := strings.TrimSpace(n.Data)
		if n.Type != html.TextNode || text == "" || n.Parent.Data == "style" {
			continue
		}
		b.WriteString(text)
		if n.Parent.Data == "a" {
			for _, a := range n.Parent.Attr {
				if a.Key == "href" {
					b.WriteString(" <" + a.Val + ">")
				}
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update)", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, d)
	}
}

func TestLanguages(t *testing.T) {
	ls, err := loadLocales(files)
	if err != nil {
		t.Fatal(err)
	}
	for want, tags := range map[string][]string{
		"en": {"", "en", "en-GB", "fr", "tlh", "not a language!", "*"},
		"de": {"de", "de-AT", "fr, de;q=0.5"},
		"zh": {"zh", "zh-CN", "zh_CN", "zh-Hans", "zh-TW", "zh-Hant-HK", "fr, zh;q=0.5"},
	} {
		for _, tag := range tags {
			if got := ls.of(tag).tag.String(); got != want {
				t.Errorf("language for %q is %s, want %s", tag, got, want)
			}
		}
	}
}

func TestLanguageMustBeComplete(t *testing.T) {
	_, err := loadLocales(fstest.MapFS{"templates/fr.tmpl": {Data: []byte(`{{define "date"}}{{.Year}}{{end}}`)}})
	if err == nil || !strings.Contains(err.Error(), "fr.tmpl") {
		t.Errorf("a language without most of its texts: %v", err)
	}
}

func TestReminderSaysHowLong(t *testing.T) {
	r := newRenderer(t)
	for _, c := range []struct {
		offset, left time.Duration
		want         string
	}{
		{15 * time.Minute, 15 * time.Minute, "starts in 15 minutes."},
		{15 * time.Minute, 14*time.Minute + 10*time.Second, "starts in 15 minutes."}, // a slow server
		{15 * time.Minute, 10 * time.Minute, "starts in 10 minutes."},
		{15 * time.Minute, time.Minute, "starts in 1 minute."},
		{15 * time.Minute, 20 * time.Second, "starts in 20 seconds."},
		{90 * time.Minute, 90 * time.Minute, "starts in 1 hour 30 minutes."},
		{26 * time.Hour, 26 * time.Hour, "starts in 1 day 2 hours."},
		{0, 0, "starts now."},
		{0, -20 * time.Second, "starts now."},
		{10 * time.Second, 9 * time.Second, "starts in 10 seconds."},
		{15 * time.Minute, -3 * time.Minute, "has started."},
	} {
		n := sample(notify.Reminder, "en")
		n.Facts.Before, n.Facts.Offset = "start", int64(c.offset/time.Second)
		m, err := r.Mail(n, start.Add(-c.left))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(m.Text, "Your meeting "+c.want) {
			t.Errorf("%v before, read with %v left: want %q in\n%s", c.offset, c.left, c.want, m.Text)
		}
	}
}

func TestTimesAreTheRecipients(t *testing.T) {
	r := newRenderer(t)
	overnight := start.Add(9 * time.Hour)
	for _, c := range []struct {
		name, mine, rooms string
		start             time.Time
		want, wantNot     string
	}{
		{"own zone and the room's", "America/New_York", "Asia/Kolkata", start, "04:00\u201305:00 (America/New_York, UTC-5)", ""},
		{"the room's too", "America/New_York", "Asia/Kolkata", start, "14:30\u201315:30 (Asia/Kolkata, UTC+5:30)", ""},
		{"same clock, told once", "Europe/Berlin", "Europe/Paris", start, "10:00\u201311:00 (Europe/Berlin, UTC+1)", "At the room"},
		{"no zone of one's own", "", "Asia/Shanghai", start, "17:00\u201318:00 (Asia/Shanghai, UTC+8)", "At the room"},
		{"unknown zones", "Mars/Olympus", "Local", start, "09:00\u201310:00 (UTC)", "At the room"},
		{"into the next day", "Europe/Berlin", "Europe/Berlin", start.Add(13*time.Hour + 30*time.Minute), "Thursday, February 11, 2027, 00:30", ""},
		{"another day there", "Asia/Tokyo", "UTC", overnight, "Thursday, February 11, 2027", ""},
	} {
		n := sample(notify.Invitation, "en")
		n.To.Timezone, n.Facts.Timezone = c.mine, c.rooms
		n.Facts.Start, n.Facts.End = c.start, c.start.Add(time.Hour)
		if c.name == "into the next day" {
			n.Facts.End = c.start.Add(time.Hour)
		}
		m, err := r.Mail(n, start)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(m.Text, c.want) {
			t.Errorf("%s: want %q in\n%s", c.name, c.want, m.Text)
		}
		if c.wantNot != "" && strings.Contains(m.Text, c.wantNot) {
			t.Errorf("%s: do not want %q in\n%s", c.name, c.wantNot, m.Text)
		}
	}
}

func TestHostileFacts(t *testing.T) {
	r := newRenderer(t)
	n := sample(notify.Invitation, "en")
	n.Facts.Title = "Review\r\nBcc: all@example.org <script>alert(1)</script> \u202Egnp.exe \uE000x"
	n.Facts.Rooms = []string{`<img src=x onerror="1">`}
	n.Facts.Organizer = notify.Contact{Name: "Eve\"\r\nATTENDEE:mailto:x@example.org", Email: "eve@example.org\r\nX:y"}
	n.Facts.Attendees = []notify.Contact{{Name: `Doe; John, "the: best" \o/`, Email: "doe@example.org"}}
	m, err := r.Mail(n, start)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(m.Subject, "\r\n\u202E") {
		t.Errorf("subject %q", m.Subject)
	}
	if strings.Contains(m.HTML, "<script") || strings.Contains(m.HTML, "<img") {
		t.Errorf("markup of a title or room reached the page:\n%s", m.HTML)
	}
	cal, err := ics.ParseCalendar(strings.NewReader(m.Calendar))
	if err != nil {
		t.Fatalf("%v\n%s", err, m.Calendar)
	}
	ev := cal.Events()[0]
	if got := len(ev.Attendees()); got != 1 {
		t.Errorf("%d attendees, want 1:\n%s", got, m.Calendar)
	}
	if ev.GetProperty(ics.ComponentPropertyOrganizer) != nil {
		t.Errorf("an address with a line break was used:\n%s", m.Calendar)
	}
	unfolded := strings.ReplaceAll(m.Calendar, "\r\n ", "")
	if want := `CN="Doe; John, 'the: best' \o/"`; !strings.Contains(unfolded, want) {
		t.Errorf("want %s in\n%s", want, m.Calendar)
	}
}

func TestCalendarZones(t *testing.T) {
	r := newRenderer(t)
	for _, c := range []struct {
		zone  string
		start time.Time
		want  []string
	}{
		{"UTC", start, []string{"DTSTART:20270210T090000Z", "DTEND:20270210T100000Z"}},
		{"", start, []string{"DTSTART:20270210T090000Z"}},
		{"Asia/Shanghai", start, []string{"DTSTART;TZID=Asia/Shanghai:20270210T170000", "TZID:Asia/Shanghai", "TZOFFSETTO:+0800"}},
		{"Europe/Berlin", start, []string{
			"DTSTART;TZID=Europe/Berlin:20270210T100000",
			"BEGIN:STANDARD\r\nDTSTART:20261025T030000\r\nTZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\nTZNAME:CET",
		}},
		// across the change of 28 March 2027, 01:00 UTC
		{"Europe/Berlin", time.Date(2027, 3, 28, 0, 30, 0, 0, time.UTC), []string{
			"DTSTART;TZID=Europe/Berlin:20270328T013000", "DTEND;TZID=Europe/Berlin:20270328T033000",
			"BEGIN:DAYLIGHT\r\nDTSTART:20270328T020000\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\nTZNAME:CEST",
		}},
	} {
		n := sample(notify.Invitation, "en")
		n.Facts.Timezone, n.Facts.Start, n.Facts.End = c.zone, c.start, c.start.Add(time.Hour)
		m, err := r.Mail(n, start)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(m.Calendar, want) {
				t.Errorf("%s: want %q in\n%s", c.zone, want, m.Calendar)
			}
		}
		cal, err := ics.ParseCalendar(strings.NewReader(m.Calendar))
		if err != nil {
			t.Fatal(err)
		}
		got, err := cal.Events()[0].GetStartAt()
		if err != nil || !got.Equal(c.start) {
			t.Errorf("%s: starts at %v (%v), want %v", c.zone, got, err, c.start)
		}
	}
}

func TestUnknownKinds(t *testing.T) {
	r := newRenderer(t)
	for _, n := range []notify.Notification{
		{Kind: "gossip"},
		{Kind: notify.Reminder, Facts: notify.Facts{Before: "lunch"}},
		{Kind: notify.Decision, Facts: notify.Facts{Decision: "maybe"}},
	} {
		if _, err := r.Mail(n, start); err == nil {
			t.Errorf("%s %+v was rendered", n.Kind, n.Facts)
		}
	}
}

// A guest who is invited by SMS answers by its link; other messages have none.
func TestSMS_linksToAnswer(t *testing.T) {
	r := newRenderer(t)
	for _, s := range samples() {
		s.Notification.Channel = notify.SMS
		text, err := r.SMS(s.Notification, s.Now)
		if err != nil {
			t.Fatal(err)
		}
		answers := (s.Notification.Kind == notify.Invitation || s.Notification.Kind == notify.Change) && !strings.Contains(s.Name, "ends")
		if got := strings.Contains(text, " https://rooms.example.org/respond?token="); got != answers {
			t.Errorf("%s: %s", s.Name, text)
		}
	}
}

func TestShortMessagesAreShort(t *testing.T) {
	r := newRenderer(t)
	for _, s := range samples() {
		s.Notification.Facts.Title = strings.Repeat("长", 300)
		got, err := r.SMS(s.Notification, s.Now)
		if err != nil {
			t.Fatal(err)
		}
		if n := len([]rune(got)); n > 134 || strings.Contains(got, "\n") { // two parts of UCS-2
			t.Errorf("%s: %d characters: %s", s.Name, n, got)
		}
	}
}

func TestBaseURL(t *testing.T) {
	for _, u := range []string{"rooms.example.org", "ftp://x", "http://", "javascript:alert(1)", ":"} {
		if _, err := New(Config{BaseURL: u}); err == nil {
			t.Errorf("base URL %q was taken", u)
		}
	}
	r, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.Mail(sample(notify.Invitation, "en"), start)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(m.HTML, "<a ") || strings.Contains(m.Text, "View meeting") {
		t.Error("a link without a base URL")
	}
}

// Small text is read by everybody at a contrast of 4.5 (WCAG AA).
func TestColorsContrast(t *testing.T) {
	for name, a := range accents {
		for _, pair := range [][2]string{{"#ffffff", a.Bar}, {a.Ink, a.Tint}, {a.DarkInk, a.DarkTint}} {
			if c := contrast(t, pair[0], pair[1]); c < 4.5 {
				t.Errorf("%s: %s on %s has a contrast of %.1f", name, pair[0], pair[1], c)
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	light, dark := luminance(t, a), luminance(t, b)
	return (max(light, dark) + 0.05) / (min(light, dark) + 0.05)
}

func luminance(t *testing.T, colour string) (sum float64) {
	t.Helper()
	var rgb [3]uint8
	if _, err := fmt.Sscanf(colour, "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2]); err != nil {
		t.Fatalf("%s: %v", colour, err)
	}
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		c := float64(rgb[i]) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
