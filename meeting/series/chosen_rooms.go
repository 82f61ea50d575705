package series

import (
	"context"
	"fmt"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
)

// Choice selects other rooms for one date of a series.
type Choice struct {
	OriginalStart *clock.Time // as reported by a preview of the same change
	RoomIDs       []int64
}

// choose assigns the chosen rooms to their dates and reports everything that is wrong with the
// choices.
func (p *planner) choose(ctx context.Context, choices []Choice, zone *time.Location, dates []*plannedDate) error {
	if len(choices) > maxExDates {
		return fault.Invalid("choices", "too_many", "must have at most %d dates", maxExDates)
	}
	rooms, err := p.chosenRooms(ctx, choices)
	if err != nil {
		return err
	}
	var found fault.List
	chosen := map[*plannedDate]bool{}
	for i, c := range choices {
		location := fault.Index("choices", i)
		terms := meeting.Terms{}
		(&booking.Fields{RoomIDs: &c.RoomIDs}).ResolveRooms(&terms, nil, booking.Known{Rooms: rooms}, &found)
		found.Move("room_ids", location+".room_ids")
		w := p.dateOf(c, zone, dates)
		switch {
		case c.OriginalStart == nil:
			found.Add(location+".original_start", "required", "is required")
		case w == nil:
			found.Add(location+".original_start", "unknown_date", "must be a date that this change affects")
		case chosen[w]:
			found.Add(location+".original_start", "duplicate", "must not be a duplicate")
		default:
			chosen[w] = true
			w.terms.Rooms, w.room = terms.Rooms, true
		}
	}
	return found.Err()
}

func (p *planner) dateOf(c Choice, zone *time.Location, dates []*plannedDate) *plannedDate {
	if c.OriginalStart == nil {
		return nil
	}
	m, err := c.OriginalStart.In(zone)
	_, gap := err.(*clock.GapError) // a date at a time that clocks skip
	i := slices.IndexFunc(dates, func(w *plannedDate) bool {
		return !gap && w.date.Slot.Start.Equal(m.At) || gap && w.date.Wall.Equal(m.Wall)
	})
	if err != nil && !gap || i < 0 {
		return nil
	}
	return dates[i]
}

// chosenRooms returns the existing rooms of all choices, with their blackouts.
func (p *planner) chosenRooms(ctx context.Context, choices []Choice) ([]*meeting.Room, error) {
	var want []int64
	for _, c := range choices {
		want = append(want, c.RoomIDs[:min(len(c.RoomIDs), booking.MaxRooms)]...)
	}
	slices.Sort(want)
	rooms, err := p.booking.RoomsByID(ctx, slices.Compact(want))
	if err == nil {
		err = p.booking.AddBlackouts(ctx, rooms, p.at)
	}
	if err != nil {
		return nil, fmt.Errorf("look up rooms: %w", err)
	}
	return p.by.VisibleRooms(rooms), nil
}
