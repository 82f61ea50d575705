package gormstore

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/report"
)

// Reports add up meetings by day: in each zone, of each site. Sums of days that are over, or yet to
// come, are stored. Instants and durations are in microseconds, so that sums are exact.

// usedRoom is a meeting in one of its rooms, for reports.
type usedRoom struct {
	place
	room       int64
	capacity   int64
	status     meeting.Status // at that instant
	public     bool
	persons    int64
	start, end micros
	usedEnd    micros // until when people used or will use the room; start: they do not
	freedAt    micros // from when on the room was free; end: never
	changesAt  micros // when the clock changes the status next; 0: never
}

// sums of what meetings did in a part of a span. It is an array, so that it is added up and stored in
// a loop.
type sums [carried + counts]int64

const (
	booked = iota // durations
	used
	freed
	begun                    // the counts of meetings that begin in the part
	carried = begun + counts // and of those that reach into it
)

// The counts, after begun and carried.
const (
	meetings = iota
	noShows
	cancelled
	rejected
	public                       // the persons of public meetings
	private = public + ofPersons // and of private ones
	counts  = private + ofPersons
)

// What is said of persons, after public and private.
const (
	counted = iota
	people
	seats
	seatedMeetings
	seated
	ofPersons
)

// add a meeting as it is at an instant, within a part.
func (s *sums) add(m *usedRoom, part interval, at micros) {
	count := s[begun:carried]
	if m.start < part.from {
		count = s[carried:]
	}
	switch m.status {
	case meeting.Cancelled:
		count[cancelled]++
		return
	case meeting.Rejected:
		count[rejected]++
		return
	case meeting.Released:
		count[noShows]++
	}
	s[booked] += part.common(m.start, m.end)
	s[used] += part.common(m.start, min(m.usedEnd, at))
	s[freed] += part.common(m.freedAt, m.end)
	count[meetings]++
	of := count[private:]
	if m.public {
		of = count[public:private]
	}
	of[counted]++
	of[people] += m.persons
	if m.capacity > 0 {
		of[seats] += m.capacity
		of[seatedMeetings]++
		of[seated] += m.persons
	}
}

// plus adds a part of a span. In the first one, meetings that reach into it count as well.
func (s *sums) plus(o *sums, first bool) {
	for i, n := range o[:carried] {
		s[i] += n
	}
	if first {
		for i, n := range o[carried:] {
			s[begun+i] += n
		}
	}
}

// use is what a report says of the sums of a whole span.
func (s *sums) use(id int64, day string, withPrivate bool) report.RoomUse {
	count := s[begun:carried]
	of := func(i int) int {
		n := count[public+i]
		if withPrivate {
			n += count[private+i]
		}
		return int(n)
	}
	return report.RoomUse{
		ID: id, Day: day,
		Booked: time.Duration(s[booked]) * time.Microsecond, Used: time.Duration(s[used]) * time.Microsecond, Freed: time.Duration(s[freed]) * time.Microsecond,
		Meetings: int(count[meetings]), NoShows: int(count[noShows]), Cancelled: int(count[cancelled]), Rejected: int(count[rejected]),
		Counted: of(counted), Persons: of(people), Seats: of(seats), SeatedMeetings: of(seatedMeetings), Seated: of(seated),
	}
}

// interval is a [clock.Slot] in microseconds.
type interval struct{ from, to micros }

func intervalOf(s clock.Slot) interval {
	return interval{micros(s.Start.UnixMicro()), micros(s.End.UnixMicro())}
}

func (v interval) slot() clock.Slot {
	return clock.Slot{Start: time.UnixMicro(int64(v.from)).UTC(), End: time.UnixMicro(int64(v.to)).UTC()}
}

func (v interval) cut(o interval) interval { return interval{max(v.from, o.from), min(v.to, o.to)} }

// common is for how long [from, to) lies in the interval.
func (v interval) common(from, to micros) int64 {
	return int64(max(0, min(v.to, to)-max(v.from, from)))
}

// place is the rooms of a site in one zone.
type place struct {
	site int64  // 0: none
	zone string // empty: none is named; see inForceIn
}

// dayUse is the use of the rooms of a place on a day, or in a part of one.
type dayUse struct {
	interval
	hours []hourUse // all of them, one after another
	rooms map[int64]*sums

	validUntil micros // as long as nothing changes but the clock
}

type hourUse struct {
	interval
	sums
}

const forever = micros(math.MaxInt64)

func newDayUse(part interval, loc *time.Location) *dayUse {
	d := &dayUse{interval: part, rooms: map[int64]*sums{}, validUntil: forever}
	for _, h := range report.LocalHours(part.slot(), loc) {
		d.hours = append(d.hours, hourUse{interval: intervalOf(h)})
	}
	return d
}

