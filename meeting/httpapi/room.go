package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/places"
	"punctual/meeting/policy"
)

// Room is a bookable room.
type Room struct {
	ID             int64        `json:"id"`
	Name           string       `json:"name"`
	SiteID         *int64       `json:"site_id"`
	Floor          string       `json:"floor"`
	Capacity       int          `json:"capacity" doc:"Number of seats; 0 if unknown"`
	Features       []string     `json:"features" nullable:"false"`
	Photo          *string      `json:"photo" doc:"Version of the room's photo, for its address; null if the room has none"`
	Timezone       string       `json:"timezone" doc:"Effective time zone: the room's, its site's or the installation's"`
	OwnZone        *string      `json:"own_timezone" doc:"Time zone set for this room; null if that of its site or of the installation applies"`
	Address        *string      `json:"address" doc:"Part before the @ of the mail address at which the room answers invitations; null if it has none" example:"turing"`
	Facility       *string      `json:"facility_email" doc:"Where faults of the room are mailed; null for the facility_email of its site" example:"facility@example.org"`
	Active         bool         `json:"active"`
	Approval       RoomApproval `json:"approval"`
	Policy         Policy       `json:"policy"`
	Access         *Access      `json:"access" doc:"What members of groups may do in the room; null if that of its site applies"`
	CheckIn        CheckIn      `json:"check_in"`
	Blackouts      []Blackout   `json:"blackouts" nullable:"false" doc:"Current blackouts of the room and its site, and those of the next 90 days; in a search, those of the time in question. At most 20, by start"`
	BlackoutsUntil *time.Time   `json:"blackouts_until" doc:"Blackouts that start at this time or later are not listed: see GET /blackouts; null if all are listed"`
	Version        int64        `json:"version"`
	CreatedAt      time.Time    `json:"created_at"`
	UpdatedAt      time.Time    `json:"updated_at"`
}

// RoomApproval says who must approve meetings in the room.
type RoomApproval struct {
	Required    bool    `json:"required"`
	ApproverIDs []int64 `json:"approver_ids" nullable:"false" doc:"User IDs; empty if the admins decide"`
	Timeout     *string `json:"timeout" doc:"Time to decide; null for the installation's default" example:"24h"`

	SecondLevel   *SecondLevel `json:"second_level" doc:"Approvers who are asked after the first level has approved; null if there is no second level"`
	OnTimeout     *string      `json:"on_timeout" enum:"reject,approve" doc:"What happens to a request that nobody decides; null for the installation's default"`
	EscalateAfter *string      `json:"escalate_after" doc:"Time until further approvers are asked; null for the installation's default" example:"4h"`
	EscalateTo    []int64      `json:"escalate_to" nullable:"false" doc:"IDs of the further approvers; empty for the admins"`
}

// SecondLevel holds the approvers who decide after the first level has approved.
type SecondLevel struct {
	ApproverIDs []int64 `json:"approver_ids" nullable:"false" maximum:"9007199254740991" doc:"IDs of managers or admins"`
}

// Policy limits the meetings of a room.
type Policy struct {
	OpeningHours []OpeningHours `json:"opening_hours" nullable:"false"`
	MinDuration  string         `json:"min_duration" example:"15m"`
	MaxDuration  *string        `json:"max_duration" doc:"Maximum length of a meeting; null for the installation's limit" example:"8h"`
	Step         *string        `json:"step" doc:"Interval at which meetings may start and end, counted from midnight in the room's time zone; null for any time" example:"15m"`
	MinNotice    string         `json:"min_notice" example:"0s"`
	MaxAdvance   *string        `json:"max_advance" doc:"How far ahead meetings can be booked; null for the installation's limit" example:"8760h"`
	LastChange   *string        `json:"last_change" doc:"How long before the start members can still move or cancel their meetings; null for the installation's limit. Managers and admins always can" example:"2h"`
	BufferBefore string         `json:"buffer_before" example:"0s"`
	BufferAfter  string         `json:"buffer_after" example:"5m"`
	Quota        *Quota         `json:"quota"`
}

// OpeningHours are times of day on some days of the week, in the room's zone. A time that
// ends before it begins reaches into the next day.
type OpeningHours struct {
	Days []string `json:"days" enum:"MO,TU,WE,TH,FR,SA,SU" nullable:"false"`
	From string   `json:"from" example:"08:00"`
	To   string   `json:"to" example:"24:00"`
}

