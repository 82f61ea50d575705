package caldav

import (
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// maxAsked limits how many people and rooms one request asks about, and maxAskedSpan for how long. Each
// askedAtOnce of them count as one search for people.
const (
	maxAsked     = 100
	maxAskedSpan = 31 * 24 * time.Hour
	askedAtOnce  = 20
)

// post answers when people and rooms are busy (RFC 6638, 5). Invitations need no message: they follow
// from stored events.
func (r *request) post() error {
	if r.place.kind != outbox || !r.Settings().Schedule {
		r.Header().Set("Allow", r.allowed())
		return &davError{status: http.StatusMethodNotAllowed}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	asked, err := parseICS(string(body))
	if err != nil {
		return precondition("valid-calendar-data", err.Error())
	}
	parts := asked.kidsNamed("VFREEBUSY")
	if method, _ := asked.first("METHOD"); len(parts) != 1 || !strings.EqualFold(method.value, "REQUEST") {
		return precondition("valid-scheduling-message", "must be a VFREEBUSY with METHOD:REQUEST")
	}
	part := parts[0]
	span := clock.Slot{}
	for name, at := range map[string]*time.Time{"DTSTART": &span.Start, "DTEND": &span.End} {
		l, _ := part.first(name)
		if *at, err = time.Parse(utcForm, l.value); err != nil {
			return precondition("valid-scheduling-message", name+": must be like 20270210T090000Z")
		}
	}
	if !span.Start.Before(span.End) || span.Duration() > maxAskedSpan {
		return precondition("valid-scheduling-message", "DTEND: must be after DTSTART and at most 31 days later")
	}
	organizer, _ := part.first("ORGANIZER")
	uid, _ := part.first("UID")
	attendees := slices.DeleteFunc(slices.Clone(part.lines), func(l line) bool { return l.name != "ATTENDEE" })
	if len(attendees) > maxAsked {
		return precondition("max-attendees-per-instance", "")
	}
	for range slices.Chunk(attendees, askedAtOnce) {
		if ok, after := r.LookUp(r.ctx(), r.by); !ok {
			r.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
			return &davError{status: http.StatusTooManyRequests, detail: "too many searches for people"}
		}
	}
	var b strings.Builder
	b.WriteString("<c:schedule-response" + declarations + ">")
	for _, a := range attendees {
		text, err := r.asked(a, organizer, uid, span)
		if err != nil {
			return err
		}
		b.WriteString(text)
	}
	r.xml(http.StatusOK, b.String()+"</c:schedule-response>")
	return nil
}

// asked returns when an attendee is busy, as a part of the response.
func (r *request) asked(a, organizer, uid line, span clock.Slot) (string, error) {
	recipient := calTag("recipient", href(a.value))
	var busy []busyTime
	known := true
	id, err := r.Server.roomOf(a.value), error(nil)
	if id == 0 {
		if id, _, err = r.byAddress(a.value); err != nil {
			return "", err
		}
	}
	if id != 0 {
		busy, err = r.busyRoom(id, span)
		if errors.Is(err, meeting.ErrNotFound) {
			known, err = false, nil
		}
	} else {
		busy, err = r.busyUser(emailOf(a.value), span)
		known = busy != nil
	}
	if err != nil {
		return "", err
	}
	if !known {
		return calTag("response", recipient+calTag("request-status", "3.7;Invalid calendar user")), nil
	}
	var head strings.Builder
	for _, l := range []line{uid, organizer, {name: "ATTENDEE", params: a.params, value: a.value}} {
		if l.name != "" {
			writeLine(&head, l.String())
		}
	}
	data := freeBusyText(head.String(), span, busy, r.Now())
	return calTag("response", recipient+calTag("request-status", "2.0;Success")+calTag("calendar-data", escape(data))), nil
}
