package gormstore

import (
	"sort"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/report"
)

// useParts aggregate the use of rooms by the days or hours of a span.
type useParts struct {
	span   clock.Slot
	byZone map[string][]report.ZoneDay // one after another
	byName map[string]*report.RoomUse
}

func newUseParts(span clock.Slot, days []report.ZoneDay) *useParts {
	p := &useParts{span: span, byZone: map[string][]report.ZoneDay{}, byName: map[string]*report.RoomUse{}}
	for _, d := range days {
		p.byZone[d.Zone] = append(p.byZone[d.Zone], d)
	}
	return p
}

// add adds n meetings of one slot in one zone. They are counted in the part in which they begin, or
// in which the span begins; their time is added where it lies.
func (p *useParts) add(zone string, slot clock.Slot, usedUntil, freedAt time.Time, n *report.RoomUse) {
	days := p.byZone[zone]
	i := sort.Search(len(days), func(i int) bool { return days[i].Slot.End.After(slot.Start) })
	for first := true; i < len(days) && days[i].Slot.Start.Before(slot.End); i++ {
		d := days[i]
		u := p.byName[d.Day]
		if u == nil {
			u = &report.RoomUse{Day: d.Day}
			p.byName[d.Day] = u
		}
		booked := time.Duration(n.Meetings)
		u.Booked += booked * common(d.Slot, slot.Start, slot.End)
		u.Used += booked * common(d.Slot, slot.Start, usedUntil)
		u.Freed += booked * common(d.Slot, freedAt, slot.End)
		if first {
			count(u, n)
			first = false
		}
	}
}

// common returns how much of [from, to) lies in a slot.
func common(s clock.Slot, from, to time.Time) time.Duration {
	if from.Before(s.Start) {
		from = s.Start
	}
	if to.After(s.End) {
		to = s.End
	}
	return max(0, to.Sub(from))
}

func count(u, n *report.RoomUse) {
	u.Meetings += n.Meetings
	u.NoShows += n.NoShows
	u.Cancelled += n.Cancelled
	u.Rejected += n.Rejected
	u.Counted += n.Counted
	u.Persons += n.Persons
	u.Seated += n.Seated
	u.SeatedMeetings += n.SeatedMeetings
	u.Seats += n.Seats
}

func (p *useParts) all() []report.RoomUse {
	used := make([]report.RoomUse, 0, len(p.byName))
	for _, u := range p.byName {
		used = append(used, *u)
	}
	return used
}
