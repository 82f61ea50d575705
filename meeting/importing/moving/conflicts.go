package moving

import (
	"cmp"
	"slices"
	"time"

	"punctual/meeting/clock"
)

// Conflict is a double booking: the booking that does not get its room, and what has it.
type Conflict struct {
	Lost *Booking
	Room string   // key
	Won  *Booking // nil: a meeting that was here before
	Slot clock.Slot
}

// resolve decides who keeps the room of each double booking: confirmed bookings before requests, then
// the one with the lower ID. Requests that nobody decided before their start hold no room.
func resolve(bs []*Booking, at time.Time) (conflicts []*Conflict, lost map[*Booking]*Conflict) {
	order := slices.Clone(bs)
	slices.SortStableFunc(order, func(a, b *Booking) int {
		return cmp.Or(compareBool(a.Pending, b.Pending), cmp.Compare(a.ID, b.ID))
	})
	rooms := map[string]*calendar{}
	lost = map[*Booking]*Conflict{}
	for _, b := range order {
		if b.Pending && !b.Slot.Start.After(at) {
			continue
		}
		var conflict *Conflict
		for _, room := range b.Rooms {
			if rooms[room] == nil {
				rooms[room] = &calendar{}
			}
			if won := rooms[room].at(b.Slot); won != nil {
				conflict = &Conflict{Lost: b, Room: room, Won: won, Slot: won.Slot}
				break
			}
		}
		if conflict != nil {
			conflicts = append(conflicts, conflict)
			lost[b] = conflict
			continue
		}
		for _, room := range b.Rooms {
			rooms[room].add(b)
		}
	}
	slices.SortStableFunc(conflicts, func(a, b *Conflict) int { return cmp.Compare(a.Lost.ID, b.Lost.ID) })
	return conflicts, lost
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// calendar holds the bookings of a room by start. They do not overlap.
type calendar struct{ booked []*Booking }

// place returns where a booking with this start belongs.
func (c *calendar) place(start time.Time) int {
	i, _ := slices.BinarySearchFunc(c.booked, start, func(b *Booking, t time.Time) int { return b.Slot.Start.Compare(t) })
	return i
}

// at returns a booking that overlaps the slot, nil if there is none.
func (c *calendar) at(slot clock.Slot) *Booking {
	i := c.place(slot.Start)
	for _, j := range []int{i - 1, i} {
		if j >= 0 && j < len(c.booked) && c.booked[j].Slot.Overlaps(slot) {
			return c.booked[j]
		}
	}
	return nil
}

func (c *calendar) add(b *Booking) {
	c.booked = slices.Insert(c.booked, c.place(b.Slot.Start), b)
}
