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
	"punctual/meeting/finding"
	"punctual/meeting/policy"
)

// Grid is the data of a calendar of rooms, in one response.
type Grid struct {
	Rooms      []GridRoom    `json:"rooms" nullable:"false" doc:"Rooms, sorted by name"`
	Sites      []GridSite    `json:"sites" nullable:"false" doc:"Sites of the rooms, sorted by name"`
	Meetings   []GridMeeting `json:"meetings" nullable:"false" doc:"Meetings that occupy or occupied the rooms, sorted by start"`
	NextCursor *string       `json:"next_cursor" doc:"Cursor of the next page of rooms; null on the last page"`
}

// GridSite is a site of rooms in a grid.
type GridSite struct {
	ID       int64  `json:"id"`
	Name     string `json:"name"`
	Timezone string `json:"timezone,omitempty"`
}

// GridRoom is a room with its closed times and blackouts.
type GridRoom struct {
	ID            int64          `json:"id"`
	Name          string         `json:"name"`
	SiteID        *int64         `json:"site_id"`
	Floor         string         `json:"floor"`
	Capacity      int            `json:"capacity" doc:"Number of seats; 0 if unknown"`
	Features      []string       `json:"features" nullable:"false"`
	Timezone      string         `json:"timezone" doc:"Effective time zone"`
	NeedsApproval bool           `json:"needs_approval" doc:"Whether a booking by the caller needs approval by somebody else"`
	Bookable      bool           `json:"bookable" doc:"Whether the caller may book the room; false if only other groups may"`
	Step          *string        `json:"step" doc:"Interval at which meetings may start and end, counted from midnight in the room's time zone; null for any time" example:"15m"`
	MinDuration   string         `json:"min_duration" example:"15m"`
	MaxDuration   *string        `json:"max_duration" example:"8h"`
	BufferBefore  string         `json:"buffer_before" doc:"Time kept free before a meeting" example:"0s"`
	BufferAfter   string         `json:"buffer_after" example:"5m"`
	Closed        []Interval     `json:"closed" nullable:"false" doc:"Times outside the opening hours"`
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

// GridMeeting is a meeting as far as a grid needs it. Empty fields are left out.
type GridMeeting struct {
	ID            int64           `json:"id"`
	RoomIDs       []int64         `json:"room_ids" nullable:"false"`
	Title         string          `json:"title" doc:"Title; Busy if the meeting is private and you may not see it"`
	Start         time.Time       `json:"start"`
	End           time.Time       `json:"end"`
	Organizer     GridOrganizer   `json:"organizer" doc:"Organizer; empty if the meeting is private and you may not see it"`
	Visibility    string          `json:"visibility" enum:"public,private"`
	Status        string          `json:"status" enum:"pending,confirmed,in_progress,ended,rejected,cancelled,released" doc:"Current status"`
	Occupied      []GridOccupancy `json:"occupied,omitempty" doc:"Times for which the meeting occupies rooms, including buffers"`
	SeriesID      *int64          `json:"series_id,omitempty"`
	TypeID        *int64          `json:"type_id,omitempty" doc:"Meeting type"`
	CheckIn       *MeetingCheckIn `json:"check_in,omitempty" doc:"Check-in state; omitted if no check-in is required"`
	CheckedInAt   *time.Time      `json:"checked_in_at,omitempty"`
	PendingChange *GridChange     `json:"pending_change,omitempty" doc:"Requested new time or rooms, waiting for approval"`
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

// GridChange is the requested move of a meeting.
type GridChange struct {
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	RoomIDs []int64   `json:"room_ids" nullable:"false"`
}

func gridOf(g *finding.Grid, next string) Grid {
	return Grid{
		Rooms: list(g.Rooms, gridRoomOf), Meetings: list(g.Meetings, gridMeetingOf), NextCursor: text(next),
		Sites: list(g.Sites, func(s *meeting.Site) GridSite { return GridSite{s.ID, s.Name, s.Timezone} }),
	}
}

func gridRoomOf(r finding.GridRoom) GridRoom {
	p := policyOf(r.Policy)
	return GridRoom{
		ID: r.ID, Name: r.Name, SiteID: number(r.SiteID), Floor: r.Floor, Capacity: r.Capacity,
		Features: append([]string{}, r.Features...), Timezone: r.Zone, NeedsApproval: r.NeedsApproval, Bookable: !r.Barred,
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
		Visibility: string(m.Visibility), Status: string(m.Status), SeriesID: number(m.SeriesID), TypeID: number(m.TypeID), CheckedInAt: instant(m.CheckedInAt), Version: m.Version,
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
	IfNoneMatch string   `header:"If-None-Match" doc:"ETag of the previous response; the response is 304 if nothing has changed"`
	From        string   `query:"from" doc:"Required. Time, or date in each room's time zone" example:"2027-02-10"`
	To          string   `query:"to" doc:"Required. Exclusive end in the same form as from, at most 62 days later" example:"2027-02-11"`
	RoomID      []string `query:"room_id,explode" doc:"Only these rooms; repeat the parameter or separate values with commas"`
	SiteID      int64    `query:"site_id"`
	Features    []string `query:"features,explode" doc:"Rooms with all of these features; repeat the parameter or separate values with commas"`
	MinCapacity int      `query:"min_capacity" minimum:"0" maximum:"100000"`
	Q           string   `query:"q" maxLength:"200" doc:"Text in the room's name, floor or features, or in the title of one of its meetings"`
	Limit       int      `query:"limit" minimum:"1" maximum:"1000" default:"500" doc:"Maximum number of rooms; at most 200 for more than a day"`
	Cursor      string   `query:"cursor" maxLength:"1000" doc:"The next_cursor of the previous page"`
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

func (in *gridInput) query(zone *time.Location) (finding.GridQuery, error) {
	d := decoder{zone: zone}
	start, end := d.instant, d.end
	dates := len(in.From) == len(time.DateOnly)
	if dates {
		start, end = d.date, d.date
	}
	q := finding.GridQuery{
		Span:  clock.Slot{Start: d.given("from", in.From, start), End: d.given("to", in.To, end)},
		Dates: dates,
		Rooms: meeting.RoomQuery{SiteID: in.SiteID, Features: commas(in.Features), MinCapacity: in.MinCapacity},
		Text:  in.Q,
	}
	q.RoomIDs = in.rooms(&d)
	return q, d.err()
}

func (h *handlers) registerGrid(api huma.API) {
	op := heavy(operation("grid", http.MethodGet, "/grid", "Get rooms with their meetings for a calendar view", "Finding rooms"))
	op.Description = "Everything needed to draw a day of many rooms or a month of a few: when each room is closed, and what occupies it."
	op.Responses = map[string]*huma.Response{
		"200": {
			Description: "OK",
			Headers:     map[string]*huma.Param{"ETag": {Description: "ETag of this response, for If-None-Match", Schema: &huma.Schema{Type: huma.TypeString}}},
			Content:     map[string]*huma.MediaType{"application/json": {Schema: h.registry.Schema(reflect.TypeFor[Grid](), true, "")}},
		},
		"304": {Description: "Not Modified"},
	}
	register(api, op, h.grid)
}

func (h *handlers) grid(ctx context.Context, in *gridInput) (*huma.StreamResponse, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	known := in.IfNoneMatch
	in.IfNoneMatch = ""
	return h.revalidator.respond(ctx, by, in, known, func() (any, time.Time, error) {
		zone, err := h.queryZone(ctx, in.rooms(&decoder{}), in.From, in.To)
		if err != nil {
			return nil, time.Time{}, err
		}
		q, err := in.query(zone)
		if err != nil {
			return nil, time.Time{}, err
		}
		g, next, err := h.finding.Grid(ctx, by, q, meeting.Page{Limit: in.Limit, Cursor: in.Cursor})
		if err != nil {
			return nil, time.Time{}, err
		}
		return gridOf(g, next), g.Until, nil
	})
}
