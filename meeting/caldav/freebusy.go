package caldav

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"punctual/meeting/clock"
)

// maxFreeBusy is the longest span that programs can ask about.
const maxFreeBusy = 366 * 24 * time.Hour

// freeBusy answers with the busy times of a calendar.
func (r *request) freeBusy(body *element) error {
	span := body.kid(calNS, "time-range")
	if span == nil {
		return &davError{status: http.StatusBadRequest, detail: "time-range is missing"}
	}
	s, err := rangeOf(span, "time-range")
	if err != nil {
		return err
	}
	s = r.bounded(s)
	var busy []busyTime
	if r.place.room {
		busy, err = r.busyRoom(r.place.id, s)
	} else {
		busy, err = r.busyUser(r.by.Email, s)
	}
	if err != nil {
		return err
	}
	text := freeBusyText("", s, busy, r.Now())
	r.Header().Set("Content-Type", "text/calendar; charset=utf-8")
	_, _ = io.WriteString(r.ResponseWriter, text)
	return nil
}

// busyTime is a time at which a person or a room is busy.
type busyTime struct {
	clock.Slot
	kind string // FBTYPE
}

// bounded is a span that is short enough.
func (s *Server) bounded(span clock.Slot) clock.Slot {
	if now := s.Now(); span.Start.IsZero() {
		span.Start = now
	}
	span.End = clock.Earlier(span.End, span.Start.Add(maxFreeBusy))
	return span
}

func (r *request) busyRoom(id int64, span clock.Slot) ([]busyTime, error) {
	times, err := r.Meetings.FreeBusy(r.ctx(), r.by, id, span)
	if err != nil {
		return nil, err
	}
	var busy []busyTime
	for _, t := range times {
		b := busyTime{t.Slot, "BUSY"}
		switch {
		case t.Blackout != nil:
			b.kind = "BUSY-UNAVAILABLE"
		case t.Meeting != nil && t.Meeting.Status == "pending":
			b.kind = "BUSY-TENTATIVE"
		}
		busy = append(busy, b)
	}
	return busy, nil
}

// busyUser returns when a user is busy; nil for a stranger.
func (r *request) busyUser(email string, span clock.Slot) ([]busyTime, error) {
	found, err := r.Busy(r.ctx(), []string{email}, span)
	if err != nil {
		return nil, err
	}
	slots, known := found[strings.ToLower(email)]
	if !known {
		return nil, nil
	}
	slices.SortFunc(slots, func(a, b clock.Slot) int { return a.Start.Compare(b.Start) })
	busy := []busyTime{}
	for _, s := range slots { // not how many meetings there are
		if n := len(busy); n > 0 && !s.Start.After(busy[n-1].End) {
			busy[n-1].End = clock.Later(busy[n-1].End, s.End)
			continue
		}
		busy = append(busy, busyTime{s, "BUSY"})
	}
	return busy, nil
}

// freeBusyText returns an iCalendar with busy times. head are further lines of VFREEBUSY.
func freeBusyText(head string, span clock.Slot, busy []busyTime, now time.Time) string {
	busy = slices.Clone(busy)
	slices.SortStableFunc(busy, func(a, b busyTime) int { return a.Start.Compare(b.Start) })
	var b strings.Builder
	method := ""
	if head != "" {
		method = "METHOD:REPLY\r\n"
	}
	b.WriteString("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Punctual//Punctual//EN\r\n" + method + "BEGIN:VFREEBUSY\r\n" + head)
	writeLine(&b, "DTSTAMP:"+now.UTC().Format(utcForm))
	writeLine(&b, "DTSTART:"+span.Start.UTC().Format(utcForm))
	writeLine(&b, "DTEND:"+span.End.UTC().Format(utcForm))
	for _, t := range busy {
		from, to := clock.Later(t.Start, span.Start), clock.Earlier(t.End, span.End)
		if from.Before(to) {
			writeLine(&b, "FREEBUSY;FBTYPE="+t.kind+":"+from.UTC().Format(utcForm)+"/"+to.UTC().Format(utcForm))
		}
	}
	b.WriteString("END:VFREEBUSY\r\nEND:VCALENDAR\r\n")
	return b.String()
}