// Quota of one person for the room.
type Quota struct {
	Per      string  `json:"per" enum:"day,week,month"`
	Count    *int    `json:"count,omitempty" minimum:"0" maximum:"1000000"`
	Duration *string `json:"duration,omitempty" example:"10h"`

	Groups []GroupQuota `json:"groups,omitempty" doc:"Quotas for members of groups, which apply instead. For members of several of them, the most generous values apply"`
}

// GroupQuota is the quota of each member of a group, in the same period.
type GroupQuota struct {
	GroupID  int64   `json:"group_id" minimum:"1" maximum:"9007199254740991"`
	Count    *int    `json:"count,omitempty" minimum:"0" maximum:"1000000" doc:"Not limited if omitted"`
	Duration *string `json:"duration,omitempty" example:"10h" doc:"Not limited if omitted"`
}

// CheckIn says whether check-in is required, and when it is open.
type CheckIn struct {
	Required bool   `json:"required"`
	Opens    string `json:"opens" doc:"How long before the start check-in opens" example:"15m"`
	Grace    string `json:"grace" doc:"How long after the start the room is released without a check-in" example:"10m"`

	Inherited bool `json:"inherited" doc:"Whether the room follows the installation's setting, booking.check_in"`
}

// maxBlackouts limits the blackouts that a room lists: with holiday calendars, sites have hundreds.
const maxBlackouts = 20

func roomOf(r *meeting.Room) Room {
	blackouts, until := r.Blackouts, r.BlackoutsUntil
	if len(blackouts) > maxBlackouts {
		blackouts, until = blackouts[:maxBlackouts], blackouts[maxBlackouts].Slot.Start
	}
	return Room{
		ID: r.ID, Name: r.Name, SiteID: number(r.SiteID), Floor: r.Floor, Capacity: r.Capacity,
		Features:       append([]string{}, r.Features...),
		Photo:          text(r.Photo),
		Timezone:       r.Zone,
		OwnZone:        text(r.Timezone),
		Address:        text(r.Address),
		Facility:       text(r.Facility),
		Active:         r.Active,
		Approval:       roomApprovalOf(r.Approval),
		Policy:         policyOf(r.Policy),
		Access:         accessOf(r.OwnAccess),
		CheckIn:        CheckIn{Required: r.CheckIn.Required, Opens: duration(r.CheckIn.Opens), Grace: duration(r.CheckIn.Grace), Inherited: r.Inherits},
		Blackouts:      list(blackouts, func(b policy.Blackout) Blackout { return blackoutOf(&b) }),
		BlackoutsUntil: instant(until),
		Version:        r.Version,
		CreatedAt:      r.CreatedAt.UTC(),
		UpdatedAt:      r.UpdatedAt.UTC(),
	}
}

func roomApprovalOf(a meeting.RoomApproval) RoomApproval {
	w := RoomApproval{
		Required: a.Required, ApproverIDs: append([]int64{}, a.ApproverIDs...), Timeout: limit(a.Timeout),
		OnTimeout: text(outcomes[a.OnTimeout]), EscalateAfter: limit(a.EscalateAfter), EscalateTo: append([]int64{}, a.EscalateTo...),
	}
	if len(a.SecondIDs) > 0 {
		w.SecondLevel = &SecondLevel{ApproverIDs: a.SecondIDs}
	}
	return w
}

// outcomes are the outcomes of a time-out, as in the API.
var outcomes = map[meeting.Status]string{meeting.Rejected: "reject", meeting.Confirmed: "approve"}

func onTimeout(s string) meeting.Status {
	for status, word := range outcomes {
		if s == word {
			return status
		}
	}
	return meeting.Status(s)
}

func policyOf(p policy.Policy) Policy {
	w := Policy{
		OpeningHours: list(p.OpeningHours, func(h policy.OpeningHours) OpeningHours { return OpeningHours(h) }),
		MinDuration:  duration(p.MinDuration),
		MaxDuration:  limit(p.MaxDuration),
		Step:         limit(p.Step),
		MinNotice:    duration(p.MinNotice),
		MaxAdvance:   limit(p.MaxAdvance),
		LastChange:   limit(p.LastChange),
		BufferBefore: duration(p.BufferBefore),
		BufferAfter:  duration(p.BufferAfter),
	}
	if q := p.Quota; q != nil {
		w.Quota = &Quota{Per: q.Per, Duration: limit(q.Duration)}
		if q.Count > 0 {
			w.Quota.Count = &q.Count
		}
		for _, g := range q.Groups {
			own := GroupQuota{GroupID: g.GroupID, Duration: limit(g.Duration)}
			if g.Count > 0 {
				own.Count = &g.Count
			}
			w.Quota.Groups = append(w.Quota.Groups, own)
		}
	}
	return w
}

