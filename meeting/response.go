package meeting

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"punctual/meeting/clock"
)

// Respond stores the actor's response to the invitation and reports whether it changed. A response
// may change until the meeting is over. The organizer gets a mail the first time that the actor
// declines this time of the meeting; other responses appear on the page only. The comment is for
// the organizer and is not stored in any history.
func (m *Meeting) Respond(r Response, comment string, by Actor, at time.Time) (changed bool, err error) {
	i := slices.IndexFunc(m.Attendees, by.Is)
	if by.Kind != ActorUser || i < 0 || m.Visibility.HidesFrom(by) {
		return false, ErrForbidden
	}
	if s := m.EffectiveStatus(at); s != Confirmed && s != InProgress {
		return false, &StateError{State: s, Action: "respond"}
	}
	was := m.Attendees[i]
	if was.Response == r && was.Comment == comment {
		return false, nil
	}
	m.Attendees = slices.Clone(m.Attendees)
	m.Attendees[i].Response, m.Attendees[i].Comment = r, comment
	m.UpdatedAt = at
	m.Record(Entry{At: at, Action: ActionResponded, Actor: by, Changes: map[string]Change{"response": {From: was.Response, To: r}}})
	if r == Declined && was.Response != Declined {
		m.NotifyDeclined(comment, by, at)
	}
	return true, nil
}

// NotifyDeclined notifies the organizer, once for each person and start.
func (m *Meeting) NotifyDeclined(comment string, by Actor, at time.Time) {
	f := m.Facts(by)
	f.Comment = comment
	m.notify(Notice{
		Kind: NoticeDeclined, Channel: Email, Due: at, Expires: m.Slot.End, Facts: f,
		occasion: "start-" + strconv.FormatInt(m.Slot.Start.Unix(), 10) + "-" + strings.ToLower(cmp.Or(by.Email, by.Phone)),
	}, []Person{m.Organizer}, by)
}

// requestResponses resets the responses if the meeting's new time is not within the time that they
// were given for. The response of the user who moved it stays. A meeting in progress that gets
// longer resets none.
func (m *Meeting) requestResponses(was clock.Slot, by Actor, at time.Time) {
	within := !m.Slot.Start.Before(was.Start) && !m.Slot.End.After(was.End)
	if within || !was.Start.After(at) {
		return
	}
	m.Attendees = slices.Clone(m.Attendees)
	for i := range m.Attendees {
		if a := &m.Attendees[i]; by.Kind != ActorUser || !by.Is(*a) {
			a.Response, a.Comment = NeedsAction, ""
		}
	}
}

// commonAnswers returns each attendee's most frequent response to the dates.
func commonAnswers(series []Attendee, dates []*Meeting) []Attendee {
	out := slices.Clone(series)
	for i := range out {
		count, most := map[Response]int{}, NeedsAction
		for _, m := range dates {
			if j := slices.IndexFunc(m.Attendees, out[i].SameAddress); j >= 0 {
				count[m.Attendees[j].Response]++
			}
		}
		for _, r := range []Response{Accepted, Tentative, Declined} {
			if count[r] > count[most] {
				most = r
			}
		}
		out[i].Response = most
	}
	return out
}

// WithResponses returns the responses of attendees who gave the same one to all dates that they are
// invited to.
func WithResponses(series []Attendee, dates []*Meeting) []Attendee {
	out := slices.Clone(series)
	for i := range out {
		out[i].Response = NeedsAction
		first := true
		for _, m := range dates {
			j := slices.IndexFunc(m.Attendees, out[i].SameAddress)
			if j < 0 {
				continue
			}
			if r := m.Attendees[j].Response; first || r == out[i].Response {
				out[i].Response, first = r, false
			} else {
				out[i].Response = NeedsAction
				break
			}
		}
	}
	return out
}
