package booking

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
)

// Respond answers an invitation for the actor, who must be invited. The comment is for the
// organizer.
func (s *Service) Respond(ctx context.Context, by meeting.Actor, id meeting.ID, ifMatch *int64, r meeting.Response, comment string) (*meeting.Meeting, error) {
	return s.RespondFor(ctx, by, 0, id, ifMatch, r, comment)
}

// RespondFor is [Service.Respond] for a user whose delegate the actor is; 0: for the actor.
func (s *Service) RespondFor(ctx context.Context, by meeting.Actor, userID int64, id meeting.ID, ifMatch *int64, r meeting.Response, comment string) (*meeting.Meeting, error) {
	if err := checkAnswer(r, &comment); err != nil {
		return nil, err
	}
	by, err := s.respondingFor(ctx, by, userID, func() (*meeting.Meeting, error) { return s.Known(ctx, by, id) })
	if err != nil {
		return nil, err
	}
	return s.respond(ctx, by, id, ifMatch, 0, r, comment)
}

// ErrSeenOutdated is returned if the meeting has changed since the person who responds saw it.
var ErrSeenOutdated = errors.New("has changed since it was shown")

// respond is [Service.Respond] for a schedule version of the meeting; 0: any.
func (s *Service) respond(ctx context.Context, by meeting.Actor, id meeting.ID, ifMatch *int64, seen int64, r meeting.Response, comment string) (*meeting.Meeting, error) {
	return s.Change(ctx, by, id, nil, func(m *meeting.Meeting, c Preparation) error {
		if err := fault.CheckVersion(ifMatch, m.Version); err != nil {
			return err
		}
		if seen != 0 && seen != m.ScheduleVersion {
			return ErrSeenOutdated
		}
		changed, err := m.Respond(r, comment, by, c.At)
		if err == nil && !changed {
			return ErrUnchanged
		}
		return err
	})
}

// checkAnswer checks a response and trims its comment.
func checkAnswer(r meeting.Response, comment *string) error {
	var found fault.List
	if !r.Answers() && r != meeting.NeedsAction {
		found.Add("response", "unknown_value", "must be accepted, declined, tentative or needs_action (which withdraws a response)")
	}
	if err, ok := errors.AsType[*meeting.InvalidError](CheckComment("comment", comment)); ok {
		found = append(found, err.Faults...)
	}
	return found.Err()
}

// RespondSeries responds, in one transaction, to all current and future dates of a series that the
// actor is invited to. If the actor was invited to past dates only, it returns a [*meeting.StateError].
func (s *Service) RespondSeries(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, r meeting.Response, comment string) (*SeriesResult, error) {
	return s.RespondSeriesFor(ctx, by, 0, id, ifMatch, r, comment)
}

// RespondSeriesFor is [Service.RespondSeries] for a user whose delegate the actor is; 0: for the actor.
func (s *Service) RespondSeriesFor(ctx context.Context, by meeting.Actor, userID, id int64, ifMatch *int64, r meeting.Response, comment string) (*SeriesResult, error) {
	if err := checkAnswer(r, &comment); err != nil {
		return nil, err
	}
	by, err := s.respondingFor(ctx, by, userID, func() (*meeting.Meeting, error) {
		series, err := s.store.Series(ctx, id)
		if err != nil {
			return nil, err
		}
		ms, err := s.store.SeriesMeetings(ctx, id)
		if err != nil {
			return nil, err
		}
		return series.Sample(), s.SeesSeries(ctx, by, series, ms)
	})
	if err != nil {
		return nil, err
	}
	return s.respondSeries(ctx, by, id, ifMatch, 0, nil, r, comment)
}

// RespondDates is [Service.RespondSeries] without the dates for which except is true.
func (s *Service) RespondDates(ctx context.Context, by meeting.Actor, id int64, except func(*meeting.Meeting) bool, r meeting.Response, comment string) (*SeriesResult, error) {
	if err := checkAnswer(r, &comment); err != nil {
		return nil, err
	}
	return s.respondSeries(ctx, by, id, nil, 0, except, r, comment)
}

