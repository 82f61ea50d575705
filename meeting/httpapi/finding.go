package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/finding"
)

// Availability of a room at a time.
type Availability struct {
	Room          Room       `json:"room"`
	Free          bool       `json:"free" doc:"Whether you can currently book the room for the whole time"`
	NeedsApproval bool       `json:"needs_approval" doc:"Whether someone else must approve the booking"`
	Reasons       []Obstacle `json:"reasons" nullable:"false" doc:"Why the room is not free; at most the first 20 reasons"`
	MoreReasons   int        `json:"more_reasons,omitempty" doc:"Number of further reasons"`
	MayOverride   bool       `json:"may_override" doc:"Whether the caller may override the policies of the room with a reason"`
}

// Obstacle is a reason why a room is not available.
type Obstacle struct {
	Code    string     `json:"code" doc:"room_conflict, features, no_time_to_decide, or the code of the fault that a booking would return" example:"room_conflict"`
	Message string     `json:"message"`
	Start   *time.Time `json:"start,omitempty" doc:"Start of the conflict including buffers, of the blackout, or of the quota's period"`
	End     *time.Time `json:"end,omitempty"`
	Limit   any        `json:"limit,omitempty" doc:"What the rule allows"`
	Actual  any        `json:"actual,omitempty" doc:"The requested value, in the same form as limit"`
	Used    any        `json:"used,omitempty" doc:"What your other meetings use of the quota"`
	Per     string     `json:"per,omitempty" doc:"Period of the quota: day, week or month"`
	Reason  string     `json:"reason,omitempty" doc:"Reason of the blackout"`
	Feature string     `json:"feature,omitempty" doc:"Feature that the room lacks; only with features"`
}

// Suggestion is a room and a time at which the caller may book it.
type Suggestion struct {
	Room          Room      `json:"room"`
	Start         time.Time `json:"start"`
	End           time.Time `json:"end"`
	NeedsApproval bool      `json:"needs_approval" doc:"Whether someone else must approve the booking"`
}

// Need holds the requirements for a room.
type Need struct {
	Attendees string   `query:"attendees" maxLength:"20000" doc:"Number of attendees, or their addresses separated by commas" example:"8"`
	Features  []string `query:"features,explode" doc:"Rooms with all of these features; repeat the parameter or separate values with commas"`
	SiteID    int64    `query:"site_id"`
	RoomID    []int64  `query:"room_id,explode" doc:"Only these rooms; repeat the parameter"`

	OrganizerID int64 `query:"organizer_id" minimum:"0" doc:"User for whom you book: the rights and limits of that user count. For delegates of the user"`
}

func (in *Need) need(d *decoder) finding.Need {
	n := finding.Need{Features: commas(in.Features), SiteID: in.SiteID, RoomIDs: in.RoomID}
	if in.Attendees == "" {
		return n
	}
	persons, err := strconv.Atoi(in.Attendees)
	switch {
	case err == nil:
		n.Persons = persons
	case strings.Contains(in.Attendees, "@"):
		n.Persons = len(commas([]string{in.Attendees}))
	default:
		d.add("attendees", "invalid_type", "must be a number of people, or their addresses separated by commas")
	}
	return n
}

// given parses a required instant.
func (d *decoder) given(location, s string, read func(location, s string) time.Time) time.Time {
	if s == "" {
		d.add(location, "required", "is required")
	}
	return read(location, s)
}

func (h *handlers) registerFinding(api huma.API) {
	const tag = "Finding rooms"
	register(api, heavy(operation("room-availability", http.MethodGet, "/availability", "List which rooms are free at a time, and why others are not", tag)), h.availability)
	register(api, heavy(operation("room-suggestions", http.MethodGet, "/suggestions", "Suggest times and rooms that you can book", tag)), h.suggestions)
}

type availabilityInput struct {
	Paging
	Need
	Start string `query:"start" doc:"Required. Start of the time" example:"2027-02-10T09:00:00Z"`
	End   string `query:"end" doc:"Required. End of the time, at most 31 days after start" example:"2027-02-10T10:00:00Z"`
	Free  bool   `query:"free" doc:"Whether to list only free rooms; a page may then hold fewer items than limit"`

	IncludeInactive bool `query:"include_inactive" doc:"Whether to include rooms that currently take no bookings, with that as a reason"`
}

