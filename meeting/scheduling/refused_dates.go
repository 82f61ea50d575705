package scheduling

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// refusedDate is a date of a series that is not booked in all rooms.
type refusedDate struct {
	key   string
	start time.Time          // by the rule
	lines map[int64][]string // for people, by the room that is not booked
}

// refuse notes that a date is not booked in a room.
func (e *event) refuse(start time.Time, roomID int64, lines ...string) {
	key := e.dateKey(start)
	r := e.refusal(key, 0)
	if r == nil {
		r = &refusedDate{key: key, start: start, lines: map[int64][]string{}}
		e.refusedDates = append(e.refusedDates, r)
	}
	if _, noted := r.lines[roomID]; !noted {
		r.lines[roomID] = lines
	}
}

// refusal returns the note about a date in a room, or in any room if that is 0; nil: there is none.
func (e *event) refusal(key string, roomID int64) *refusedDate {
	i := slices.IndexFunc(e.refusedDates, func(r *refusedDate) bool {
		_, noted := r.lines[roomID]
		return r.key == key && (noted || roomID == 0)
	})
	if i < 0 {
		return nil
	}
	return e.refusedDates[i]
}

// skippedLines says why a date is not booked.
func (e *event) skippedLines(s meeting.Skipped) []string {
	zone := clock.ZoneOrUTC(cmp.Or(e.person.Timezone, e.zoneName))
	lines := e.violations(s.Violations)
	for _, c := range s.Conflicts {
		lines = append(lines, e.words.conflict(e.roomNames[c.RoomID], c.Slot, zone))
	}
	return lines
}

// seriesRefused declines the places because a series cannot be booked.
func (e *event) seriesRefused(err error, places []*place) error {
	reason, lines := "", []string(nil)
	if taken, ok := errors.AsType[*meeting.SeriesConflictError](err); ok {
		reason = cmp.Or(taken.Dates[0].Reason, meeting.ReasonTaken)
		lines = append(lines, fmt.Sprintf(e.words.dates, len(taken.Dates)))
		for i, s := range taken.Dates {
			if i == mostDates {
				lines = append(lines, "...")
				break
			}
			lines = append(lines, e.skippedLines(s)...)
		}
	} else if policy, ok := errors.AsType[*meeting.PolicyError](err); ok {
		reason, lines = policy.Violations[0].Code, e.violations(policy.Violations)
	} else if invalid, ok := errors.AsType[*meeting.InvalidError](err); ok {
		reason, lines = invalid.Faults[0].Code, e.violations(invalid.Faults)
	} else if conflict, ok := errors.AsType[*meeting.ConflictError](err); ok {
		reason, lines = meeting.ReasonTaken, e.skippedLines(meeting.Skipped{Conflicts: conflict.Conflicts})
	} else if _, over := errors.AsType[*meeting.StateError](err); over {
		reason, lines = "over", []string{e.words.over}
	} else {
		return err
	}
	for _, p := range places {
		if p.status == "" {
			p.decline(reason, lines...)
		}
	}
	return nil
}

// answerDates declines the dates of a series that are not booked, each for itself.
func (e *event) answerDates(p *place, v Version) {
	if p.status == Declined {
		return
	}
	for _, r := range e.refusedDates {
		lines, refused := r.lines[p.roomID]
		if !refused {
			continue
		}
		if slices.ContainsFunc(e.record.Answers, func(t Told) bool { return t.RecurrenceID == r.key && t.Address == p.address }) {
			continue
		}
		before := e.known.told(r.key, p.address)
		told := Told{RecurrenceID: r.key, Address: p.address, RoomID: p.roomID, Version: v, Status: Declined, Reason: meeting.ReasonTaken, Text: strings.Join(lines, "\n"), Number: 1}
		if before != nil {
			if before.Status == Declined { // it was answered
				continue
			}
			told.Number = before.Number + 1
		}
		one := &place{seat: p.seat, room: p.room, status: Declined, lines: lines}
		if e.message.Via == meeting.OriginMail {
			told.MessageID, told.Recipient = e.message.MessageID, e.organizer
		}
		a := Answer{Address: p.address, RoomID: p.roomID, RecurrenceID: r.key, Status: Declined, Reason: told.Reason, Text: told.Text}
		if told.Recipient != "" && len(e.refusedDates) <= mostDates {
			c, date := e.componentOf(r.key, &meeting.Meeting{OriginalStart: r.start})
			a.Mail = e.mail(c, date, one, told)
			e.record.Replies = append(e.record.Replies, e.notice(a.Mail, told, c.Event))
		}
		e.record.Answers = append(e.record.Answers, told)
		e.out.Answers = append(e.out.Answers, a)
	}
}
