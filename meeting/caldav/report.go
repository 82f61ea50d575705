package caldav

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// maxHrefs limits the objects that one calendar-multiget names.
const maxHrefs = 5_000

func (r *request) report() error {
	if _, err := r.depth(); err != nil {
		return err
	}
	body, err := r.body()
	if err != nil {
		return err
	}
	if body == nil {
		return &davError{status: http.StatusBadRequest, detail: "the body must name a report"}
	}
	inCalendar := r.place.kind == calendar
	switch {
	case body.is(calNS, "calendar-query") && inCalendar:
		return r.query(body)
	case body.is(calNS, "calendar-multiget") && (inCalendar || r.place.kind == object):
		return r.multiget(body)
	case body.is(davNS, "sync-collection") && inCalendar:
		return r.sync(body)
	case body.is(calNS, "free-busy-query") && inCalendar:
		return r.freeBusy(body)
	case body.is(davNS, "principal-property-search") && r.place.kind <= home:
		return r.search(body)
	case body.is(davNS, "principal-search-property-set") && r.place.kind <= home:
		r.xml(http.StatusOK, "<d:principal-search-property-set"+declarations+">"+
			davTag("principal-search-property", davTag("prop", davTag("displayname", ""))+`<d:description xml:lang="en">Name</d:description>`)+
			davTag("principal-search-property", davTag("prop", calTag("calendar-user-address-set", ""))+`<d:description xml:lang="en">Address</d:description>`)+
			"</d:principal-search-property-set>")
		return nil
	}
	return &davError{status: http.StatusForbidden, condition: "supported-report"}
}

// answer writes the properties of objects. Those without a text, if one was asked for, are gone.
func (r *request) answer(objects []Change, body *element, more string) error {
	ps, names := wanted(body)
	data := body.kid(davNS, "prop").kid(calNS, "calendar-data")
	var texts map[string]string
	if data != nil {
		shape, err := shapeOf(data)
		if err != nil {
			return err
		}
		if texts, err = r.texts(objects, shape); err != nil {
			return err
		}
	}
	var b strings.Builder
	b.WriteString("<d:multistatus" + declarations + ">")
	for _, o := range objects {
		n := &node{place: r.place.with(object, o.Name), etag: o.ETag}
		if data != nil {
			if n.text = texts[o.Object]; n.text == "" {
				b.WriteString(davTag("response", href(n.path())+statusTag(http.StatusNotFound)))
				continue
			}
			if data.kid(calNS, "expand") == nil && data.kid(calNS, "limit-recurrence-set") == nil {
				n.etag = etag(n.text)
			}
		}
		text, err := r.response(n, ps, names)
		if err != nil {
			return err
		}
		b.WriteString(text)
	}
	b.WriteString(more + "</d:multistatus>")
	r.xml(http.StatusMultiStatus, b.String())
	return nil
}

// shapeOf reads which dates of a series calendar-data asks for; nil: the series as it is.
func shapeOf(data *element) (func(*Entry), error) {
	expand, limit := data.kid(calNS, "expand"), data.kid(calNS, "limit-recurrence-set")
	switch {
	case expand != nil:
		span, err := rangeOf(expand, "expand")
		if err != nil {
			return nil, err
		}
		return func(e *Entry) {
			if e.Series != nil {
				e.Single, e.Series, e.Dates = e.All, nil, true
			}
			if e.Dates {
				e.Zone = "UTC"
				e.Single = slices.DeleteFunc(slices.Clone(e.Single), func(m *meeting.Meeting) bool { return !m.Slot.Overlaps(span) })
			}
		}, nil
	case limit != nil:
		span, err := rangeOf(limit, "limit-recurrence-set")
		if err != nil {
			return nil, err
		}
		return func(e *Entry) {
			if e.Series != nil {
				e.Series.Dates = slices.DeleteFunc(e.Series.Dates, func(d meeting.CalendarDate) bool {
					original := clock.Slot{Start: d.OriginalStart, End: d.OriginalStart.Add(d.Meeting.Slot.Duration())}
					return !d.Meeting.Slot.Overlaps(span) && !original.Overlaps(span)
				})
			}
		}, nil
	}
	return nil, nil
}

const utcForm = "20060102T150405Z"

// endOfTime is the end of a span without one.
var endOfTime = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// rangeOf reads the attributes start and end. A missing one is no bound.
func rangeOf(e *element, what string) (clock.Slot, error) {
	span := clock.Slot{End: endOfTime}
	var err error
	if text := e.attr["start"]; text != "" {
		span.Start, err = time.Parse(utcForm, text)
	}
	if text := e.attr["end"]; text != "" && err == nil {
		span.End, err = time.Parse(utcForm, text)
	}
	if err != nil || !span.Start.Before(span.End) {
		return span, precondition("valid-filter", what+": start and end must be like 20270210T090000Z, and start before end")
	}
	return span, nil
}

func (r *request) query(body *element) error {
	f, err := filterOf(body.kid(calNS, "filter"))
	if err != nil {
		return err
	}
	_, live, err := r.contents()
	if err != nil {
		return err
	}
	if f.none {
		live = nil
	}
	if f.span != nil && len(live) > 0 {
		members, err := r.Store.Members(r.ctx(), r.collection(), *f.span)
		if err != nil {
			return err
		}
		within := make(map[string]bool, len(members))
		for _, m := range members {
			within[m.key()] = true
		}
		live = slices.DeleteFunc(live, func(o Change) bool { return !within[o.Object] })
	}
	if f.event != nil && len(live) > 0 {
		texts, err := r.texts(live, nil)
		if err != nil {
			return err
		}
		live = slices.DeleteFunc(live, func(o Change) bool {
			c, err := parseICS(texts[o.Object])
			return err != nil || !slices.ContainsFunc(c.kidsNamed("VEVENT"), func(ev *component) bool { return f.event.matches(ev) })
		})
	}
	return r.answer(live, body, "")
}

