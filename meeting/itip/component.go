package itip

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Component is one VEVENT of a calendar as it was received.
type Component struct {
	Event *Event
	Text  string // a calendar of its own: the event and the time zones that it names
}

// Components returns the events of a calendar with the same UID, the newest of each date. The calendar
// must be the result of reading ics.
func (c *Calendar) Components(ics []byte, uid string) []Component {
	events, zones := blocks(ics)
	var found []Component
	for _, o := range c.Objects {
		if o.UID != uid {
			continue
		}
		all := slices.Clone(o.Overrides)
		if o.Master != nil {
			all = append([]*Event{o.Master}, all...)
		}
		for _, e := range all {
			text, ok := events[e.Line]
			if !ok {
				continue
			}
			var b strings.Builder
			b.WriteString("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//punctual//scheduling//EN\r\n")
			for _, z := range zones {
				if bytes.Contains(text, []byte(z.tzid)) {
					b.Write(z.text)
				}
			}
			if c.zone != "" {
				b.WriteString("X-WR-TIMEZONE:" + c.zone + "\r\n")
			}
			if c.Method == "ADD" {
				text = identified(text)
			}
			b.Write(text)
			b.WriteString("END:VCALENDAR\r\n")
			found = append(found, Component{e, b.String()})
		}
	}
	return found
}

// identified gives the event that adds a date the ID by which later messages know the date.
func identified(event []byte) []byte {
	all := unfold(string(event))
	at := slices.IndexFunc(all, func(line string) bool { return nameOf(line) == "DTSTART" })
	if at < 0 || slices.ContainsFunc(all, func(line string) bool { return nameOf(line) == "RECURRENCE-ID" || nameOf(line) == "RRULE" }) {
		return event
	}
	var b bytes.Buffer
	for i, line := range all {
		if b.WriteString(fold(line)); i == at {
			b.WriteString(fold("RECURRENCE-ID" + line[len("DTSTART"):]))
		}
	}
	return b.Bytes()
}

type zoneBlock struct {
	tzid string
	text []byte
}

// left are properties that are not kept: they are large, and nothing reads them.
var left = []string{"ATTACH", "X-ALT-DESC", "X-MICROSOFT-LOCATIONS", "IMAGE", "CONFERENCE"}

// blocks returns the lines of each event, by the number of its first line, and of each time zone, with
// \r\n at the end of each line. Alarms are left out.
func blocks(ics []byte) (events map[int][]byte, zones []zoneBlock) {
	events = map[int][]byte{}
	var inside, skipped string
	var begin int
	var text bytes.Buffer
	var tzid string
	drop := false
	for i, line := range bytes.Split(bytes.TrimPrefix(ics, []byte("\xef\xbb\xbf")), []byte("\n")) {
		line = bytes.TrimRight(line, "\r")
		name, _, _ := bytes.Cut(line, []byte(":"))
		folded := len(line) > 0 && (line[0] == ' ' || line[0] == '\t')
		upper := strings.ToUpper(strings.TrimSpace(string(line)))
		switch {
		case inside == "" && (upper == "BEGIN:VEVENT" || upper == "BEGIN:VTIMEZONE"):
			inside, begin, tzid, drop = strings.TrimPrefix(upper, "BEGIN:"), i+1, "", false
			text.Reset()
		case inside == "":
			continue
		case skipped != "":
			if upper == "END:"+skipped {
				skipped = ""
			}
			continue
		case inside == "VEVENT" && !folded && strings.HasPrefix(upper, "BEGIN:"):
			skipped = strings.TrimPrefix(upper, "BEGIN:")
			continue
		case folded && drop:
			continue
		case !folded && inside == "VEVENT":
			key, _, _ := strings.Cut(strings.ToUpper(string(name)), ";")
			if drop = slices.Contains(left, key); drop {
				continue
			}
		case !folded && inside == "VTIMEZONE" && strings.HasPrefix(upper, "TZID"):
			_, value, _ := bytes.Cut(line, []byte(":"))
			tzid = strings.TrimSpace(string(value))
		}
		if len(line) == 0 {
			continue
		}
		text.Write(line)
		text.WriteString("\r\n")
		if upper == "END:"+inside {
			if inside == "VEVENT" {
				events[begin] = bytes.Clone(text.Bytes())
			} else if tzid != "" {
				zones = append(zones, zoneBlock{tzid, bytes.Clone(text.Bytes())})
			}
			inside = ""
		}
	}
	return events, zones
}

