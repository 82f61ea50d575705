package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// Grid is a picture of rooms, in one answer.
type Grid struct {
	Rooms      []GridRoom    `json:"rooms" nullable:"false" doc:"By name"`
	Sites      []GridSite    `json:"sites" nullable:"false" doc:"Of the rooms, by name"`
	Meetings   []GridMeeting `json:"meetings" nullable:"false" doc:"That take up the rooms, or did; by start"`
	NextCursor *string       `json:"next_cursor" doc:"For more rooms; null: these are all"`
}

// GridSite is where rooms of a grid are.
type GridSite struct {
	ID       int64  `json:"id"`
	Name     string `json:"name"`
	Timezone string `json:"timezone,omitempty"`
}

// GridRoom is a room with what shades it.
type GridRoom struct {
	ID            int64          `json:"id"`
	Name          string         `json:"name"`
	SiteID        *int64         `json:"site_id"`
	Floor         string         `json:"floor"`
	Capacity      int            `json:"capacity" doc:"0: unknown"`
	Features      []string       `json:"features" nullable:"false"`
	Timezone      string         `json:"timezone" doc:"The zone in force"`
	NeedsApproval bool           `json:"needs_approval" doc:"Somebody decides on bookings"`
	Step          *string        `json:"step" doc:"Starts and ends are on this grid, counted from midnight in the room's zone; null: none" example:"15m"`
	MinDuration   string         `json:"min_duration" example:"15m"`
	MaxDuration   *string        `json:"max_duration" example:"8h"`
	BufferBefore  string         `json:"buffer_before" doc:"Kept free before a meeting" example:"0s"`
	BufferAfter   string         `json:"buffer_after" example:"5m"`
	Closed        []Interval     `json:"closed" nullable:"false" doc:"Outside of its opening hours"`
	Blackouts     []GridBlackout `json:"blackouts" nullable:"false"`
	Version       int64          `json:"version"`
}

// Interval of time, half-open.
type Interval struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

// GridBlackout closes a room.
type GridBlackout struct {
	ID     int64     `json:"id"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
	Reason string    `json:"reason"`
}

// GridMeeting is a meeting as far as a picture needs it. What is left out is empty.
type GridMeeting struct {
	ID            int64           `json:"id"`
	RoomIDs       []int64         `json:"room_ids" nullable:"false"`
	Title         string          `json:"title" doc:"Busy, if the meeting is private and you may not see it"`
	Start         time.Time       `json:"start"`
	End           time.Time       `json:"end"`
	Organizer     GridOrganizer   `json:"organizer" doc:"Empty, if the meeting is private and you may not see it"`
	Visibility    string          `json:"visibility" enum:"public,private"`
	Status        string          `json:"status" enum:"pending,confirmed,in_progress,ended,rejected,cancelled,released" doc:"As it is at this instant"`
	Occupied      []GridOccupancy `json:"occupied,omitempty" doc:"What it takes of rooms with buffers"`
	SeriesID      *int64          `json:"series_id,omitempty"`
	CheckIn       *MeetingCheckIn `json:"check_in,omitempty" doc:"Left out: nobody has to check in"`
	CheckedInAt   *time.Time      `json:"checked_in_at,omitempty"`
	PendingChange *GridChange     `json:"pending_change,omitempty" doc:"Where the meeting is to move once that is decided"`
	Version       int64           `json:"version"`
}

// GridOrganizer is who booked.
type GridOrganizer struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// GridOccupancy is what a meeting takes of a room, buffers included.
type GridOccupancy struct {
	RoomID int64     `json:"room_id"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
}

// GridChange is where a meeting is to move.
type GridChange struct {
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	RoomIDs []int64   `json:"room_ids" nullable:"false"`
}

func gridOf(g *meeting.Grid, next string) Grid {
	return Grid{
		Rooms: list(g.Rooms, gridRoomOf), Meetings: list(g.Meetings, gridMeetingOf), NextCursor: text(next),
		Sites: list(g.Sites, func(s *meeting.Site) GridSite { return GridSite{s.ID, s.Name, s.Timezone} }),
	}
}

func gridRoomOf(r meeting.GridRoom) GridRoom {
	p := policyOf(r.Policy)
	return GridRoom{
		ID: r.ID, Name: r.Name, SiteID: number(r.SiteID), Floor: r.Floor, Capacity: r.Capacity,
		Features: append([]string{}, r.Features...), Timezone: r.Zone, NeedsApproval: r.Approval.Required,
		Step: p.Step, MinDuration: p.MinDuration, MaxDuration: p.MaxDuration, BufferBefore: p.BufferBefore, BufferAfter: p.BufferAfter,
		Closed: list(r.Closed, func(s clock.Slot) Interval { return Interval{s.Start.UTC(), s.End.UTC()} }),
		Blackouts: list(r.Blackouts, func(b policy.Blackout) GridBlackout {
			return GridBlackout{b.ID, b.Slot.Start.UTC(), b.Slot.End.UTC(), b.Reason}
		}),
		Version: r.Version,
	}
}