func (r *request) multiget(body *element) error {
	var names []string
	for _, k := range body.kids {
		if k.is(davNS, "href") {
			names = append(names, k.value())
		}
	}
	if len(names) > maxHrefs {
		return &davError{status: http.StatusForbidden, condition: "number-of-matches-within-limits", detail: fmt.Sprintf("at most %d addresses", maxHrefs)}
	}
	places := make([]place, len(names))
	asked := make([]string, len(names))
	for i, address := range names {
		places[i] = parsePath(pathOf(address))
		asked[i] = places[i].name
	}
	byName, err := r.named(asked)
	if err != nil {
		return err
	}
	var found []Change
	var missing strings.Builder
	seen := map[string]bool{}
	for i, address := range names {
		p := places[i]
		o, there := byName[p.name]
		there = there && p.kind == object && p.room == r.place.room && p.id == r.place.id
		switch {
		case !there:
			missing.WriteString(davTag("response", href(address)+statusTag(http.StatusNotFound)))
		case !seen[p.name]:
			seen[p.name] = true
			found = append(found, o)
		}
	}
	return r.answer(found, body, missing.String())
}

// sync reports what changed since a token (RFC 6578).
func (r *request) sync(body *element) error {
	c := r.collection()
	l, err := r.list(r.ctx(), c)
	if err != nil {
		return err
	}
	after := int64(0)
	if token := body.kid(davNS, "sync-token").value(); token != "" {
		number, ours := strings.CutPrefix(token, tokenPrefix)
		after, err = strconv.ParseInt(number, 10, 64)
		if !ours || err != nil || after < 1 || after > l.number || after < l.oldest {
			return &davError{status: http.StatusForbidden, condition: "valid-sync-token", detail: "start over without a token"}
		}
	}
	all, err := r.Store.Changes(r.ctx(), c.key(), after)
	if err != nil {
		return err
	}
	more := davTag("sync-token", tokenPrefix+strconv.FormatInt(l.number, 10))
	var changed []Change
	var gone []string
	for _, o := range all {
		switch {
		case !o.Gone:
			changed = append(changed, o)
		case after > 0:
			gone = append(gone, o.Name)
		}
	}
	slices.Sort(gone)
	gone = slices.Compact(gone)
	there, err := r.live(c, gone) // another object may have the name
	if err != nil {
		return err
	}
	count := len(changed)
	for _, name := range gone {
		if _, ok := there[name]; !ok {
			more = davTag("response", href(r.place.with(object, name).path())+statusTag(http.StatusNotFound)) + more
			count++
		}
	}
	if most, err := strconv.Atoi(body.kid(davNS, "limit").kid(davNS, "nresults").value()); err == nil && count > most {
		return &davError{status: http.StatusForbidden, condition: "number-of-matches-within-limits"}
	}
	return r.answer(changed, body, more)
}

// search finds rooms by name or address, and the user.
func (r *request) search(body *element) error {
	type match struct{ text, kind string }
	var name, address []match
	for _, k := range body.kids {
		if !k.is(davNS, "property-search") {
			continue
		}
		m := k.kid(davNS, "match")
		if m == nil {
			return &davError{status: http.StatusBadRequest, detail: "DAV:property-search must have a DAV:match"}
		}
		one := match{strings.ToLower(m.value()), m.attr["match-type"]}
		for _, p := range k.kid(davNS, "prop").kidsOrNone() {
			switch {
			case p.is(davNS, "displayname"):
				name = append(name, one)
			case p.is(calNS, "calendar-user-address-set"), p.is(calendarServerNS, "email-address-set"):
				address = append(address, one)
			}
		}
	}
	matching := func(ms []match, text string) bool {
		text = strings.ToLower(text)
		return slices.ContainsFunc(ms, func(m match) bool {
			switch m.kind {
			case "equals":
				return text == m.text
			case "starts-with":
				return strings.HasPrefix(text, m.text)
			case "ends-with":
				return strings.HasSuffix(text, m.text)
			}
			return strings.Contains(text, m.text)
		})
	}
	anyOf := body.attr["test"] == "anyof" || len(name) == 0 || len(address) == 0
	fits := func(label, email string) bool {
		if anyOf {
			return matching(name, label) || matching(address, "mailto:"+email)
		}
		return matching(name, label) && matching(address, "mailto:"+email)
	}
	var nodes []*node
	if fits(r.by.Name, r.by.Email) {
		nodes = append(nodes, &node{place: place{kind: userPrincipal, id: r.by.ID}})
	}
	for page := (meeting.Page{Limit: 500}); len(nodes) < 200; {
		rooms, next, err := r.Meetings.Rooms(r.ctx(), meeting.RoomQuery{Viewer: &r.by}, page)
		if err != nil {
			return err
		}
		for _, room := range rooms {
			if fits(room.Name, r.address(room.ID)) {
				nodes = append(nodes, &node{place: place{kind: roomPrincipal, room: true, id: room.ID}, room: room})
			}
		}
		if page.Cursor = next; next == "" {
			break
		}
	}
	ps, names := wanted(body)
	var b strings.Builder
	b.WriteString("<d:multistatus" + declarations + ">")
	for _, n := range nodes {
		text, err := r.response(n, ps, names)
		if err != nil {
			return err
		}
		b.WriteString(text)
	}
	r.xml(http.StatusMultiStatus, b.String()+"</d:multistatus>")
	return nil
}

func (e *element) kidsOrNone() []*element {
	if e == nil {
		return nil
	}
	return e.kids
}
