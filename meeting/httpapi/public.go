package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// PublicAccess is what the public calendar shows.
type PublicAccess struct {
	Enabled bool           `json:"enabled" doc:"Whether the public calendar is on (public.enabled of the configuration)"`
	Items   []PublicChoice `json:"items" nullable:"false" doc:"Sites and rooms with a setting. Other rooms follow their site, other sites show nothing"`
}

// PublicChoice is what the public calendar shows of a site or a room.
type PublicChoice struct {
	SiteID *int64 `json:"site_id" doc:"ID of the site; null for a room"`
	RoomID *int64 `json:"room_id" doc:"ID of the room; null for a site"`
	Show   string `json:"show" enum:"off,busy,titles" doc:"busy: times. titles: times, and titles of meetings that are not private"`
}

// PublicChoiceInput chooses what the public calendar shows of a site or a room.
type PublicChoiceInput struct {
	SiteID int64         `json:"site_id,omitempty" minimum:"1" maximum:"9007199254740991"`
	RoomID int64         `json:"room_id,omitempty" minimum:"1" maximum:"9007199254740991"`
	Show   Field[string] `json:"show,omitempty" enum:"off,busy,titles" doc:"If null, a room follows its site and a site shows nothing"`
}

// PublicRoom is a room of the public calendar.
type PublicRoom struct {
	ID       int64  `json:"id"`
	Name     string `json:"name"`
	SiteID   *int64 `json:"site_id" doc:"Null without a site"`
	SiteName string `json:"site_name" doc:"Empty without a site"`
	Timezone string `json:"timezone"`
	Show     string `json:"show" enum:"busy,titles"`
}

// PublicMeeting is a time at which a room of the public calendar is taken.
type PublicMeeting struct {
	RoomID int64     `json:"room_id"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
	Title  *string   `json:"title" doc:"Null if the room shows no titles, or the meeting is private"`
}

func (h *handlers) registerPublic(api huma.API) {
	const tag = "Public calendar"
	register(api, operation("get-public-access", http.MethodGet, "/public-access", "Get the settings of the public calendar", tag), h.publicAccess)
	register(api, operation("set-public-access", http.MethodPut, "/public-access", "Choose what the public calendar shows for a site or a room", tag), h.setPublicAccess)
	open := func(id, path, summary string) huma.Operation {
		op := operation(id, http.MethodGet, path, summary, tag)
		op.Security = []map[string][]string{{}}
		op.Errors = []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusTooManyRequests}
		return op
	}
	register(api, heavy(open("public-rooms", "/public/rooms", "List the rooms of the public calendar, without signing in")), h.publicRooms)
	register(api, heavy(open("public-meetings", "/public/meetings", "List when rooms of the public calendar are taken, without signing in")), h.publicMeetings)
}

func (h *handlers) publicAccess(ctx context.Context, _ *struct{}) (*struct{ Body PublicAccess }, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	chosen, err := h.public.Access(ctx, by)
	if err != nil {
		return nil, err
	}
	return &struct{ Body PublicAccess }{PublicAccess{h.public.Enabled(), list(chosen, func(a meeting.PublicAccess) PublicChoice {
		return PublicChoice{number(a.SiteID), number(a.RoomID), string(a.Show)}
	})}}, nil
}

func (h *handlers) setPublicAccess(ctx context.Context, in *struct{ Body Body[PublicChoiceInput] }) (*struct{ Body PublicAccess }, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	body, faults := in.Body.read(h.registry)
	if err := h.public.SetAccess(ctx, by, meeting.PublicAccess{SiteID: body.SiteID, RoomID: body.RoomID, Show: meeting.PublicShow(body.Show.Value)}, faults); err != nil {
		return nil, err
	}
	return h.publicAccess(ctx, nil)
}

type publicPlace struct {
	SiteID int64 `query:"site_id"`
	RoomID int64 `query:"room_id"`
}

// publicList may be stored by browsers and proxies for a minute.
type publicList[T any] struct {
	CacheControl string `header:"Cache-Control"`
	Body         struct {
		Items []T `json:"items" nullable:"false"`
	}
}

func publiclyListed[S, T any](items []S, to func(S) T) *publicList[T] {
	out := &publicList[T]{CacheControl: "public, max-age=60"}
	out.Body.Items = list(items, to)
	return out
}

func (h *handlers) publicRooms(ctx context.Context, in *publicPlace) (*publicList[PublicRoom], error) {
	rooms, err := h.public.Rooms(ctx, in.SiteID, in.RoomID)
	if err != nil {
		return nil, err
	}
	return publiclyListed(rooms, func(r meeting.PublicRoom) PublicRoom {
		return PublicRoom{r.ID, r.Name, number(r.SiteID), r.Site, r.Zone, string(r.Show)}
	}), nil
}

type publicMeetingsInput struct {
	publicPlace
	From string `query:"from" doc:"Required. Time with an offset" example:"2027-02-10T00:00:00Z"`
	To   string `query:"to" doc:"Required. At most 8 days later" example:"2027-02-11T00:00:00Z"`
}

// Resolve implements [huma.Resolver].
func (in *publicMeetingsInput) Resolve(huma.Context) []error {
	_, err := in.span()
	return resolved(err)
}

func (in *publicMeetingsInput) span() (clock.Slot, error) {
	var d decoder
	span := clock.Slot{Start: d.given("from", in.From, d.instant), End: d.given("to", in.To, d.end)}
	if !span.Start.IsZero() && !span.End.IsZero() && (!span.Start.Before(span.End) || span.End.Sub(span.Start) > meeting.MaxPublicSpan) {
		d.add("to", "invalid_span", "must be after from, at most 8 days later")
	}
	return span, d.err()
}

func (h *handlers) publicMeetings(ctx context.Context, in *publicMeetingsInput) (*publicList[PublicMeeting], error) {
	span, err := in.span()
	if err != nil {
		return nil, err
	}
	rooms, err := h.public.Rooms(ctx, in.SiteID, in.RoomID)
	if err != nil {
		return nil, err
	}
	meetings, err := h.public.Meetings(ctx, rooms, span)
	if err != nil {
		return nil, err
	}
	return publiclyListed(meetings, func(m meeting.PublicMeeting) PublicMeeting {
		return PublicMeeting{m.RoomID, m.Slot.Start.UTC(), m.Slot.End.UTC(), text(m.Title)}
	}), nil
}
