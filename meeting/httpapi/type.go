package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/meeting"
	"punctual/meeting/places"
)

// MeetingType is a kind of meeting that admins define.
type MeetingType struct {
	ID          int64             `json:"id"`
	Name        string            `json:"name"`
	Names       map[string]string `json:"names" doc:"Names by language (en, de, zh), shown instead of name"`
	Color       string            `json:"color" enum:"gray,blue,teal,green,yellow,orange,red,pink,purple"`
	MinRole     string            `json:"min_role" enum:"member,manager,admin" doc:"Minimum role for booking the type"`
	SiteIDs     []int64           `json:"site_ids" nullable:"false" doc:"With room_ids: where the type can be booked; everywhere if both are empty"`
	RoomIDs     []int64           `json:"room_ids" nullable:"false"`
	QuotaExempt bool              `json:"quota_exempt" doc:"Whether quotas ignore meetings of the type"`
	Active      bool              `json:"active" doc:"Whether the type can be chosen"`
	Version     int64             `json:"version"`
	CreatedAt   time.Time         `json:"created_at"`
	UpdatedAt   time.Time         `json:"updated_at"`
}

func typeOf(t *meeting.Type) MeetingType {
	names := t.Names
	if names == nil {
		names = map[string]string{}
	}
	return MeetingType{
		ID: t.ID, Name: t.Name, Names: names, Color: string(t.Color), MinRole: string(t.MinRole),
		SiteIDs: append([]int64{}, t.SiteIDs...), RoomIDs: append([]int64{}, t.RoomIDs...),
		QuotaExempt: t.QuotaExempt, Active: t.Active, Version: t.Version, CreatedAt: t.CreatedAt.UTC(), UpdatedAt: t.UpdatedAt.UTC(),
	}
}

// MeetingTypePatch changes a type; what is left out stays as it is.
type MeetingTypePatch struct {
	Name        Field[string]            `json:"name,omitempty" doc:"1 to 200 characters"`
	Names       Field[map[string]string] `json:"names,omitempty" doc:"Names by language: en, de, zh"`
	Color       Field[string]            `json:"color,omitempty" enum:"gray,blue,teal,green,yellow,orange,red,pink,purple"`
	MinRole     Field[string]            `json:"min_role,omitempty" enum:"member,manager,admin"`
	SiteIDs     Field[[]int64]           `json:"site_ids,omitempty" maximum:"9007199254740991"`
	RoomIDs     Field[[]int64]           `json:"room_ids,omitempty" maximum:"9007199254740991"`
	QuotaExempt Field[bool]              `json:"quota_exempt,omitempty"`
	Active      Field[bool]              `json:"active,omitempty"`
}

// MeetingTypeInput is a new type.
type MeetingTypeInput MeetingTypePatch

// TransformSchema names what a new type must have.
func (MeetingTypeInput) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = []string{"name"}
	return s
}

func (p MeetingTypePatch) fields(faults []meeting.Fault) places.TypeFields {
	return places.TypeFields{
		Name: p.Name.ptr(), Names: p.Names.ptr(), SiteIDs: p.SiteIDs.ptr(), RoomIDs: p.RoomIDs.ptr(),
		Color:       mapField(p.Color.or("gray"), func(s string) meeting.Color { return meeting.Color(s) }),
		MinRole:     mapField(p.MinRole.or("member"), func(s string) meeting.Role { return meeting.Role(s) }),
		QuotaExempt: p.QuotaExempt.ptr(), Active: p.Active.or(true).ptr(), Faults: faults,
	}
}

func (h *handlers) registerTypes(api huma.API) {
	const tag = "Meeting types"
	register(api, operation("list-types", http.MethodGet, "/types", "List meeting types, including inactive ones", tag), h.listTypes)
	register(api, creates(operation("create-type", http.MethodPost, "/types", "Add a meeting type", tag)), h.createType)
	register(api, operation("get-type", http.MethodGet, "/types/{id}", "Get a meeting type", tag), h.meetingType)
	register(api, operation("update-type", http.MethodPatch, "/types/{id}", "Change a meeting type; its meetings stay as they are", tag), h.updateType)
	register(api, deletes(operation("delete-type", http.MethodDelete, "/types/{id}", "Delete a meeting type that no meeting uses", tag)), h.deleteType)
}

func (h *handlers) listTypes(ctx context.Context, _ *struct{}) (*listOutput[MeetingType], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	types, err := h.places.Types(ctx, by)
	if err != nil {
		return nil, err
	}
	return listed(types, "", typeOf), nil
}

func (h *handlers) createType(ctx context.Context, in *struct{ Body Body[MeetingTypeInput] }) (*made[MeetingType], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	input, faults := in.Body.read(h.registry)
	t, err := h.places.CreateType(ctx, by, MeetingTypePatch(input).fields(faults))
	if err != nil {
		return nil, err
	}
	return &made[MeetingType]{ETag: etag(t.Version), Location: h.locate("types", t.ID), Body: typeOf(t)}, nil
}

func (h *handlers) meetingType(ctx context.Context, in *Target) (*one[MeetingType], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return answerType(h.places.Type(ctx, by, in.ID))
}

type updateTypeInput struct {
	Target
	Guard
	Body Body[MeetingTypePatch]
}

func (h *handlers) updateType(ctx context.Context, in *updateTypeInput) (*one[MeetingType], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	patch, faults := in.Body.read(h.registry)
	return answerType(h.places.UpdateType(ctx, by, in.ID, in.version(), patch.fields(faults)))
}

func answerType(t *meeting.Type, err error) (*one[MeetingType], error) {
	if err != nil {
		return nil, err
	}
	return &one[MeetingType]{ETag: etag(t.Version), Body: typeOf(t)}, nil
}

func (h *handlers) deleteType(ctx context.Context, in *guardedInput) (*struct{}, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return nil, h.places.DeleteType(ctx, by, in.ID, in.version())
}
