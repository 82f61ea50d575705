package booking_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/places"
)

func (w *world) field(t *testing.T, f places.CustomFieldFields) *meeting.CustomField {
	t.Helper()
	c, err := w.places.CreateCustomField(t.Context(), w.root, f)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func valuesSeen(m *meeting.Meeting) map[string]any {
	values := map[string]any{}
	for _, v := range m.Custom {
		values[v.Name] = v.Value
	}
	return values
}

// TestCustomFields_checked: each fault of a value names its field.
func TestCustomFields_checked(t *testing.T) {
	w := newWorld(t)
	site, err := w.places.CreateSite(t.Context(), w.root, places.SiteFields{Name: new("Annex")})
	if err != nil {
		t.Fatal(err)
	}
	w.field(t, places.CustomFieldFields{Name: new("cost_center"), Label: new("Cost center"), Required: new(true)})
	w.field(t, places.CustomFieldFields{Name: new("seats"), Label: new("Seats"), Kind: new(meeting.FieldNumber)})
	w.field(t, places.CustomFieldFields{Name: new("layout"), Label: new("Layout"), Kind: new(meeting.FieldChoice), Choices: &[]string{"Rows", "Circle"}})
	w.field(t, places.CustomFieldFields{Name: new("catering"), Label: new("Catering"), Kind: new(meeting.FieldYesNo)})
	w.field(t, places.CustomFieldFields{Name: new("elsewhere"), Label: new("Elsewhere"), Required: new(true), SiteIDs: &[]int64{site.ID}})
	for name, c := range map[string]struct {
		values map[string]any
		want   []string
	}{
		"required":      {nil, []string{"fields.cost_center required"}},
		"blank":         {map[string]any{"cost_center": " "}, []string{"fields.cost_center required"}},
		"wrong types":   {map[string]any{"cost_center": 1.0, "seats": "x", "layout": true, "catering": "yes"}, []string{"fields.catering invalid_type", "fields.cost_center invalid_type", "fields.layout invalid_type", "fields.seats invalid_type"}},
		"no scalar":     {map[string]any{"cost_center": []any{"a"}}, []string{"fields.cost_center invalid_type"}},
		"choice":        {map[string]any{"cost_center": "a", "layout": "Star"}, []string{"fields.layout unknown_value"}},
		"number":        {map[string]any{"cost_center": "a", "seats": 1e16}, []string{"fields.seats out_of_range"}},
		"unknown":       {map[string]any{"cost_center": "a", "nothing": "x"}, []string{"fields.nothing unknown_custom_field"}},
		"not asked for": {map[string]any{"cost_center": "a", "elsewhere": "x"}, []string{"fields.elsewhere unknown_custom_field"}},
		"all":           {map[string]any{"cost_center": " 4711 ", "seats": 2.5, "layout": "Rows", "catering": false}, nil},
	} {
		f := w.fields(time.Hour, w.desk)
		f.Custom = &c.values
		if c.values == nil {
			f.Custom = nil
		}
		m, err := w.Book(t.Context(), w.ann, f)
		if got := faultCodes(err); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v (%v)", name, got, c.want, err)
		}
		if err == nil && !reflect.DeepEqual(valuesSeen(m), map[string]any{"cost_center": "4711", "seats": 2.5, "layout": "Rows", "catering": false}) {
			t.Errorf("%s: %v", name, m.Custom)
		}
	}
}

func faultCodes(err error) (codes []string) {
	if e, ok := err.(*meeting.InvalidError); ok {
		for _, f := range e.Faults {
			codes = append(codes, f.Location+" "+f.Code)
		}
	}
	return codes
}

// TestCustomFields_hidden: values for the organizer are neither in the meeting nor in the history of
// others.
func TestCustomFields_hidden(t *testing.T) {
	w := newWorld(t)
	w.field(t, places.CustomFieldFields{Name: new("project"), Label: new("Project")})
	w.field(t, places.CustomFieldFields{Name: new("budget"), Label: new("Budget"), Audience: new(meeting.AudienceOrganizer)})
	f := w.fields(time.Hour, w.desk)
	f.Custom = &map[string]any{"project": "X", "budget": "secret"}
	m, err := w.Book(t.Context(), w.ann, f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{Custom: &map[string]any{"budget": nil, "project": "Y"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{Custom: &map[string]any{"budget": "more"}}); err != nil {
		t.Fatal(err)
	}
	for by, want := range map[*meeting.Actor]map[string]any{
		&w.ann: {"project": "Y", "budget": "more"}, &w.root: {"project": "Y", "budget": "more"}, &w.bob: {"project": "Y"},
	} {
		seen, err := w.Meeting(context.Background(), *by, m.ID)
		if err != nil || !reflect.DeepEqual(valuesSeen(seen), want) {
			t.Errorf("%s sees %v, want %v, %v", by.Name, valuesSeen(seen), want, err)
		}
		entries, _, err := w.History(t.Context(), *by, m.ID, meeting.Page{})
		if err != nil {
			t.Fatal(err)
		}
		hidden := 0
		for _, e := range entries {
			if _, ok := e.Changes["organizer_fields.budget"]; ok {
				hidden++
			}
		}
		if sees := len(want) == 2; sees != (hidden == 2) || !sees && hidden > 0 {
			t.Errorf("%s sees %d hidden changes", by.Name, hidden)
		}
	}
}

// TestCustomFields_fixed: a name keeps its meaning.
func TestCustomFields_fixed(t *testing.T) {
	w := newWorld(t)
	c := w.field(t, places.CustomFieldFields{Name: new("project"), Label: new("Project")})
	_, err := w.places.UpdateCustomField(t.Context(), w.root, c.ID, nil, places.CustomFieldFields{Name: new("x"), Kind: new(meeting.FieldNumber), Audience: new(meeting.AudienceOrganizer), InMails: new(true)})
	want := []string{"name fixed", "kind fixed", "audience fixed"}
	if got := faultCodes(err); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if _, err := w.places.CreateCustomField(t.Context(), w.ann, places.CustomFieldFields{Name: new("y"), Label: new("Y")}); err != meeting.ErrForbidden {
		t.Errorf("a member: %v", err)
	}
}

func TestFollowFields(t *testing.T) {
	list := func(pairs ...string) (values []meeting.FieldValue) {
		for i := 0; i < len(pairs); i += 2 {
			values = append(values, meeting.FieldValue{Name: pairs[i], Value: pairs[i+1]})
		}
		return values
	}
	got := meeting.FollowValues(list("same", "1", "own", "2", "dropped", "3"), list("same", "1", "own", "1", "dropped", "3"), list("same", "9", "own", "9", "added", "4"))
	if want := list("own", "2", "same", "9", "added", "4"); !meeting.SameValues(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
