package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/meeting"
	"punctual/meeting/places"
)

// CustomField is a field of meetings that admins define.
type CustomField struct {
	ID        int64             `json:"id"`
	Name      string            `json:"name" doc:"Key in the fields of meetings" example:"cost_center"`
	Label     string            `json:"label" doc:"Label shown to people" example:"Cost center"`
	Labels    map[string]string `json:"labels" doc:"Labels by language (en, de, zh), shown instead of label"`
	Kind      string            `json:"kind" enum:"text,number,choice,yes_no"`
	Choices   []string          `json:"choices" nullable:"false" doc:"Allowed values of the kind choice"`
	Help      string            `json:"help"`
	Required  bool              `json:"required" doc:"Whether bookings of the rooms need a value"`
	Audience  string            `json:"audience" enum:"everyone,organizer" doc:"Users who can see the value: everyone who can see the meeting, or only its organizer and admins"`
	InMails   bool              `json:"in_mails" doc:"Whether mails show the value"`
	SiteIDs   []int64           `json:"site_ids" nullable:"false" doc:"Sites whose rooms use the field; all rooms if empty"`
	Position  int               `json:"position" doc:"Fields are sorted by position"`
	Active    bool              `json:"active" doc:"Whether new bookings use the field"`
	Version   int64             `json:"version"`
	CreatedAt time.Time         `json:"created_at"`
	UpdatedAt time.Time         `json:"updated_at"`
}

func customFieldOf(c *meeting.CustomField) CustomField {
	labels := c.Labels
	if labels == nil {
		labels = map[string]string{}
	}
	return CustomField{
		ID: c.ID, Name: c.Name, Label: c.Label, Labels: labels, Kind: string(c.Kind), Choices: append([]string{}, c.Choices...), Help: c.Help,
		Required: c.Required, Audience: string(c.Audience), InMails: c.InMails, SiteIDs: append([]int64{}, c.SiteIDs...), Position: c.Position,
		Active: c.Active, Version: c.Version, CreatedAt: c.CreatedAt.UTC(), UpdatedAt: c.UpdatedAt.UTC(),
	}
}

// fieldsOf are the values of a meeting by the names of their fields.
func fieldsOf(values []meeting.FieldValue) map[string]any {
	out := make(map[string]any, len(values))
	for _, v := range values {
		out[v.Name] = v.Value
	}
	return out
}

// CustomFieldPatch changes a field; what is left out stays as it is.
type CustomFieldPatch struct {
	Name     Field[string]            `json:"name,omitempty" doc:"1 to 40 of a-z, 0-9 and _; cannot change" example:"cost_center"`
	Label    Field[string]            `json:"label,omitempty" doc:"1 to 200 characters"`
	Labels   Field[map[string]string] `json:"labels,omitempty" doc:"Labels by language: en, de, zh"`
	Kind     Field[string]            `json:"kind,omitempty" enum:"text,number,choice,yes_no" doc:"Cannot change; text by default"`
	Choices  Field[[]string]          `json:"choices,omitempty" doc:"At most 200, only of the kind choice"`
	Help     Field[string]            `json:"help,omitempty" doc:"At most 1,000 characters"`
	Required Field[bool]              `json:"required,omitempty"`
	Audience Field[string]            `json:"audience,omitempty" enum:"everyone,organizer" doc:"Cannot change; everyone by default"`
	InMails  Field[bool]              `json:"in_mails,omitempty" doc:"Only if audience is everyone"`
	SiteIDs  Field[[]int64]           `json:"site_ids,omitempty" maximum:"9007199254740991"`
	Position Field[int]               `json:"position,omitempty" doc:"0 to 10,000"`
	Active   Field[bool]              `json:"active,omitempty"`
}

// CustomFieldInput is a new field.
type CustomFieldInput CustomFieldPatch

// TransformSchema names what a new field must have.
func (CustomFieldInput) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = []string{"name", "label"}
	return s
}

func (p CustomFieldPatch) fields(faults []meeting.Fault) places.CustomFieldFields {
	return places.CustomFieldFields{
		Name: p.Name.ptr(), Label: p.Label.ptr(), Labels: p.Labels.ptr(), Choices: p.Choices.ptr(), Help: p.Help.ptr(), Required: p.Required.ptr(),
		Kind:     mapField(p.Kind.or("text"), func(s string) meeting.FieldKind { return meeting.FieldKind(s) }),
		Audience: mapField(p.Audience.or("everyone"), func(s string) meeting.Audience { return meeting.Audience(s) }),
		InMails:  p.InMails.ptr(), SiteIDs: p.SiteIDs.ptr(), Position: p.Position.ptr(), Active: p.Active.or(true).ptr(), Faults: faults,
	}
}

func (h *handlers) registerCustomFields(api huma.API) {
	const tag = "Custom fields"
	register(api, operation("list-custom-fields", http.MethodGet, "/custom-fields", "List custom fields of meetings, including inactive ones", tag), h.listCustomFields)
	register(api, creates(operation("create-custom-field", http.MethodPost, "/custom-fields", "Add a custom field", tag)), h.createCustomField)
	register(api, operation("get-custom-field", http.MethodGet, "/custom-fields/{id}", "Get a custom field", tag), h.customField)
	register(api, operation("update-custom-field", http.MethodPatch, "/custom-fields/{id}", "Change a custom field; values of meetings stay as they are", tag), h.updateCustomField)
	register(api, deletes(operation("delete-custom-field", http.MethodDelete, "/custom-fields/{id}", "Delete a custom field that no meeting uses", tag)), h.deleteCustomField)
}

func (h *handlers) listCustomFields(ctx context.Context, _ *struct{}) (*listOutput[CustomField], error) {
	fields, err := h.places.CustomFields(ctx)
	if err != nil {
		return nil, err
	}
	return listed(fields, "", customFieldOf), nil
}

func (h *handlers) createCustomField(ctx context.Context, in *struct{ Body Body[CustomFieldInput] }) (*made[CustomField], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	input, faults := in.Body.read(h.registry)
	c, err := h.places.CreateCustomField(ctx, by, CustomFieldPatch(input).fields(faults))
	if err != nil {
		return nil, err
	}
	return &made[CustomField]{ETag: etag(c.Version), Location: h.locate("custom-fields", c.ID), Body: customFieldOf(c)}, nil
}

func (h *handlers) customField(ctx context.Context, in *Target) (*one[CustomField], error) {
	return answerCustomField(h.places.CustomField(ctx, in.ID))
}

type updateCustomFieldInput struct {
	Target
	Guard
	Body Body[CustomFieldPatch]
}

func (h *handlers) updateCustomField(ctx context.Context, in *updateCustomFieldInput) (*one[CustomField], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	patch, faults := in.Body.read(h.registry)
	return answerCustomField(h.places.UpdateCustomField(ctx, by, in.ID, in.version(), patch.fields(faults)))
}

func answerCustomField(c *meeting.CustomField, err error) (*one[CustomField], error) {
	if err != nil {
		return nil, err
	}
	return &one[CustomField]{ETag: etag(c.Version), Body: customFieldOf(c)}, nil
}

func (h *handlers) deleteCustomField(ctx context.Context, in *guardedInput) (*struct{}, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return nil, h.places.DeleteCustomField(ctx, by, in.ID, in.version())
}