// respondSeries is [Service.RespondDates] for a sequence of the series; 0: any.
func (s *Service) respondSeries(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, seen int64, except func(*meeting.Meeting) bool, r meeting.Response, comment string) (*SeriesResult, error) {
	var unchanged *SeriesResult
	res, err := s.PlanAndSave(ctx, by, func() (*meeting.SeriesChange, error) {
		series, err := s.store.Series(ctx, id)
		if err != nil {
			return nil, err
		}
		ms, err := s.store.SeriesMeetings(ctx, id)
		if err != nil {
			return nil, err
		}
		if err := s.SeesSeries(ctx, by, series, ms); err != nil {
			return nil, err
		}
		if err := fault.CheckVersion(ifMatch, series.Version); err != nil {
			return nil, err
		}
		if seen != 0 && seen != series.Sequence {
			return nil, ErrSeenOutdated
		}
		at := s.Now()
		invited, err := answerable(ms, by, at)
		if err != nil {
			return nil, err
		}
		change := &meeting.SeriesChange{Series: series}
		var declined []*meeting.Meeting
		for _, m := range invited {
			if except != nil && except(m) {
				continue
			}
			before := new(*m)
			changed, err := m.Respond(r, comment, by, at)
			if err != nil {
				return nil, err
			}
			if !changed {
				continue
			}
			if len(m.Notices) > 0 {
				declined = append(declined, m)
				m.Notices = nil // the organizer gets one notice for all dates
			}
			change.Before, change.Update = append(change.Before, before), append(change.Update, m)
		}
		if len(change.Update) == 0 {
			unchanged = &SeriesResult{Series: series, Meetings: invited, Saved: true}
			return nil, ErrUnchanged
		}
		switch {
		case len(declined) == 1:
			declined[0].NotifyDeclined(comment, by, at)
		case len(declined) > 1:
			say := func(f *meeting.Facts) { f.Comment = comment }
			series.Notify(meeting.SeriesNotice{Kind: meeting.NoticeDeclined, Dates: declined, More: say}, []meeting.Person{series.Organizer}, by, at)
		}
		return change, nil
	})
	if errors.Is(err, ErrUnchanged) {
		return s.ShowSeriesResult(ctx, by, unchanged)
	}
	return res, err
}

// answerable returns the dates of a series that the actor can respond to.
func answerable(ms []*meeting.Meeting, by meeting.Actor, at time.Time) ([]*meeting.Meeting, error) {
	var open []*meeting.Meeting
	state, invited := meeting.Ended, false
	for _, m := range ms {
		if !by.Attends(m) {
			continue
		}
		invited = true
		if state = m.EffectiveStatus(at); state == meeting.Confirmed || state == meeting.InProgress {
			open = append(open, m)
		}
	}
	switch {
	case !invited:
		return nil, meeting.ErrForbidden
	case len(open) == 0:
		return nil, &meeting.StateError{State: state, Action: "respond"}
	}
	return open, nil
}

// Invitation identifies a response link: one person, with or without an account, and a meeting or
// all dates of a series.
type Invitation struct {
	MeetingID meeting.ID // of a series, the date that the mail is filed under
	SeriesID  int64      // 0: the meeting alone
	Email     string     // or the phone number of a guest without one

	// Seen is the schedule version of the meeting that the reader saw, or the sequence of the
	// series; 0: not known, as in mails of earlier releases.
	Seen int64
}

// Invited is the content of the page behind a response link.
type Invited struct {
	Meeting  *meeting.Meeting // of a series: its next date, or its last
	Dates    []clock.Slot     // dates of the series that a response covers; empty: the meeting alone
	Person   meeting.Person
	Response meeting.Response // NeedsAction: none, or different ones for the dates
	Comment  string
	Open     bool  // a response is possible now
	Seen     int64 // for an [Invitation] to the current state
}