// RoomPatch changes a room. Fields that are left out stay unchanged, in nested objects too; null
// clears them. Lists, second_level and quota are replaced as a whole.
type RoomPatch struct {
	Name     Field[string]            `json:"name,omitempty" doc:"1 to 200 characters"`
	SiteID   Field[int64]             `json:"site_id,omitempty" maximum:"9007199254740991"`
	Floor    Field[string]            `json:"floor,omitempty" doc:"At most 50 characters"`
	Capacity Field[int]               `json:"capacity,omitempty" minimum:"0" maximum:"100000" doc:"Number of seats; 0 if unknown"`
	Features Field[[]string]          `json:"features,omitempty" doc:"At most 50 features of up to 50 characters each"`
	Timezone Field[string]            `json:"timezone,omitempty" doc:"IANA time zone name; null for the site's time zone" example:"Europe/Berlin"`
	Address  Field[string]            `json:"address,omitempty" doc:"Part before the @ of a mail address, in lower case; the room answers invitations to it. Null for none" example:"turing"`
	Facility Field[string]            `json:"facility_email,omitempty" doc:"Where faults of the room are mailed; null for the facility_email of its site" example:"facility@example.org"`
	Active   Field[bool]              `json:"active,omitempty" doc:"Whether the room takes new meetings"`
	Approval Field[RoomApprovalPatch] `json:"approval,omitempty"`
	Policy   Field[PolicyPatch]       `json:"policy,omitempty"`
	Access   Field[Access]            `json:"access,omitempty" doc:"Complete access, which replaces the previous one; null for that of the site"`
	CheckIn  Field[CheckInPatch]      `json:"check_in,omitempty" doc:"Check-in rules of the room; null for the installation's setting"`
}

// RoomApprovalPatch changes the approval settings of the room.
type RoomApprovalPatch struct {
	Required    Field[bool]    `json:"required,omitempty"`
	ApproverIDs Field[[]int64] `json:"approver_ids,omitempty" maximum:"9007199254740991" doc:"IDs of managers or admins; empty if the admins decide"`
	Timeout     Field[string]  `json:"timeout,omitempty" doc:"Time to decide; null for the installation's default" example:"24h"`

	SecondLevel   Field[SecondLevel] `json:"second_level,omitempty" doc:"Approvers who are asked after the first level has approved; null for no second level"`
	OnTimeout     Field[string]      `json:"on_timeout,omitempty" enum:"reject,approve" doc:"What happens to a request that nobody decides; null for the installation's default"`
	EscalateAfter Field[string]      `json:"escalate_after,omitempty" doc:"Time until further approvers are asked; null for the installation's default" example:"4h"`
	EscalateTo    Field[[]int64]     `json:"escalate_to,omitempty" maximum:"9007199254740991" doc:"IDs of managers or admins to ask then; empty for the admins"`
}

// PolicyPatch changes the policy of the room.
type PolicyPatch struct {
	OpeningHours Field[[]OpeningHours] `json:"opening_hours,omitempty" doc:"Complete list, which replaces the previous one; empty if the room is always open"`
	MinDuration  Field[string]         `json:"min_duration,omitempty" example:"15m"`
	MaxDuration  Field[string]         `json:"max_duration,omitempty" doc:"Maximum length of a meeting; null for the installation's limit" example:"8h"`
	Step         Field[string]         `json:"step,omitempty" doc:"Interval at which meetings may start and end; must divide a day. null for any time" example:"15m"`
	MinNotice    Field[string]         `json:"min_notice,omitempty" example:"0s"`
	MaxAdvance   Field[string]         `json:"max_advance,omitempty" doc:"How far ahead meetings can be booked; null for the installation's limit" example:"8760h"`
	LastChange   Field[string]         `json:"last_change,omitempty" doc:"How long before the start members can still move or cancel their meetings; null for the installation's limit. Managers and admins always can" example:"2h"`
	BufferBefore Field[string]         `json:"buffer_before,omitempty" example:"0s"`
	BufferAfter  Field[string]         `json:"buffer_after,omitempty" example:"5m"`
	Quota        Field[Quota]          `json:"quota,omitempty" doc:"Complete quota, which replaces the previous one; null for none"`
}

// CheckInPatch changes the check-in settings of the room.
type CheckInPatch struct {
	Required Field[bool]   `json:"required,omitempty"`
	Opens    Field[string] `json:"opens,omitempty" example:"15m"`
	Grace    Field[string] `json:"grace,omitempty" example:"10m"`
}