func gridMeetingOf(m *meeting.Meeting) GridMeeting {
	w := GridMeeting{
		ID: m.ID, RoomIDs: append([]int64{}, m.RoomIDs...), Title: m.Title, Start: m.Slot.Start.UTC(), End: m.Slot.End.UTC(),
		Organizer:  GridOrganizer{m.Organizer.UserID, m.Organizer.Name},
		Visibility: string(m.Visibility), Status: string(m.Status), SeriesID: number(m.SeriesID), CheckedInAt: instant(m.CheckedInAt), Version: m.Version,
	}
	for _, o := range m.Occupied {
		if o.Slot != m.Slot {
			w.Occupied = append(w.Occupied, GridOccupancy{o.RoomID, o.Slot.Start.UTC(), o.Slot.End.UTC()})
		}
	}
	if c := checkInOf(m); c.Required {
		w.CheckIn = &c
	}
	if c := pendingChangeOf(m); c != nil {
		w.PendingChange = &GridChange{c.Start, c.End, c.RoomIDs}
	}
	return w
}

type gridInput struct {
	IfNoneMatch string   `header:"If-None-Match" doc:"The ETag of the answer before; if nothing changed the answer is 304"`
	From        string   `query:"from" doc:"Required; an instant, or a date by each room's own calendar" example:"2027-02-10"`
	To          string   `query:"to" doc:"Required; like from, at most 62 days after it, and not included" example:"2027-02-11"`
	RoomID      []string `query:"room_id,explode" doc:"These rooms alone; repeated, or separated by commas"`
	SiteID      int64    `query:"site_id"`
	Features    []string `query:"features,explode" doc:"All of them; repeated, or separated by commas"`
	MinCapacity int      `query:"min_capacity" minimum:"0" maximum:"100000"`
	Q           string   `query:"q" maxLength:"200" doc:"In name, floor or features of the room, or in the title of a meeting there"`
	Limit       int      `query:"limit" minimum:"1" maximum:"1000" default:"500" doc:"How many rooms at most"`
	Cursor      string   `query:"cursor" maxLength:"1000" doc:"next_cursor of the page before"`
}

// Resolve implements [huma.Resolver].
func (in *gridInput) Resolve(huma.Context) []error {
	var d decoder
	_, err := in.query(provisionalZone(in.rooms(&d)...))
	return resolved(err)
}

// rooms that the query names.
func (in *gridInput) rooms(d *decoder) (rooms []int64) {
	for _, s := range commas(in.RoomID) {
		id, err := strconv.ParseInt(s, 10, 64)
		if err != nil || id < 1 {
			d.add("room_id", "invalid_type", "must be the id of a room")
			break
		}
		rooms = append(rooms, id)
	}
	if len(rooms) > 1000 {
		d.add("room_id", "too_many", "must have at most 1,000 rooms")
	}
	return rooms
}

func (in *gridInput) query(zone *time.Location) (meeting.GridQuery, error) {
	d := decoder{zone: zone}
	start, end := d.instant, d.end
	dates := len(in.From) == len(time.DateOnly)
	if dates {
		start, end = d.date, d.date
	}
	q := meeting.GridQuery{
		Span:  clock.Slot{Start: d.given("from", in.From, start), End: d.given("to", in.To, end)},
		Dates: dates,
		Rooms: meeting.RoomQuery{SiteID: in.SiteID, Features: commas(in.Features), MinCapacity: in.MinCapacity},
		Text:  in.Q,
	}
	q.RoomIDs = in.rooms(&d)
	return q, d.err()
}

func (h *handlers) registerGrid(api huma.API) {
	op := heavy(operation("grid", http.MethodGet, "/grid", "Rooms and their meetings, as a calendar shows them", "Finding rooms"))
	op.Description = "All that a day of many rooms, or a month of a few, is drawn from, in one answer: when each room is closed, and what takes it up."
	op.Responses = map[string]*huma.Response{
		"200": {
			Description: "OK",
			Headers:     map[string]*huma.Param{"ETag": {Description: "Of this picture, for If-None-Match", Schema: &huma.Schema{Type: huma.TypeString}}},
			Content:     map[string]*huma.MediaType{"application/json": {Schema: h.registry.Schema(reflect.TypeFor[Grid](), true, "")}},
		},
		"304": {Description: "Not Modified"},
	}
	register(api, op, h.grid)
}

func (h *handlers) grid(ctx context.Context, in *gridInput) (*huma.StreamResponse, error) {
	by, err := asking(ctx)
	if err != nil {
		return nil, err
	}
	zone, err := h.queryZone(ctx, in.rooms(&decoder{}), in.From, in.To)
	if err != nil {
		return nil, err
	}
	q, err := in.query(zone)
	if err != nil {
		return nil, err
	}
	g, next, err := h.svc.Grid(ctx, by, q, meeting.Page{Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return nil, err
	}
	return unlessKnown(in.IfNoneMatch, gridOf(g, next))
}