// Pattern returns when the event of a [Component] takes place, as text: two versions with the same text
// take place at the same times. Excluded dates are not part of it.
func Pattern(component string) string {
	var all []string
	for _, p := range unfold(section(component, "VEVENT")) {
		switch nameOf(p) {
		case "DTSTART", "DTEND", "DURATION", "RRULE", "RDATE":
			all = append(all, p)
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// Key identifies a date of a series whatever zone it is given in: in UTC, such as 20270210T090000Z. A
// whole day, or a floating time, is kept as it is.
func (t Time) Key() string {
	switch {
	case t.Day:
		return t.Wall.Format("20060102")
	case t.Zone == nil:
		return t.Wall.Format("20060102T150405")
	default:
		return t.In(time.UTC).UTC().Format("20060102T150405Z")
	}
}

// Answer is what an invited attendee says about an event.
type Answer struct {
	Email, Name string
	Status      string // PARTSTAT
	Comment     string
	Stamp       time.Time

	// Proposed is another time and place, for [Counter].
	Proposed *Date
	Location string

	// Date of the series that is answered, if the component is the whole series; nil: all that the
	// component is about.
	Date *Date
}

// Date is one date of a series.
type Date struct{ Start, End time.Time }

// Reply returns a calendar with METHOD:REPLY that answers a [Component]. Its ID, organizer, sequence and
// times are those of the component, in the same form.
func Reply(component string, a Answer) string { return answer("REPLY", component, a) }

// Counter returns a calendar with METHOD:COUNTER that proposes another time, which Outlook compares with the original
// one. The component takes place once.
func Counter(component string, a Answer) string { return answer("COUNTER", component, a) }

func answer(method, component string, a Answer) string {
	var event []string
	zones := section(component, "VTIMEZONE")
	for _, p := range unfold(section(component, "VEVENT")) {
		switch nameOf(p) {
		case "UID", "SEQUENCE", "ORGANIZER", "SUMMARY":
			event = append(event, p)
		case "DTSTART", "DTEND":
			if a.Date != nil {
				at := a.Date.Start
				if nameOf(p) == "DTEND" {
					at = a.Date.End
				}
				if nameOf(p) == "DTSTART" {
					event = append(event, "RECURRENCE-ID"+strings.TrimPrefix(like(p, a.Date.Start), "DTSTART"))
				}
				p = like(p, at)
			}
			if a.Proposed != nil {
				event = append(event, "X-MS-OLK-ORIGINAL"+strings.TrimPrefix(strings.ToUpper(nameOf(p)), "DT")+p[len(nameOf(p)):])
				at := a.Proposed.Start
				if nameOf(p) == "DTEND" {
					at = a.Proposed.End
				}
				p = like(p, at)
			}
			event = append(event, p)
		case "DURATION":
			event = append(event, p)
		case "RECURRENCE-ID":
			event = append(event, p)
		}
	}
	var b strings.Builder
	b.WriteString("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//punctual//scheduling//EN\r\nMETHOD:" + method + "\r\n")
	b.WriteString(zones)
	b.WriteString("BEGIN:VEVENT\r\n")
	for _, p := range event {
		b.WriteString(fold(p))
	}
	b.WriteString("DTSTAMP:" + a.Stamp.UTC().Format("20060102T150405Z") + "\r\n")
	b.WriteString(fold(fmt.Sprintf("ATTENDEE;CN=%s;CUTYPE=ROOM;PARTSTAT=%s:mailto:%s", quoted(a.Name), a.Status, a.Email)))
	if a.Comment != "" {
		b.WriteString(fold("COMMENT:" + escape(a.Comment)))
	}
	if a.Location != "" {
		b.WriteString(fold("LOCATION:" + escape(a.Location)))
	}
	b.WriteString("END:VEVENT\r\nEND:VCALENDAR\r\n")
	return b.String()
}

// section returns the components with a name, as they are.
func section(ics, name string) string {
	var b strings.Builder
	in := false
	for line := range strings.Lines(ics) {
		upper := strings.ToUpper(strings.TrimSpace(line))
		if upper == "BEGIN:"+name {
			in = true
		}
		if in {
			b.WriteString(line)
		}
		if upper == "END:"+name {
			in = false
		}
	}
	return b.String()
}

// like writes an instant in the form of a property: a whole day, in UTC, or by the clocks of its zone.
func like(p string, at time.Time) string {
	parsed := parseProperty([]byte(p))
	head := p[:len(p)-len(parsed.value)]
	value := strings.TrimSpace(parsed.value)
	switch {
	case len(value) == len("20060102"):
		return head + at.Format("20060102")
	case strings.HasSuffix(value, "Z"):
		return head + at.UTC().Format("20060102T150405Z")
	default:
		return head + at.Format("20060102T150405")
	}
}

func unfold(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if len(lines) > 0 && len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
			lines[len(lines)-1] += line[1:]
		} else if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func nameOf(line string) string {
	end := strings.IndexAny(line, ";:")
	if end < 0 {
		return ""
	}
	return strings.ToUpper(line[:end])
}

// fold breaks a content line after at most 75 bytes, between characters.
func fold(line string) string {
	var b strings.Builder
	length := 0
	for _, r := range line {
		n := len(string(r))
		if length+n > 75 {
			b.WriteString("\r\n ")
			length = 1
		}
		b.WriteRune(r)
		length += n
	}
	return b.String() + "\r\n"
}

func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r\n", `\n`, "\n", `\n`).Replace(text)
}

// quoted is a parameter value (RFC 6868).
func quoted(text string) string {
	return `"` + strings.NewReplacer("^", "^^", "\n", "^n", `"`, "^'").Replace(text) + `"`
}