// RoomInput is a new room; it needs only a name.
type RoomInput RoomPatch

// TransformSchema names what a new room must have.
func (RoomInput) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = []string{"name"}
	return s
}

func (p RoomPatch) fields(faults []meeting.Fault) places.RoomFields {
	d := decoder{faults: faults}
	approval, policy, checkIn := object(p.Approval), object(p.Policy), object(p.CheckIn)
	f := places.RoomFields{
		Name: p.Name.ptr(), SiteID: p.SiteID.ptr(), Floor: p.Floor.ptr(), Capacity: p.Capacity.ptr(),
		Features: p.Features.ptr(), Timezone: p.Timezone.ptr(), Address: p.Address.ptr(), Facility: p.Facility.ptr(), Active: p.Active.or(true).ptr(),
		Access: p.roomAccess(),

		ApprovalRequired: approval.Required.ptr(),
		ApproverIDs:      approval.ApproverIDs.ptr(),
		ApprovalTimeout:  d.field("approval.timeout", approval.Timeout),
		SecondIDs:        mapField(approval.SecondLevel, func(l SecondLevel) []int64 { return l.ApproverIDs }),
		OnTimeout:        mapField(approval.OnTimeout, onTimeout),
		EscalateAfter:    d.field("approval.escalate_after", approval.EscalateAfter),
		EscalateTo:       approval.EscalateTo.ptr(),

		OpeningHours: mapField(policy.OpeningHours, hours),
		MinDuration:  d.field("policy.min_duration", policy.MinDuration),
		MaxDuration:  d.field("policy.max_duration", policy.MaxDuration),
		Step:         d.field("policy.step", policy.Step),
		MinNotice:    d.field("policy.min_notice", policy.MinNotice),
		MaxAdvance:   d.field("policy.max_advance", policy.MaxAdvance),
		LastChange:   d.field("policy.last_change", policy.LastChange),
		BufferBefore: d.field("policy.buffer_before", policy.BufferBefore),
		BufferAfter:  d.field("policy.buffer_after", policy.BufferAfter),
		Quota:        mapField(policy.Quota, d.quota),

		CheckInRequired: checkIn.Required.ptr(),
		CheckInOpens:    d.field("check_in.opens", checkIn.Opens),
		CheckInGrace:    d.field("check_in.grace", checkIn.Grace),
		InheritCheckIn:  p.CheckIn.Null,
	}
	f.Faults = d.faults
	return f
}

func hours(hs []OpeningHours) []policy.OpeningHours {
	return list(hs, func(h OpeningHours) policy.OpeningHours { return policy.OpeningHours(h) })
}

func (d *decoder) quota(q Quota) policy.Quota {
	out := policy.Quota{Per: q.Per}
	if q.Count != nil {
		out.Count = *q.Count
	}
	if q.Duration != nil {
		out.Duration = d.duration("policy.quota.duration", *q.Duration)
	}
	for i, g := range q.Groups {
		own := policy.GroupQuota{GroupID: g.GroupID}
		if g.Count != nil {
			own.Count = *g.Count
		}
		if g.Duration != nil {
			own.Duration = d.duration(fault.Index("policy.quota.groups", i)+".duration", *g.Duration)
		}
		out.Groups = append(out.Groups, own)
	}
	return out
}

func (h *handlers) registerRooms(api huma.API) {
	const tag = "Rooms"
	register(api, operation("list-rooms", http.MethodGet, "/rooms", "List rooms", tag), h.listRooms)
	register(api, creates(operation("create-room", http.MethodPost, "/rooms", "Add a room", tag)), h.createRoom)
	h.registerRoomImport(api)
	register(api, operation("get-room", http.MethodGet, "/rooms/{id}", "Get a room", tag), h.room)
	register(api, operation("update-room", http.MethodPatch, "/rooms/{id}", "Change a room; booked meetings do not change", tag), h.updateRoom)
	register(api, deletes(operation("delete-room", http.MethodDelete, "/rooms/{id}", "Delete a room without future meetings", tag)), h.deleteRoom)
	register(api, operation("room-free-busy", http.MethodGet, "/rooms/{id}/free-busy", "Get the times at which a room is taken, including buffers", tag), h.freeBusy)
}

type listRoomsInput struct {
	Paging
	SiteID          int64    `query:"site_id"`
	Features        []string `query:"features,explode" doc:"Rooms with all of these features; repeat the parameter or separate values with commas"`
	MinCapacity     int      `query:"min_capacity" minimum:"0" maximum:"100000"`
	Q               string   `query:"q" maxLength:"200" doc:"Text in the room's name or floor"`
	IncludeInactive bool     `query:"include_inactive"`
}