// add a meeting as it is at an instant, if it touches the day.
func (d *dayUse) add(m *usedRoom, at micros) {
	if m.end <= d.from || m.start >= d.to {
		return
	}
	if m.changesAt != 0 {
		d.validUntil = min(d.validUntil, m.changesAt)
	}
	if m.status == meeting.Pending {
		return
	}
	if begins, ends := max(m.start, d.from), min(m.usedEnd, d.to); begins < ends && at < ends {
		d.validUntil = min(d.validUntil, max(at, begins)) // from then on it grows
	}
	room := d.rooms[m.room]
	if room == nil {
		room = &sums{}
		d.rooms[m.room] = room
	}
	room.add(m, d.interval, at)
	i, _ := slices.BinarySearchFunc(d.hours, m.start, func(h hourUse, t micros) int { return cmp.Compare(h.to, t+1) })
	for ; i < len(d.hours) && d.hours[i].from < m.end; i++ {
		d.hours[i].sums.add(m, d.hours[i].interval, at)
	}
}

// useReport adds up days by the grouping of a report.
type useReport struct {
	report.Query
	span interval
	sums map[string]map[int64]*sums // by day or hour, and by room or site
}

func (r *useReport) at(id int64, day string) *sums {
	of := r.sums[day]
	if of == nil {
		of = map[int64]*sums{}
		r.sums[day] = of
	}
	sum := of[id]
	if sum == nil {
		sum = &sums{}
		of[id] = sum
	}
	return sum
}

// addRoom adds what a room was used in a part of the span.
func (r *useReport) addRoom(id int64, part interval, s *sums) {
	r.at(id, "").plus(s, part.from == r.span.from)
}

// addHour adds what the rooms of a place were used in an hour of a day, or in a part of one.
func (r *useReport) addHour(d *placeDay, part interval, s *sums) {
	var to *sums
	switch r.Group {
	case report.BySite:
		to = r.at(d.site, "")
	case report.ByDay:
		to = r.at(0, d.Date)
	case report.ByHour:
		to = r.at(0, d.hourOfWeek(part.from))
	}
	to.plus(s, part.from == r.span.from)
}

// add a day that was just added up.
func (r *useReport) add(d *placeDay, use *dayUse) {
	if r.Group == report.ByRoom {
		for id, s := range use.rooms {
			r.addRoom(id, use.interval, s)
		}
		return
	}
	for i := range use.hours {
		if h := &use.hours[i]; h.sums != (sums{}) {
			r.addHour(d, h.interval, &h.sums)
		}
	}
}

// addStored adds a part of a stored day. It reports whether that was possible: the sums of rooms are
// those of whole days, and other sums those of whole hours.
func (r *useReport) addStored(d *placeDay, part interval, stored *storedDay) (bool, error) {
	if r.Group == report.ByRoom {
		if part != d.interval {
			return false, nil
		}
		return true, eachSum(stored.sums, func(id int64, s *sums) { r.addRoom(id, part, s) })
	}
	starts := func(at micros) bool {
		return slices.ContainsFunc(d.hours(), func(h interval) bool { return h.from == at })
	}
	if part.from != d.from && !starts(part.from) || part.to != d.to && !starts(part.to) {
		return false, nil
	}
	return true, eachSum(stored.sums, func(since int64, s *sums) {
		hour := interval{d.from + micros(since), 0}
		if part.from <= hour.from && hour.from < part.to {
			r.addHour(d, hour, s)
		}
	})
}

func (r *useReport) all() []report.RoomUse {
	found := []report.RoomUse{}
	for day, of := range r.sums {
		for id, s := range of {
			found = append(found, s.use(id, day, r.Private))
		}
	}
	return found
}

// appendSums appends sums to those that are stored. The key is a room, or an hour in microseconds since
// the day began.
func appendSums(b []byte, key int64, s *sums) []byte {
	b = binary.AppendVarint(b, key)
	for _, n := range s {
		b = binary.AppendVarint(b, n)
	}
	return b
}

// eachSum calls f with each of them. The sums are only valid until f returns.
func eachSum(b []byte, f func(key int64, s *sums)) error {
	var s sums
	for len(b) > 0 {
		key, size := binary.Varint(b)
		for i := range s {
			if size <= 0 || size >= len(b) {
				return errors.New("the stored sums of a day end early")
			}
			b, size = b[size:], 1
			if n := int64(b[0]); n < 0x80 { // as most are; a report of a year reads a million
				s[i] = n>>1 ^ -(n & 1)
			} else {
				s[i], size = binary.Varint(b)
			}
		}
		if size <= 0 {
			return errors.New("the stored sums of a day end early")
		}
		b = b[size:]
		f(key, &s)
	}
	return nil
}