// Resolve implements [huma.Resolver].
func (in *availabilityInput) Resolve(huma.Context) []error {
	_, err := in.query(provisionalZone(in.RoomID...))
	return resolved(err)
}

func (in *availabilityInput) query(zone *time.Location) (finding.AvailabilityQuery, error) {
	d := decoder{zone: zone}
	q := finding.AvailabilityQuery{
		Slot: clock.Slot{Start: d.given("start", in.Start, d.instant), End: d.given("end", in.End, d.end)},
		Need: in.need(&d), OnlyFree: in.Free, IncludeInactive: in.IncludeInactive,
	}
	return q, d.err()
}

func (h *handlers) availability(ctx context.Context, in *availabilityInput) (*listOutput[Availability], error) {
	by, err := h.searcher(ctx, in.OrganizerID)
	if err != nil {
		return nil, err
	}
	zone, err := h.queryZone(ctx, in.RoomID, in.Start, in.End)
	if err != nil {
		return nil, err
	}
	q, err := in.query(zone)
	if err != nil {
		return nil, err
	}
	found, next, err := h.finding.Availability(ctx, by, q, in.page())
	if err != nil {
		return nil, err
	}
	return listed(found, next, availabilityOf), nil
}

func availabilityOf(a finding.Availability) Availability {
	return Availability{
		Room: roomOf(a.Room), Free: len(a.Reasons) == 0, NeedsApproval: a.NeedsApproval, MayOverride: a.MayOverride, MoreReasons: a.MoreReasons,
		Reasons: list(a.Reasons, func(r finding.Reason) Obstacle {
			of, span := r.Figures, r.Span
			if span.Start.IsZero() {
				span = clock.Slot(of.Span)
			}
			return Obstacle{
				Code: r.Code, Message: r.Message, Start: instant(span.Start), End: instant(span.End),
				Limit: of.Limit, Actual: of.Actual, Used: of.Used, Per: of.Per, Reason: of.Reason, Feature: r.Feature,
			}
		}),
	}
}

type suggestionsInput struct {
	Need
	Duration string `query:"duration" doc:"Required. Length of the meeting" example:"1h"`
	From     string `query:"from" doc:"Start of the range; defaults to now" example:"2027-02-10T09:00:00Z"`
	To       string `query:"to" doc:"End of the range, at most 31 days after from; defaults to seven days after from" example:"2027-02-11T00:00:00Z"`
	Limit    int    `query:"limit" minimum:"1" maximum:"100" default:"10" doc:"Maximum number of items"`
}

// Resolve implements [huma.Resolver].
func (in *suggestionsInput) Resolve(huma.Context) []error {
	_, _, _, err := in.query(provisionalZone(in.RoomID...))
	return resolved(err)
}

func (in *suggestionsInput) query(zone *time.Location) (n finding.Need, length time.Duration, span clock.Slot, err error) {
	d := decoder{zone: zone}
	if in.Duration == "" {
		d.add("duration", "required", "is required")
	}
	length = d.duration("duration", in.Duration)
	span = clock.Slot{Start: d.instant("from", in.From), End: d.end("to", in.To)}
	n = in.need(&d)
	return n, length, span, d.err()
}

func (h *handlers) suggestions(ctx context.Context, in *suggestionsInput) (*listOutput[Suggestion], error) {
	by, err := h.searcher(ctx, in.OrganizerID)
	if err != nil {
		return nil, err
	}
	zone, err := h.queryZone(ctx, in.RoomID, in.From, in.To)
	if err != nil {
		return nil, err
	}
	n, length, span, err := in.query(zone)
	if err != nil {
		return nil, err
	}
	found, err := h.finding.Suggestions(ctx, by, n, length, span, in.Limit)
	if err != nil {
		return nil, err
	}
	return listed(found, "", func(s finding.Suggestion) Suggestion {
		return Suggestion{Room: roomOf(s.Room), Start: s.Slot.Start.UTC(), End: s.Slot.End.UTC(), NeedsApproval: s.NeedsApproval}
	}), nil
}

// searcher returns the caller, or the caller as a delegate of a user; 0: none.
func (h *handlers) searcher(ctx context.Context, userID int64) (meeting.Actor, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return by, err
	}
	return h.svc.Searcher(ctx, by, userID)
}
