package finding

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
)

// PersonBusy says when a person takes part in meetings.
type PersonBusy struct {
	Email string
	Known bool         // an active user; nothing is known about anyone else
	Busy  []clock.Slot // by start, those that touch joined
}

const (
	maxBusyPeople = 20
	maxBusySpan   = 31 * 24 * time.Hour
)

// PeopleBusy returns when each of at most 20 people takes part in a confirmed meeting within a span of
// at most 31 days, in the order of the addresses. It returns times alone: not what the meetings are,
// nor how many. Meetings that a person declined do not count.
func (s *Service) PeopleBusy(ctx context.Context, emails []string, span clock.Slot) ([]PersonBusy, error) {
	var found fault.List
	if len(emails) == 0 {
		found.Add("email", "required", "is required")
	}
	if len(emails) > maxBusyPeople {
		found.Add("email", "too_many", "must have at most %d addresses", maxBusyPeople)
	}
	if !span.Start.Before(span.End) || span.Duration() > maxBusySpan {
		found.Add("to", "invalid_span", "must be after from and at most 31 days later")
	}
	if err := found.Err(); err != nil {
		return nil, err
	}
	busy, err := s.store.BusyUsers(ctx, emails, span)
	if err != nil {
		return nil, fmt.Errorf("look up busy people: %w", err)
	}
	people := make([]PersonBusy, len(emails))
	for i, email := range emails {
		slots, known := busy[strings.ToLower(email)]
		people[i] = PersonBusy{Email: email, Known: known, Busy: joined(slots, span)}
	}
	return people, nil
}

// joined returns slots within a span, by start; those that overlap or touch are one.
func joined(slots []clock.Slot, span clock.Slot) []clock.Slot {
	slices.SortFunc(slots, func(a, b clock.Slot) int { return a.Start.Compare(b.Start) })
	var out []clock.Slot
	for _, s := range slots {
		s = clock.Slot{Start: clock.Later(s.Start, span.Start), End: clock.Earlier(s.End, span.End)}
		if !s.Start.Before(s.End) {
			continue
		}
		if n := len(out); n > 0 && !s.Start.After(out[n-1].End) {
			out[n-1].End = clock.Later(out[n-1].End, s.End)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// BusyStatuses are those of meetings that take a person's time.
var BusyStatuses = []meeting.Status{meeting.Confirmed, meeting.InProgress, meeting.Ended}
