package moving

import (
	"cmp"
	"slices"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/importing"
	"punctual/meeting/series"
)

// item is a meeting or a series that is saved as one.
type item struct {
	uid      string
	booking  *Booking // of a single meeting
	series   *formed
	transfer *series.Transfer
	known    *importing.Known
}

func (i *item) size() int {
	if i.series != nil {
		return len(i.series.dates)
	}
	return 1
}

func (i *item) bookings() []*Booking {
	if i.series == nil {
		return []*Booking{i.booking}
	}
	var bs []*Booking
	for _, wall := range i.series.walls() {
		bs = append(bs, i.series.dates[wall])
	}
	return bs
}

// without splits an item: what is left of it, and the dates whose rooms are taken.
func (i *item) without(taken []meeting.Skipped) (*item, []*Conflict) {
	at := map[int64]meeting.Skipped{}
	for _, d := range taken {
		at[d.OriginalStart.UnixMicro()] = d
	}
	conflictOf := func(b *Booking, d meeting.Skipped) *Conflict {
		c := &Conflict{Lost: b, Room: b.Rooms[0]}
		if len(d.Conflicts) > 0 {
			c.Slot = d.Conflicts[0].Slot
		}
		return c
	}
	if i.series == nil {
		return nil, []*Conflict{conflictOf(i.booking, taken[0])}
	}
	zone := clock.ZoneOrUTC(i.series.series.Zone)
	var lost []*Conflict
	rest := i.series.without(func(wall time.Time, b *Booking) bool {
		d, is := at[clock.InstantOrShift(wall, zone).UnixMicro()]
		if is {
			lost = append(lost, conflictOf(b, d))
		}
		return is
	})
	slices.SortFunc(lost, func(a, b *Conflict) int { return cmp.Compare(a.Lost.ID, b.Lost.ID) })
	if rest == nil || len(lost) == 0 {
		if len(lost) == 0 { // not found again: all of them, to avoid an endless loop
			for _, b := range i.bookings() {
				lost = append(lost, conflictOf(b, taken[0]))
			}
		}
		return nil, lost
	}
	return &item{uid: i.uid, series: rest}, lost
}

// items forms series and single meetings of the bookings that get their rooms.
func (r *run) items(rows []*Booking, lost map[*Booking]*Conflict) (items []*item) {
	byKey := map[string]*Series{}
	for i := range r.data.Series {
		byKey[r.data.Series[i].Key] = &r.data.Series[i]
	}
	dates := map[string][]*Booking{}
	for _, b := range rows {
		if byKey[b.Series] != nil {
			dates[b.Series] = append(dates[b.Series], b)
		} else if lost[b] == nil {
			items = append(items, &item{uid: b.UID, booking: b})
		}
	}
	for i := range r.data.Series {
		s := &r.data.Series[i]
		if len(dates[s.Key]) == 0 {
			continue
		}
		f, err := form(s, dates[s.Key])
		if err == nil {
			f = f.without(func(_ time.Time, b *Booking) bool { return lost[b] != nil })
			if f != nil {
				items = append(items, &item{uid: s.UID, series: f})
			}
			continue
		}
		r.note(s.Ref, "%q becomes %d single meetings: %v", s.Title, len(dates[s.Key]), err)
		for _, b := range dates[s.Key] {
			if lost[b] == nil {
				items = append(items, &item{uid: b.UID, booking: b})
			}
		}
	}
	return items
}