func (h *handlers) listRooms(ctx context.Context, in *listRoomsInput) (*listOutput[Room], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	q := meeting.RoomQuery{
		SiteID: in.SiteID, Features: commas(in.Features), MinCapacity: in.MinCapacity,
		Text: in.Q, IncludeInactive: in.IncludeInactive, Viewer: &by,
	}
	rooms, next, err := h.svc.Rooms(ctx, q, in.page())
	if err != nil {
		return nil, err
	}
	return listed(rooms, next, roomOf), nil
}

func (h *handlers) createRoom(ctx context.Context, in *struct{ Body Body[RoomInput] }) (*made[Room], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	input, faults := in.Body.read(h.registry)
	r, err := h.places.CreateRoom(ctx, by, RoomPatch(input).fields(faults))
	if err != nil {
		return nil, err
	}
	return &made[Room]{ETag: etag(r.Version), Location: h.locate("rooms", r.ID), Body: roomOf(r)}, nil
}

func (h *handlers) room(ctx context.Context, in *Target) (*one[Room], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	r, err := h.svc.VisibleRoom(ctx, by, in.ID)
	if err != nil {
		return nil, err
	}
	return &one[Room]{ETag: etag(r.Version), Body: roomOf(r)}, nil
}

type updateRoomInput struct {
	Target
	Guard
	Body Body[RoomPatch]
}

func (h *handlers) updateRoom(ctx context.Context, in *updateRoomInput) (*one[Room], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	patch, faults := in.Body.read(h.registry)
	r, err := h.places.UpdateRoom(ctx, by, in.ID, in.version(), patch.fields(faults))
	if err != nil {
		return nil, err
	}
	return &one[Room]{ETag: etag(r.Version), Body: roomOf(r)}, nil
}

func (h *handlers) deleteRoom(ctx context.Context, in *guardedInput) (*struct{}, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return nil, h.places.DeleteRoom(ctx, by, in.ID, in.version())
}

// Busy is an interval in which a room is taken.
type Busy struct {
	Start      time.Time `json:"start" doc:"Start including buffers"`
	End        time.Time `json:"end"`
	Status     string    `json:"status" enum:"pending,confirmed,in_progress,ended,blackout" doc:"Status of the meeting; blackout if the room is closed"`
	MeetingID  *int64    `json:"meeting_id" doc:"ID of the meeting; null for a blackout or for an offer to someone on the waiting list"`
	BlackoutID *int64    `json:"blackout_id" doc:"ID of the blackout; null for a meeting or an offer"`
	Title      string    `json:"title" doc:"Title of the meeting, or Busy if it is private; the reason of a blackout"`
}

func busyOf(b booking.Busytime) Busy {
	busy := Busy{Start: b.Slot.Start.UTC(), End: b.Slot.End.UTC()}
	if b.Blackout != nil {
		busy.Status, busy.BlackoutID, busy.Title = "blackout", &b.Blackout.ID, b.Blackout.Reason
	} else {
		busy.Status, busy.MeetingID, busy.Title = string(b.Meeting.Status), number(b.Meeting.ID), b.Meeting.Title
	}
	return busy
}

type freeBusyInput struct {
	Target
	From string `query:"from" doc:"Start of the range; defaults to now" example:"2027-02-10T00:00:00Z"`
	To   string `query:"to" doc:"End of the range, at most 366 days after from; defaults to seven days after from" example:"2027-02-17T00:00:00Z"`
}

// Resolve implements [huma.Resolver].
func (in *freeBusyInput) Resolve(huma.Context) []error {
	_, err := in.span(time.UTC)
	return resolved(err)
}

func (in *freeBusyInput) span(zone *time.Location) (clock.Slot, error) {
	d := decoder{zone: zone}
	span := clock.Slot{Start: d.instant("from", in.From), End: d.end("to", in.To)}
	return span, d.err()
}

func (h *handlers) freeBusy(ctx context.Context, in *freeBusyInput) (*listOutput[Busy], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	zone, err := h.queryZone(ctx, []int64{in.ID}, in.From, in.To)
	if err != nil {
		return nil, err
	}
	span, err := in.span(zone)
	if err != nil {
		return nil, err
	}
	busy, err := h.svc.FreeBusy(ctx, by, in.ID, span)
	if err != nil {
		return nil, err
	}
	return listed(busy, "", busyOf), nil
}
