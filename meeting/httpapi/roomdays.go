package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/meeting"
	"punctual/meeting/finding"
)

// RoomDays is how busy a room is, day by day; the three lists have one number for each day.
type RoomDays struct {
	RoomID      int64  `json:"room_id"`
	Timezone    string `json:"timezone" doc:"Time zone of the days" example:"Europe/Berlin"`
	BusyMinutes []int  `json:"busy_minutes" nullable:"false" doc:"Minutes of each day in meetings, without buffers"`
	OpenMinutes []int  `json:"open_minutes" nullable:"false" doc:"Minutes of each day within the opening hours, ignoring blackouts; a room without opening hours is always open"`
	Meetings    []int  `json:"meetings" nullable:"false" doc:"Number of meetings on each day"`
}

func roomDaysOf(r finding.RoomDays) RoomDays {
	days := RoomDays{RoomID: r.Room.ID, Timezone: r.Room.Zone}
	for _, d := range r.Days {
		days.BusyMinutes = append(days.BusyMinutes, int(d.Busy.Round(time.Minute)/time.Minute))
		days.OpenMinutes = append(days.OpenMinutes, int(d.Open.Round(time.Minute)/time.Minute))
		days.Meetings = append(days.Meetings, d.Meetings)
	}
	return days
}

type roomDaysInput struct {
	Paging
	From        string   `query:"from" doc:"Required. First day, in each room's time zone" example:"2027-02-01"`
	To          string   `query:"to" doc:"Day after the last one, at most 100 days after from; defaults to the day after from. For more than a week, a page has at most 200 rooms" example:"2027-03-01"`
	RoomID      int64    `query:"room_id" doc:"Only this room"`
	SiteID      int64    `query:"site_id"`
	Features    []string `query:"features,explode" doc:"Rooms with all of these features; repeat the parameter or separate values with commas"`
	MinCapacity int      `query:"min_capacity" minimum:"0" maximum:"100000"`
	Q           string   `query:"q" maxLength:"200" doc:"Text in the room's name or floor"`
}

func (h *handlers) registerRoomDays(api huma.API) {
	register(api, heavy(operation("room-days", http.MethodGet, "/occupancy", "Get how busy rooms are on each day", "Finding rooms")), h.roomDays)
}

// Resolve implements [huma.Resolver].
func (in *roomDaysInput) Resolve(huma.Context) []error {
	_, _, err := in.days()
	return resolved(err)
}

func (in *roomDaysInput) days() (from, to time.Time, err error) {
	var d decoder
	if in.From == "" {
		d.add("from", "required", "is required")
	}
	from, to = d.date("from", in.From), d.date("to", in.To)
	return from, to, d.err()
}

func (h *handlers) roomDays(ctx context.Context, in *roomDaysInput) (*listOutput[RoomDays], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	from, to, err := in.days()
	if err != nil {
		return nil, err
	}
	q := meeting.RoomQuery{SiteID: in.SiteID, Features: commas(in.Features), MinCapacity: in.MinCapacity, Text: in.Q}
	found, next, err := h.finding.RoomDays(ctx, by, q, in.RoomID, from, to, in.page())
	if err != nil {
		return nil, err
	}
	return listed(found, next, roomDaysOf), nil
}

// date reads a calendar date; empty is the zero time.
func (d *decoder) date(location, s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || t.Year() < 1 {
		d.add(location, "invalid_date", "must be a date like 2027-02-10")
		return time.Time{}
	}
	return t
}
