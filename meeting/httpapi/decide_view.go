package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"punctual/meeting"
)

// decideView is what the page shows.
type decideView struct {
	*words
	Words    *words
	State    string // of the link, or unknown, limited, failed
	Tag      string
	Headline string
	Lead     string
	Tone     string // ask, good, bad, calm
	Rows     []decideRow
	Fault    string
	Token    string // empty: there is nothing to decide
	Choice   string // approve, reject or empty
	Comment  string
}

type decideRow struct {
	Label string
	Lines []string
}

// notice is a page about no meeting.
func notice(w *words, state string) *decideView {
	s := w.States[state]
	return &decideView{words: w, Words: w, State: state, Tag: s.Tag, Headline: s.Tag, Lead: s.Lead, Tone: "calm"}
}

func viewOf(l *meeting.Linked, token string) *decideView {
	w := wordsFor(l.Reader.Locale)
	zone, err := meeting.Zone(cmp.Or(l.Reader.Timezone, l.Meeting.Timezone))
	if err != nil {
		zone = time.UTC
	}
	v := &decideView{words: w, Words: w, State: string(l.State), Headline: l.Meeting.Title}
	v.tellState(l, zone)
	if l.State == meeting.LinkOpen {
		v.Token = token
	}
	v.addRows(l, zone)
	return v
}

// tellState says what became of the request.
func (v *decideView) tellState(l *meeting.Linked, zone *time.Location) {
	state, who, when := string(l.State), "", ""
	if d := l.Verdict; d != nil {
		who, when = d.Name, v.Words.moment(d.At, zone)
	}
	switch v.Tone = "calm"; l.State {
	case meeting.LinkOpen:
		v.Tone = "ask"
		if r := l.Meeting.Request; r != nil && r.Change != nil {
			state = "move"
		}
		if len(l.Dates) > 0 {
			state = "series"
			if r := l.Meeting.Request; r != nil && r.Change != nil {
				state = "series-move"
			}
		}
		who = cmp.Or(l.Meeting.Organizer.Name, l.Meeting.Organizer.Email)
	case meeting.LinkAgreed:
		v.Tone = "good"
		if r := l.Meeting.Request; r != nil && len(r.Agreed) > 0 {
			a := r.Agreed[len(r.Agreed)-1]
			if own := slices.IndexFunc(r.Agreed, func(a meeting.Agreement) bool { return a.UserID == l.Reader.UserID }); own >= 0 {
				a = r.Agreed[own]
			}
			who, when = a.Name, v.Words.moment(a.At, zone)
		}
	case meeting.LinkWithdrawn:
		if l.Verdict != nil && l.Meeting.Status == meeting.Cancelled {
			state = "cancelled"
		}
	case meeting.LinkDecided:
		state, v.Tone = "approved", "good"
		if l.Verdict.Decision == meeting.Rejected {
			state, v.Tone = "rejected", "bad"
		}
		if l.Verdict.Reason == meeting.ReasonTimeout {
			state = "approved-by-timeout"
		}
	}
	s := v.Words.States[state]
	v.Tag, v.Lead = s.Tag, strings.NewReplacer("{who}", who, "{when}", when, "{n}", strconv.Itoa(len(l.Dates))).Replace(s.Lead)
}

func (v *decideView) addRows(l *meeting.Linked, zone *time.Location) {
	m, w := l.Meeting, v.Words
	add := func(label string, lines ...string) {
		if len(lines) > 0 && lines[0] != "" {
			v.Rows = append(v.Rows, decideRow{w.Labels[label], lines})
		}
	}
	add("when", w.slot(m.Slot, zone))
	add("dates", w.dates(l.Dates, zone)...)
	add("where", strings.Join(m.RoomNames, w.Comma))
	if r := m.Request; r != nil {
		if c := r.Change; c != nil {
			add("instead", w.slot(c.Slot, zone), strings.Join(c.RoomNames, w.Comma))
		}
		add("yours", strings.Join(l.Part, w.Comma))
		add("deadline", w.moment(r.Deadline, zone))
		var agreed []string
		for _, a := range r.Agreed {
			if !slices.Contains(agreed, a.Name) {
				agreed = append(agreed, a.Name)
			}
		}
		add("agreed", strings.Join(agreed, w.Comma))
	}
	add("organizer", cmp.Or(m.Organizer.Name, m.Organizer.Email))
	if d := l.Verdict; d != nil && l.State == meeting.LinkDecided && d.Reason != meeting.ReasonTimeout {
		add("comment", strings.Split(d.Reason, "\n")...)
	}
	add("description", strings.Split(m.Description, "\n")...)
}

// tellFault says what kept a decision from being made, and with which status to answer; 0: it
// is nothing of which a reader knows.
func (v *decideView) tellFault(err error) int {
	if _, ok := errors.AsType[*meeting.ConflictError](err); ok {
		v.Fault = v.Words.Taken
		return http.StatusConflict
	}
	if e, ok := errors.AsType[*meeting.PolicyError](err); ok {
		v.Fault = v.Words.Rules
		for _, f := range e.Violations {
			v.Fault += " " + f.Message + "."
		}
		return http.StatusUnprocessableEntity
	}
	if _, ok := errors.AsType[*meeting.InvalidError](err); ok {
		v.Fault = v.Words.TooLong
		return http.StatusUnprocessableEntity
	}
	return 0
}

func (w *words) slot(s meeting.Slot, zone *time.Location) string {
	start, end := s.Start.In(zone), s.End.In(zone)
	if start.YearDay() == end.YearDay() && start.Year() == end.Year() {
		return fmt.Sprintf("%s%s%s–%s (%s)", w.date(start), w.Space, start.Format("15:04"), end.Format("15:04"), zone)
	}
	return fmt.Sprintf("%s%s%s – %s%s%s (%s)", w.date(start), w.Space, start.Format("15:04"), w.date(end), w.Space, end.Format("15:04"), zone)
}

// shownDates of a series are listed, and the last.
const shownDates = 6

// dates of a series: how many there are, the first of them, and the last.
func (w *words) dates(dates []meeting.Slot, zone *time.Location) []string {
	if len(dates) == 0 {
		return nil
	}
	lines := []string{strings.ReplaceAll(w.Dates, "{n}", strconv.Itoa(len(dates)))}
	line := func(s meeting.Slot) string {
		return w.date(s.Start.In(zone)) + w.Space + s.Start.In(zone).Format("15:04")
	}
	for _, s := range dates[:min(shownDates, len(dates))] {
		lines = append(lines, line(s))
	}
	if len(dates) > shownDates {
		lines = append(lines, strings.ReplaceAll(w.Last, "{when}", line(dates[len(dates)-1])))
	}
	return lines
}

func (w *words) moment(t time.Time, zone *time.Location) string {
	t = t.In(zone)
	return fmt.Sprintf("%s%s%s (%s)", w.date(t), w.Space, t.Format("15:04"), zone)
}

func (w *words) date(t time.Time) string {
	day := w.Weekdays[t.Weekday()]
	switch w.Lang {
	case "zh-CN":
		return fmt.Sprintf("%d年%d月%d日 %s", t.Year(), t.Month(), t.Day(), day)
	case "de":
		return fmt.Sprintf("%s, %d.%d.%d", day, t.Day(), t.Month(), t.Year())
	default:
		return day + ", " + t.Format("2 Jan 2006")
	}
}
