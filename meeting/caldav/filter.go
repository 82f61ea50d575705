package caldav

import (
	"strings"

	"punctual/meeting/clock"
)

// filter is what a calendar-query asks for.
type filter struct {
	none  bool        // nothing can match, such as tasks
	span  *clock.Slot // nil: no bound
	event *compFilter // of events; nil: all match
}

// compFilter is a condition on a part of an iCalendar.
type compFilter struct {
	name    string
	missing bool // it must not have the part
	props   []propFilter
	comps   []compFilter
}

type propFilter struct {
	name    string
	missing bool
	match   *textMatch
	params  []paramFilter
}

type paramFilter struct {
	name    string
	missing bool
	match   *textMatch
}

type textMatch struct {
	text   string
	octet  bool // compares case, too
	negate bool
}

// filterOf reads a filter; without one everything matches.
func filterOf(e *element) (filter, error) {
	calendar := e.kid(calNS, "comp-filter")
	switch {
	case e == nil:
		return filter{}, nil
	case calendar == nil || !strings.EqualFold(calendar.attr["name"], "VCALENDAR"):
		return filter{}, precondition("valid-filter", "the filter must begin with VCALENDAR")
	}
	var f filter
	for _, k := range calendar.kids {
		if !k.is(calNS, "comp-filter") {
			continue
		}
		missing := k.kid(calNS, "is-not-defined") != nil
		if !strings.EqualFold(k.attr["name"], "VEVENT") {
			f.none = f.none || !missing
			continue
		}
		if missing {
			f.none = true
			continue
		}
		if span := k.kid(calNS, "time-range"); span != nil {
			s, err := rangeOf(span, "time-range")
			if err != nil {
				return f, err
			}
			f.span = &s
		}
		c, err := compFilterOf(k)
		if err != nil {
			return f, err
		}
		if len(c.props) > 0 || len(c.comps) > 0 {
			f.event = &c
		}
	}
	return f, nil
}

func compFilterOf(e *element) (compFilter, error) {
	c := compFilter{name: strings.ToUpper(e.attr["name"]), missing: e.kid(calNS, "is-not-defined") != nil}
	for _, k := range e.kids {
		switch {
		case k.is(calNS, "comp-filter"):
			inner, err := compFilterOf(k)
			if err != nil {
				return c, err
			}
			c.comps = append(c.comps, inner)
		case k.is(calNS, "prop-filter"):
			p := propFilter{name: strings.ToUpper(k.attr["name"]), missing: k.kid(calNS, "is-not-defined") != nil}
			var err error
			if p.match, err = textMatchOf(k); err != nil {
				return c, err
			}
			for _, q := range k.kids {
				if !q.is(calNS, "param-filter") {
					continue
				}
				param := paramFilter{name: strings.ToUpper(q.attr["name"]), missing: q.kid(calNS, "is-not-defined") != nil}
				if param.match, err = textMatchOf(q); err != nil {
					return c, err
				}
				p.params = append(p.params, param)
			}
			c.props = append(c.props, p)
		}
	}
	return c, nil
}

func textMatchOf(e *element) (*textMatch, error) {
	t := e.kid(calNS, "text-match")
	if t == nil {
		return nil, nil
	}
	m := &textMatch{text: string(t.text), negate: t.attr["negate-condition"] == "yes"}
	switch t.attr["collation"] {
	case "", "i;ascii-casemap", "i;unicode-casemap":
	case "i;octet":
		m.octet = true
	default:
		return nil, precondition("supported-collation", "collation: must be i;ascii-casemap or i;octet")
	}
	return m, nil
}

func (m *textMatch) matches(text string) bool {
	if m == nil {
		return true
	}
	want := m.text
	if !m.octet {
		text, want = strings.ToLower(text), strings.ToLower(want)
	}
	return strings.Contains(text, want) != m.negate
}

// matches reports whether a part fulfills all conditions.
func (c *compFilter) matches(part *component) bool {
	for i := range c.comps {
		inner, found := &c.comps[i], false
		for _, k := range part.kidsNamed(inner.name) {
			found = found || inner.missing || inner.matches(k)
		}
		if found == inner.missing {
			return false
		}
	}
	for i := range c.props {
		if !c.props[i].matches(part) {
			return false
		}
	}
	return true
}

func (p *propFilter) matches(part *component) bool {
	there, found := false, false
	for _, l := range part.lines {
		if l.name == p.name {
			there = true
			found = found || p.match.matches(unescape(l.value)) && p.paramsMatch(l)
		}
	}
	if p.missing {
		return !there
	}
	return found
}

func (p *propFilter) paramsMatch(l line) bool {
	for _, q := range p.params {
		value := l.param(q.name)
		if q.missing != (value == "") || !q.missing && !q.match.matches(value) {
			return false
		}
	}
	return true
}

var unescaper = strings.NewReplacer(`\n`, "\n", `\N`, "\n", `\,`, ",", `\;`, ";", `\\`, `\`)

func unescape(text string) string { return unescaper.Replace(text) }