// FollowInvitation returns the content of the page behind a response link and changes nothing. It
// returns [meeting.ErrForbidden] if the person is not (or no longer) invited, and [meeting.ErrNotFound] if the user
// was disabled.
func (s *Service) FollowInvitation(ctx context.Context, inv Invitation) (*Invited, error) {
	at, by := s.Now(), inv.actor()
	var ms []*meeting.Meeting
	if inv.SeriesID != 0 {
		var err error
		if ms, err = s.store.SeriesMeetings(ctx, inv.SeriesID); err != nil {
			return nil, err
		}
	}
	if len(ms) == 0 { // or the series no longer exists
		m, err := s.store.Meeting(ctx, inv.MeetingID)
		if err != nil {
			return nil, err
		}
		ms = []*meeting.Meeting{m}
	}
	slices.SortFunc(ms, func(a, b *meeting.Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) })
	open, err := answerable(ms, by, at)
	if errors.Is(err, meeting.ErrForbidden) {
		return nil, err
	}
	i := &Invited{Open: err == nil}
	if i.Open {
		i.Meeting = open[0]
	} else {
		i.Meeting = lastOf(ms, by)
	}
	for n, m := range open {
		a := m.Attendees[slices.IndexFunc(m.Attendees, by.Is)]
		if n == 0 {
			i.Response, i.Comment = a.Response, a.Comment
		} else if a.Response != i.Response {
			i.Response, i.Comment = meeting.NeedsAction, ""
		}
		if len(open) > 1 {
			i.Dates = append(i.Dates, m.Slot)
		}
	}
	a := i.Meeting.Attendees[slices.IndexFunc(i.Meeting.Attendees, by.Is)]
	i.Person = a.Person
	if a.UserID != 0 {
		if known, err := s.directory.People(ctx, []int64{a.UserID}); err != nil {
			return nil, err
		} else if len(known) == 0 {
			return nil, meeting.ErrNotFound
		}
	}
	if !i.Open {
		i.Response = a.Response
	}
	if i.Seen = i.Meeting.ScheduleVersion; inv.answersSeries(i.Meeting) {
		series, err := s.store.Series(ctx, inv.SeriesID)
		if err != nil {
			return nil, err
		}
		i.Seen = series.Sequence
	}
	i.Meeting = i.Meeting.ViewAt(at, by, nil)
	return i, nil
}

// lastOf returns the last meeting that the actor is invited to.
func lastOf(ms []*meeting.Meeting, by meeting.Actor) *meeting.Meeting {
	var last *meeting.Meeting
	for _, m := range ms {
		if by.Attends(m) {
			last = m
		}
	}
	return last
}

// answersSeries reports whether a response covers all dates of the meeting's series.
func (i Invitation) answersSeries(m *meeting.Meeting) bool {
	return i.SeriesID != 0 && m.SeriesID == i.SeriesID
}

// RespondByLink responds as the person that the invitation was sent to. It changes nothing and
// returns a [*meeting.StateError] if the meeting is over, or [ErrSeenOutdated] if it has changed since the
// reader saw it.
func (s *Service) RespondByLink(ctx context.Context, inv Invitation, r meeting.Response, comment string) error {
	i, err := s.FollowInvitation(ctx, inv)
	if err != nil {
		return err
	}
	by := inv.actor()
	by.ID, by.Name = i.Person.UserID, cmp.Or(i.Person.Name, i.Person.Label())
	if err := checkAnswer(r, &comment); err != nil {
		return err
	}
	if inv.answersSeries(i.Meeting) {
		_, err = s.respondSeries(ctx, by, inv.SeriesID, nil, inv.Seen, nil, r, comment)
		return err
	}
	_, err = s.respond(ctx, by, i.Meeting.ID, nil, inv.Seen, r, comment)
	return err
}

func (i Invitation) actor() meeting.Actor {
	if strings.HasPrefix(i.Email, "+") && !strings.Contains(i.Email, "@") {
		return meeting.Actor{Kind: meeting.ActorUser, Phone: i.Email}
	}
	return meeting.Actor{Kind: meeting.ActorUser, Name: i.Email, Email: i.Email}
}
