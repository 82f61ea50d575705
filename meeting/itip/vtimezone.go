package itip

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"punctual/meeting/recurrence"
)

// description is a VTIMEZONE.
type description struct {
	location    string // X-LIC-LOCATION: an IANA name
	observances []observance
}

// observance is the standard time or the summer time of a zone, and when it begins.
type observance struct {
	starts   []time.Time // by the clocks before, as times in UTC
	rule     *recurrence.Rule
	until    time.Time // an instant; zero: the rule never ends
	from, to int       // offsets before and after, in seconds
	summer   bool
	err      error
}

func (z *zones) describe(properties []*property, observances []observance) {
	d := &description{observances: observances}
	tzid := ""
	for _, p := range properties {
		switch p.name {
		case "TZID":
			tzid = strings.TrimSpace(unescape(p.value))
		case "X-LIC-LOCATION":
			d.location = strings.TrimSpace(p.value)
		}
	}
	z.described[tzid] = d
}

func newObservance(properties []*property) (o observance) {
	begin := ""
	offsets := 0
	for _, p := range properties {
		value := strings.ToUpper(strings.TrimSpace(p.value))
		var err error
		switch p.name {
		case "DTSTART":
			begin = value
		case "TZOFFSETFROM":
			o.from, err = parseOffset(value)
			offsets++
		case "TZOFFSETTO":
			o.to, err = parseOffset(value)
			offsets++
		case "RDATE":
			for text := range strings.SplitSeq(value, ",") {
				var t time.Time
				t, err = time.Parse("20060102T150405", strings.TrimSuffix(text, "Z"))
				o.starts = append(o.starts, t)
			}
		case "RRULE":
			err = o.parseRule(value)
		}
		o.err = cmp.Or(o.err, err)
	}
	first, err := time.Parse("20060102T150405", begin)
	o.starts = append([]time.Time{first}, o.starts...)
	o.summer = o.to > o.from
	if o.err = cmp.Or(o.err, err); o.err == nil && offsets < 2 {
		o.err = errNoRules
	}
	return o
}

// parseRule takes the end out of the rule: the years that matter bound it.
func (o *observance) parseRule(text string) error {
	var parts []string
	for part := range strings.SplitSeq(text, ";") {
		switch name, value, _ := strings.Cut(part, "="); name {
		case "UNTIL":
			layout := "20060102T150405Z"
			if len(value) == len("20060102") {
				layout = "20060102"
			}
			at, err := time.Parse(layout, value)
			if err != nil {
				return err
			}
			o.until = at
		case "COUNT", "":
			// none in time zones
		default:
			parts = append(parts, part)
		}
	}
	rule, faults := recurrence.ParseRule(strings.Join(append(parts, "UNTIL=99991231"), ";"))
	if len(faults) > 0 {
		return errors.New("RRULE: " + faults[0].Message)
	}
	if !strings.Contains(text, "FREQ=YEARLY") {
		return errors.New("RRULE: must be FREQ=YEARLY")
	}
	o.rule = rule
	return nil
}

// parseOffset reads an offset such as +0100 or -053000, in seconds.
func parseOffset(value string) (int, error) {
	digits := strings.ReplaceAll(strings.TrimLeft(value, "+-"), ":", "")
	n, err := strconv.Atoi(digits)
	if err != nil || len(digits) != 4 && len(digits) != 6 || len(value) == len(digits) {
		return 0, errors.New("an offset must be like +0100, not " + strconv.Quote(cut(value)))
	}
	if len(digits) == 4 {
		n *= 100
	}
	seconds := n/10000*3600 + n/100%100*60 + n%100
	if seconds >= 24*3600 || n/100%100 > 59 || n%100 > 59 {
		return 0, errors.New("an offset must be less than a day, not " + strconv.Quote(cut(value)))
	}
	if value[0] == '-' {
		seconds = -seconds
	}
	return seconds, nil
}

// observedYears is how far the rules of a zone are followed: longer than anything is booked ahead.
const observedYears = 60

// change is an instant at which clocks change.
type change struct {
	at int64 // in seconds since 1970
	observance
}

// changes are the last one before a year, and those after it. Outlook's rules begin in 1601, so only the
// years that matter are looked at.
func (d *description) changes(year int) ([]change, error) {
	from := time.Date(year-2, 1, 1, 0, 0, 0, 0, time.UTC)
	to := from.AddDate(observedYears, 0, 0)
	var all []change
	for _, o := range d.observances {
		if o.err != nil {
			return nil, o.err
		}
		starts := o.starts
		if o.rule != nil {
			starts = append(slices.Clone(starts), o.rule.Between(o.starts[0], from, to)...)
			slices.SortFunc(starts, time.Time.Compare)
			starts = slices.Compact(starts)
		}
		for _, wall := range starts {
			at := wall.Add(-time.Duration(o.from) * time.Second)
			if (o.until.IsZero() || !at.After(o.until)) && at.Before(to) {
				all = append(all, change{at.Unix(), o})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	if len(all) == 0 {
		return nil, errNoRules
	}
	return all, nil
}

// load returns a location with the rules as they hold around a year.
func (d *description) load(name string, year int) (*time.Location, error) {
	all, err := d.changes(year)
	if err != nil {
		return nil, err
	}
	return time.LoadLocationFromTZData(cut(name), tzData(all))
}

// tzData encodes changes in the format of zone files (RFC 8536, version 2).
func tzData(all []change) []byte {
	type kind struct {
		offset int
		summer bool
	}
	kinds := []kind{{all[0].from, false}} // before the first change
	var times, of bytes.Buffer
	for _, c := range all {
		k := kind{c.to, c.summer}
		at := slices.Index(kinds, k)
		if at < 0 {
			if at = len(kinds); at > 255 {
				break
			}
			kinds = append(kinds, k)
		}
		binary.Write(&times, binary.BigEndian, c.at)
		of.WriteByte(byte(at))
	}
	var out bytes.Buffer
	header := func(times, kinds, letters int) {
		out.WriteString("TZif2" + strings.Repeat("\x00", 15))
		for _, n := range []int{0, 0, 0, times, kinds, letters} {
			binary.Write(&out, binary.BigEndian, uint32(n))
		}
	}
	header(0, 1, 1) // the part of version 1, which readers skip
	out.WriteString("\x00\x00\x00\x00\x00\x00\x00")
	header(of.Len(), len(kinds), 1)
	out.Write(times.Bytes())
	out.Write(of.Bytes())
	for _, k := range kinds {
		binary.Write(&out, binary.BigEndian, int32(k.offset))
		summer := byte(0)
		if k.summer {
			summer = 1
		}
		out.Write([]byte{summer, 0})
	}
	out.WriteString("\x00\n\n") // no names, no rule for the time after
	return out.Bytes()
}
