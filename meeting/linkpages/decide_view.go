package linkpages

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
	"punctual/meeting/clock"
)

func viewOf(l *meeting.Linked, token, choice string) *view {
	w, zone := wordsFor(l.Reader.Locale), readerZone(l.Reader.Timezone, l.Meeting.Timezone)
	v := &view{Lang: w.Lang, Headline: l.Meeting.Title, Action: decidePath}
	v.setRequestState(w, l, zone)
	if l.State == meeting.LinkOpen {
		v.Token, v.Remark, v.Optional = token, w.Comment, w.Decide.Optional
		v.Confirm = w.Decide.Confirm[choice]
		first, second := "approve", "reject"
		if choice == "reject" {
			first, second = second, first
		}
		v.Choices = []option{{Value: first, Label: w.Decide.Buttons[first], Class: first}, {Value: second, Label: w.Decide.Buttons[second], Class: second + " quiet"}}
	}
	v.addRows(w, l, zone)
	return v
}

func (v *view) setRequestState(w *words, l *meeting.Linked, zone *time.Location) {
	state, who, when := string(l.State), "", ""
	if d := l.Decision; d != nil {
		who, when = w.withRepresented(d.Name, d.For), w.moment(d.At, zone)
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
			who, when = w.withRepresented(a.Name, a.For), w.moment(a.At, zone)
		}
	case meeting.LinkWithdrawn:
		if l.Decision != nil && l.Meeting.Status == meeting.Cancelled {
			state = "cancelled"
		}
	case meeting.LinkDecided:
		state, v.Tone = "approved", "good"
		if l.Decision.Result == meeting.Rejected {
			state, v.Tone = "rejected", "bad"
		}
		if l.Decision.Reason == meeting.ReasonTimeout {
			state = "approved-by-timeout"
		}
	}
	v.setState(w.Decide.States[state], "{who}", who, "{when}", when, "{n}", strconv.Itoa(len(l.Dates)))
}

func (v *view) addRows(w *words, l *meeting.Linked, zone *time.Location) {
	m := l.Meeting
	v.add(w.Labels["when"], w.slot(m.Slot, zone))
	v.add(w.Labels["dates"], w.dates(l.Dates, zone)...)
	v.add(w.Labels["where"], strings.Join(m.RoomNames, w.Comma))
	if r := m.Request; r != nil {
		if c := r.Change; c != nil {
			v.add(w.Labels["instead"], w.slot(c.Slot, zone), strings.Join(c.RoomNames, w.Comma))
		}
		v.add(w.Labels["yours"], strings.Join(l.Part, w.Comma))
		v.add(w.Labels["deadline"], w.moment(r.Deadline, zone))
		var agreed []string
		for _, a := range r.Agreed {
			if who := w.withRepresented(a.Name, a.For); !slices.Contains(agreed, who) {
				agreed = append(agreed, who)
			}
		}
		v.add(w.Labels["agreed"], strings.Join(agreed, w.Comma))
	}
	v.add(w.Labels["organizer"], cmp.Or(m.Organizer.Name, m.Organizer.Email))
	if d := l.Decision; d != nil && l.State == meeting.LinkDecided && d.Reason != meeting.ReasonTimeout {
		v.add(w.Labels["comment"], strings.Split(d.Reason, "\n")...)
	}
	v.add(w.Labels["description"], strings.Split(m.Description, "\n")...)
}

// setFault sets the fault that prevented a decision and returns the HTTP status. It returns 0 for
// errors that it has no text for. For a conflict, it lists the times in the given zone.
func (v *view) setFault(w *words, zone *time.Location, err error) int {
	if e, ok := errors.AsType[*meeting.ConflictError](err); ok {
		v.Fault = w.Taken
		for i, o := range e.Conflicts {
			if i == shownDates {
				v.Fault += " …"
				break
			}
			v.Fault += " " + w.slot(o.Slot, zone) + "."
		}
		return http.StatusConflict
	}
	if e, ok := errors.AsType[*meeting.PolicyError](err); ok {
		v.setViolations(w, e)
		return http.StatusUnprocessableEntity
	}
	if _, ok := errors.AsType[*meeting.InvalidError](err); ok {
		v.Fault = w.TooLong
		return http.StatusUnprocessableEntity
	}
	return 0
}

func (w *words) withRepresented(name string, people []meeting.Represented) string {
	if len(people) == 0 {
		return name
	}
	var names []string
	for _, p := range people {
		names = append(names, p.Name)
	}
	return strings.NewReplacer("{who}", name, "{whom}", strings.Join(names, w.Comma)).Replace(w.OnBehalf)
}

func (w *words) slot(s clock.Slot, zone *time.Location) string {
	start, end := s.Start.In(zone), s.End.In(zone)
	if start.YearDay() == end.YearDay() && start.Year() == end.Year() {
		return fmt.Sprintf("%s%s%s–%s (%s)", w.date(start), w.Space, start.Format("15:04"), end.Format("15:04"), zone)
	}
	return fmt.Sprintf("%s%s%s – %s%s%s (%s)", w.date(start), w.Space, start.Format("15:04"), w.date(end), w.Space, end.Format("15:04"), zone)
}

const shownDates = 6

func (w *words) dates(dates []clock.Slot, zone *time.Location) []string {
	if len(dates) == 0 {
		return nil
	}
	lines := []string{strings.ReplaceAll(w.Dates, "{n}", strconv.Itoa(len(dates)))}
	line := func(s clock.Slot) string {
		return w.date(s.Start.In(zone)) + w.Space + s.Start.In(zone).Format("15:04")
	}
	for _, s := range dates[:min(shownDates, len(dates))] {
		lines = append(lines, line(s))
	}
	if len(dates) > shownDates {
		lines = append(lines, strings.ReplaceAll(w.LastDate, "{when}", line(dates[len(dates)-1])))
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
		return day + ", " + t.Format("Jan 2, 2006")
	}
}
