package scheduling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/itip"
)

// Replied is the newest response by mail of an attendee to an invitation, or to one of its dates.
type Replied struct {
	UID          string // of the meeting or series in calendars
	Email        string // of the attendee, in lower case
	RecurrenceID string // empty: all dates
	MeetingID    meeting.ID
	SeriesID     int64 // 0: the meeting alone
	Version
}

// maxComment is the length of a comment that is kept, in characters.
const maxComment = 1000

// invited is what an attendee responds to.
type invited struct {
	uid     string
	meeting *meeting.Meeting // of a series: the date that is its first by now; nil: none is left
	series  int64            // 0: the meeting alone
}

// respond applies the responses of an attendee to an invitation of this installation, which are mailed
// to its meeting-ID@ or series-ID@.
func (s *Service) respond(ctx context.Context, m Message) (*Outcome, error) {
	out := &Outcome{State: Ignored, Reason: "method"}
	local, _ := s.Settings().local(m.Recipient)
	kind, number, _ := strings.Cut(local, "-")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || kind != "meeting" && kind != "series" {
		return out, nil // a response to a room
	}
	i, err := s.invitation(ctx, kind, id)
	if err != nil {
		return nil, err
	}
	out.State = Refused
	if out.Reason = "unknown_meeting"; i == nil {
		return out, nil
	}
	for _, o := range m.Calendar.Objects {
		if o.UID != i.uid {
			continue
		}
		err := s.Store.Exclusively(ctx, o.UID, func(ctx context.Context) error {
			events := slices.Clone(o.Overrides)
			if o.Master != nil {
				events = append([]*itip.Event{o.Master}, events...)
			}
			for _, e := range events {
				r := &response{Service: s, message: m, invited: i, event: e}
				state, reason, err := r.apply(ctx)
				if err != nil {
					return err
				}
				if out.State != Done {
					out.State, out.Reason = state, reason
				}
				if state == Done {
					out.Reason = ""
					out.Answers = append(out.Answers, Answer{
						Address: r.email, RecurrenceID: recurrenceID(e), Status: Status(strings.ToUpper(string(r.answer))), Text: r.comment,
					})
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if i.series != 0 {
		out.SeriesID = i.series
	} else {
		out.MeetingIDs = []meeting.ID{i.meeting.ID}
	}
	return out, nil
}

// invitation returns what an address stands for; nil: nothing.
func (s *Service) invitation(ctx context.Context, kind string, id int64) (*invited, error) {
	if kind == "series" {
		return s.seriesInvitation(ctx, id, s.UID(0, id))
	}
	series, err := s.Store.SeriesOfFirst(ctx, id)
	if err != nil {
		return nil, err
	}
	if series != 0 {
		return s.seriesInvitation(ctx, series, s.UID(id, 0))
	}
	m, err := s.Meetings.Meeting(ctx, system, id)
	if errors.Is(err, meeting.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &invited{uid: s.UID(id, 0), meeting: m}, nil
}

func (s *Service) seriesInvitation(ctx context.Context, id int64, uid string) (*invited, error) {
	if _, err := s.Series.Series(ctx, system, id); errors.Is(err, meeting.ErrNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return &invited{uid: uid, series: id}, nil
}

// response is one response of an attendee while it is applied.
type response struct {
	*Service
	message Message
	invited *invited
	event   *itip.Event

	email   string // of the attendee
	answer  meeting.Response
	comment string
	replied []Replied // what was applied before
}

// refuse returns why a response is not applied.
func refuse(reason string) (State, string, error) { return Refused, reason, nil }

func (r *response) apply(ctx context.Context) (State, string, error) {
	attendee := r.attendee()
	if attendee == nil {
		return refuse("not_attendee")
	}
	r.email = fault.FoldEmail(attendee.Email)
	var known bool
	if r.answer, known = responses[attendee.Status]; !known && r.message.Calendar.Method != counter {
		return refuse("unknown_status")
	}
	var err error
	if r.replied, err = r.Store.Replied(ctx, r.invited.uid, r.email); err != nil {
		return "", "", err
	}
	id, v := recurrenceID(r.event), versionOf(r.event)
	for _, before := range r.replied {
		if before.RecurrenceID != id && (before.RecurrenceID != "" || id == "") {
			continue
		}
		switch v.Compare(before.Version) {
		case -1:
			return Outdated, "", nil
		case 0:
			return Duplicate, "", nil
		}
	}
	dates, err := r.dates(ctx)
	if err != nil {
		return "", "", err
	}
	if len(dates) == 0 {
		return refuse("unknown_date")
	}
	if !r.timely(dates) {
		return Outdated, "moved", nil
	}
	by, invited := r.actor(dates)
	if !invited {
		return refuse("not_invited")
	}
	if from := fault.FoldEmail(r.message.From); from != "" && from != r.email {
		if by, err = r.actsFor(ctx, by, from); err != nil {
			return "", "", err
		}
	}
	r.say(attendee, dates[0])
	if r.message.DryRun {
		return Done, "", nil
	}
	if err := r.store(ctx, by, dates); err != nil {
		if _, over := errors.AsType[*meeting.StateError](err); over {
			return refuse("over")
		}
		if errors.Is(err, meeting.ErrForbidden) || errors.Is(err, meeting.ErrNotFound) {
			return refuse("not_invited")
		}
		return "", "", err
	}
	return Done, "", r.Store.SaveReply(ctx, Replied{
		UID: r.invited.uid, Email: r.email, RecurrenceID: id, MeetingID: dates[0].ID, SeriesID: r.invited.series, Version: v,
	})
}

// responses are the meanings of PARTSTAT. Who delegates does not come.
var responses = map[string]meeting.Response{
	"ACCEPTED": meeting.Accepted, "DECLINED": meeting.Declined, "TENTATIVE": meeting.Tentative, "DELEGATED": meeting.Declined,
}

// attendee returns who responds: the sender, or whom the sender acts for. Of a mail that was released from
// quarantine it is the only attendee.
func (r *response) attendee() *itip.Attendee {
	all := r.event.Attendees
	i := slices.IndexFunc(all, func(a itip.Attendee) bool {
		return strings.EqualFold(a.Email, r.message.From) || strings.EqualFold(a.SentBy, r.message.From)
	})
	switch {
	case i >= 0:
		return &all[i]
	case len(all) == 1 && all[0].Email != "":
		return &all[0]
	}
	return nil
}

// dates are the meetings that the response is about.
func (r *response) dates(ctx context.Context) ([]*meeting.Meeting, error) {
	if r.invited.series == 0 {
		return []*meeting.Meeting{r.invited.meeting}, nil
	}
	var all []*meeting.Meeting
	for p := (meeting.Page{Limit: 500}); ; {
		ms, next, err := r.Meetings.Meetings(ctx, system, meeting.MeetingQuery{SeriesID: r.invited.series}, p)
		if err != nil {
			return nil, err
		}
		all = append(all, ms...)
		if p.Cursor = next; next == "" {
			break
		}
	}
	if at := r.event.RecurrenceID; at != nil {
		all = slices.DeleteFunc(all, func(m *meeting.Meeting) bool {
			zone := clock.ZoneOrUTC(m.Timezone)
			if at.Day {
				return clock.Wall(m.OriginalStart, zone).Format(time.DateOnly) != at.Wall.Format(time.DateOnly)
			}
			return !at.In(zone).Equal(m.OriginalStart)
		})
	}
	return all, nil
}

// timely reports whether the response is about the time that the meeting has now. A response to a series
// names the start of one of its dates. A counter proposal names another time.
func (r *response) timely(dates []*meeting.Meeting) bool {
	start := r.event.Start
	if start.Wall.IsZero() || r.message.Calendar.Method == counter {
		return true
	}
	whole := r.invited.series != 0 && r.event.RecurrenceID == nil
	return slices.ContainsFunc(dates, func(m *meeting.Meeting) bool {
		zone, at := clock.ZoneOrUTC(m.Timezone), m.Slot.Start
		if whole && !m.OriginalStart.IsZero() {
			at = m.OriginalStart
		}
		if start.Day {
			return clock.Wall(at, zone).Format(time.DateOnly) == start.Wall.Format(time.DateOnly)
		}
		return start.In(zone).Equal(at.Truncate(time.Second))
	})
}

// actor returns the attendee of the dates who responds; false: nobody with this address is invited.
func (r *response) actor(dates []*meeting.Meeting) (meeting.Actor, bool) {
	for _, m := range dates {
		for _, a := range m.Attendees {
			if strings.EqualFold(a.Email, r.email) {
				if r.answer == "" {
					r.answer = a.Response
				}
				return meeting.Actor{Kind: meeting.ActorUser, ID: a.UserID, Email: a.Email, Name: cmp.Or(a.Name, a.Email)}, true
			}
		}
	}
	return meeting.Actor{}, false
}

// say completes the comment, in the language of the organizer.
func (r *response) say(a *itip.Attendee, m *meeting.Meeting) {
	w := wordsFor(m.Organizer.Locale)
	zone := clock.ZoneOrUTC(cmp.Or(m.Organizer.Timezone, m.Timezone))
	var lines []string
	if start := r.event.Start; r.message.Calendar.Method == counter && !start.Wall.IsZero() {
		lines = append(lines, fmt.Sprintf(w.proposes, w.time(start.In(zone), zone), w.time(r.event.End.In(zone), zone)))
	}
	if a.Status == "DELEGATED" && len(a.Delegates) > 0 {
		lines = append(lines, fmt.Sprintf(w.delegated, strings.Join(a.Delegates, ", ")))
	}
	if text := cmp.Or(r.event.Comment, a.Comment); fault.Visible(text) {
		lines = append(lines, text)
	}
	text := []rune(strings.ToValidUTF8(strings.ReplaceAll(strings.Join(lines, "\n"), "\x00", ""), ""))
	if len(text) > maxComment {
		text = append(text[:maxComment-1], '…')
	}
	r.comment = string(text)
}

func (r *response) store(ctx context.Context, by meeting.Actor, dates []*meeting.Meeting) error {
	if r.invited.series == 0 || r.event.RecurrenceID != nil {
		_, err := r.Meetings.Respond(ctx, by, dates[0].ID, nil, r.answer, r.comment)
		return err
	}
	newer := func(m *meeting.Meeting) bool { // answered for itself since
		return slices.ContainsFunc(r.replied, func(x Replied) bool {
			return x.RecurrenceID != "" && x.MeetingID == m.ID && x.Compare(versionOf(r.event)) > 0
		})
	}
	_, err := r.Meetings.RespondDates(ctx, by, r.invited.series, newer, r.answer, r.comment)
	return err
}
