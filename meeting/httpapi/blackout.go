package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/places"
	"punctual/meeting/policy"
)

// Blackout is a time at which a room, or every room of a site, takes no meetings.
type Blackout struct {
	ID         int64     `json:"id"`
	RoomID     *int64    `json:"room_id" doc:"ID of the closed room; null if a whole site is closed"`
	SiteID     *int64    `json:"site_id" doc:"ID of the closed site; null if one room is closed"`
	Start      time.Time `json:"start"`
	End        time.Time `json:"end"`
	Reason     string    `json:"reason"`
	CalendarID *int64    `json:"calendar_id" doc:"Holiday calendar that the blackout belongs to; null if there is none. Such a blackout can only be changed through its calendar"`
	Version    int64     `json:"version"`
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`
}

func blackoutOf(b *policy.Blackout) Blackout {
	return Blackout{
		ID: b.ID, RoomID: number(b.RoomID), SiteID: number(b.SiteID),
		Start: b.Slot.Start.UTC(), End: b.Slot.End.UTC(), Reason: b.Reason, CalendarID: number(b.CalendarID),
		Version: b.Version, CreatedAt: b.CreatedAt.UTC(), UpdatedAt: b.UpdatedAt.UTC(),
	}
}

// EffectiveBlackout is a blackout with the meetings that conflict with it.
type EffectiveBlackout struct {
	Blackout
	Affected     []Meeting `json:"affected" nullable:"false" doc:"First 500 meetings that overlap the blackout, including pending moves into it (pending_change), sorted by start. They are not changed"`
	AffectedMore bool      `json:"affected_more" doc:"Whether more meetings overlap than affected lists. Resolve those, then send an empty PATCH to list the next ones"`
}

// BlackoutPatch changes a blackout. Fields that are left out stay unchanged.
type BlackoutPatch struct {
	Start    Field[string] `json:"start,omitempty" doc:"RFC 3339 time with an offset, or local time in timezone" example:"2027-02-10T09:00:00Z"`
	End      Field[string] `json:"end,omitempty" doc:"RFC 3339 time with an offset, or local time in timezone" example:"2027-02-11T09:00:00Z"`
	Timezone Field[string] `json:"timezone,omitempty" doc:"IANA time zone name for local times; defaults to that of the room or site" example:"Europe/Berlin"`
	Reason   Field[string] `json:"reason,omitempty" doc:"Shown to everyone who requests the room; at most 200 characters"`
}

// BlackoutInput is a new blackout, of a room or of a site.
type BlackoutInput struct {
	RoomID Field[int64] `json:"room_id,omitempty" maximum:"9007199254740991"`
	SiteID Field[int64] `json:"site_id,omitempty" maximum:"9007199254740991"`
	BlackoutPatch
}

// TransformSchema names what a new blackout must have.
func (BlackoutInput) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = []string{"start", "end"}
	return s
}

func (p BlackoutPatch) fields(faults []meeting.Fault) places.BlackoutFields {
	return places.BlackoutFields{
		Start: mapField(p.Start, clock.Parse), End: mapField(p.End, clock.Parse), Timezone: p.Timezone.ptr(), Reason: p.Reason.ptr(), Faults: faults,
	}
}

func (p BlackoutInput) fields(faults []meeting.Fault) places.BlackoutFields {
	f := p.BlackoutPatch.fields(faults)
	if !p.RoomID.Null {
		f.RoomID = p.RoomID.ptr()
	}
	if !p.SiteID.Null {
		f.SiteID = p.SiteID.ptr()
	}
	return f
}

func (h *handlers) registerBlackouts(api huma.API) {
	const tag = "Rooms"
	register(api, operation("list-blackouts", http.MethodGet, "/blackouts", "List blackouts by start", tag), h.listBlackouts)
	register(api, creates(operation("create-blackout", http.MethodPost, "/blackouts", "Close a room or site for a time; booked meetings stay booked", tag)), h.createBlackout)
	register(api, operation("get-blackout", http.MethodGet, "/blackouts/{id}", "Get a blackout", tag), h.blackout)
	register(api, operation("update-blackout", http.MethodPatch, "/blackouts/{id}", "Change a blackout", tag), h.updateBlackout)
	register(api, deletes(operation("delete-blackout", http.MethodDelete, "/blackouts/{id}", "Delete a blackout", tag)), h.deleteBlackout)
}

type listBlackoutsInput struct {
	Paging
	RoomID int64  `query:"room_id" doc:"Blackouts of this room and its site"`
	SiteID int64  `query:"site_id" doc:"Blackouts of this site and its rooms"`
	From   string `query:"from" doc:"Blackouts that end after this time" example:"2027-02-10T00:00:00Z"`
	To     string `query:"to" doc:"Blackouts that start before this time" example:"2027-02-17T00:00:00Z"`
}

// Resolve implements [huma.Resolver].
func (in *listBlackoutsInput) Resolve(huma.Context) []error {
	_, err := in.query(provisionalZone(named(in.RoomID)...))
	return resolved(err)
}

func (in *listBlackoutsInput) query(zone *time.Location) (meeting.BlackoutQuery, error) {
	d := decoder{zone: zone}
	q := meeting.BlackoutQuery{
		From: d.instant("from", in.From), To: d.end("to", in.To), RoomID: in.RoomID, SiteID: in.SiteID,
	}
	if !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To) {
		d.add("to", "invalid_span", "must be after from")
	}
	return q, d.err()
}

func (h *handlers) listBlackouts(ctx context.Context, in *listBlackoutsInput) (*listOutput[Blackout], error) {
	zone, err := h.queryZone(ctx, named(in.RoomID), in.From, in.To)
	if err != nil {
		return nil, err
	}
	q, err := in.query(zone)
	if err != nil {
		return nil, err
	}
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	bs, next, err := h.places.Blackouts(ctx, by, q, in.page())
	if err != nil {
		return nil, err
	}
	return listed(bs, next, blackoutOf), nil
}

func (h *handlers) createBlackout(ctx context.Context, in *struct{ Body Body[BlackoutInput] }) (*made[EffectiveBlackout], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	input, faults := in.Body.read(h.registry)
	b, affected, err := h.places.CreateBlackout(ctx, by, input.fields(faults))
	if err != nil {
		return nil, err
	}
	return &made[EffectiveBlackout]{ETag: etag(b.Version), Location: h.locate("blackouts", b.ID), Body: effective(b, affected)}, nil
}

func effective(b *policy.Blackout, affected places.Affected) EffectiveBlackout {
	return EffectiveBlackout{Blackout: blackoutOf(b), Affected: list(affected.Meetings, meetingOf), AffectedMore: affected.More}
}

func (h *handlers) blackout(ctx context.Context, in *Target) (*one[Blackout], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	b, err := h.places.Blackout(ctx, by, in.ID)
	if err != nil {
		return nil, err
	}
	return &one[Blackout]{ETag: etag(b.Version), Body: blackoutOf(b)}, nil
}

type updateBlackoutInput struct {
	Target
	Guard
	Body Body[BlackoutPatch]
}

func (h *handlers) updateBlackout(ctx context.Context, in *updateBlackoutInput) (*one[EffectiveBlackout], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	patch, faults := in.Body.read(h.registry)
	b, affected, err := h.places.UpdateBlackout(ctx, by, in.ID, in.version(), patch.fields(faults))
	if err != nil {
		return nil, err
	}
	return &one[EffectiveBlackout]{ETag: etag(b.Version), Body: effective(b, affected)}, nil
}

func (h *handlers) deleteBlackout(ctx context.Context, in *guardedInput) (*struct{}, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return nil, h.places.DeleteBlackout(ctx, by, in.ID, in.version())
}
