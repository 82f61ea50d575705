package booking

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
)

const (
	maxFieldText   = 1_000
	maxFieldNumber = 1e15

	// fieldsFor is how long a process uses the definitions of fields that it has read. Its own
	// changes count at once.
	fieldsFor = 2 * time.Second
)

// knownFields are the definitions of custom fields, which each booking needs and hardly anything
// changes.
type knownFields struct {
	mu     sync.Mutex
	list   []*meeting.CustomField
	until  time.Time
	resets int
}

// ForgetCustomFields makes the next booking read the definitions again.
func (s *Service) ForgetCustomFields() {
	s.fields.mu.Lock()
	defer s.fields.mu.Unlock()
	s.fields.until = time.Time{}
	s.fields.resets++
}

// KnownCustomFields returns the definitions as they were at most fieldsFor ago. Callers must not
// change them.
func (s *Service) KnownCustomFields(ctx context.Context) ([]*meeting.CustomField, error) {
	k, now := &s.fields, s.now()
	k.mu.Lock()
	list, valid, resets := k.list, now.Before(k.until) && k.until.Sub(now) <= fieldsFor, k.resets
	k.mu.Unlock()
	if valid {
		return list, nil
	}
	list, err := s.store.CustomFields(ctx)
	if err != nil {
		return nil, fmt.Errorf("look up custom fields: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.resets == resets {
		k.list, k.until = list, now.Add(fieldsFor)
	}
	return list, nil
}

// asksFor reports whether a booking of the rooms is asked for the field.
func asksFor(c *meeting.CustomField, rooms []*meeting.Room) bool {
	return c.Active && (len(c.SiteIDs) == 0 || slices.ContainsFunc(rooms, func(r *meeting.Room) bool {
		return r.SiteID != 0 && slices.Contains(c.SiteIDs, r.SiteID)
	}))
}

// customFields sets the values of custom fields: the requested ones, and the others that the meeting
// has. Required ones are only missed by a request that names fields or rooms, or a new booking.
func (f *Fields) customFields(t *meeting.Terms, base *meeting.Meeting, k Known, found *fault.List) {
	t.Custom = f.Kept
	if base != nil {
		t.Custom = base.Custom
	}
	if f.Custom == nil && base != nil && f.RoomIDs == nil || found.Has("fields") {
		return
	}
	values := map[string]meeting.FieldValue{}
	for _, v := range t.Custom {
		values[v.Name] = v
	}
	if f.Custom != nil {
		for _, name := range slices.Sorted(maps.Keys(*f.Custom)) {
			f.customField(name, (*f.Custom)[name], values, t.Rooms, k.Custom, found)
		}
	}
	t.Custom = nil
	for _, c := range k.Custom {
		v, has := values[c.Name]
		if has {
			t.Custom = append(t.Custom, v)
			delete(values, c.Name)
		} else if at := "fields." + c.Name; c.Required && !f.Unasked && f.Import == nil && asksFor(c, t.Rooms) && !found.Has(at) {
			found.Add(at, "required", "is required")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) { // of deleted fields
		t.Custom = append(t.Custom, values[name])
	}
}

// customField sets one requested value; null clears it.
func (f *Fields) customField(name string, value any, values map[string]meeting.FieldValue, rooms []*meeting.Room, fields []*meeting.CustomField, found *fault.List) {
	at := "fields." + name
	was, has := values[name]
	switch value.(type) {
	case nil, string, float64, bool:
	default:
		found.Add(at, "invalid_type", "must be a text, a number, true, false or null")
		return
	}
	if text, ok := value.(string); ok && strings.TrimSpace(text) == "" || value == nil {
		delete(values, name)
		return
	}
	i := slices.IndexFunc(fields, func(c *meeting.CustomField) bool { return c.Name == name })
	if i < 0 || !asksFor(fields[i], rooms) {
		if !has || was.Value != value { // what the meeting has may be sent again
			found.Add(at, "unknown_custom_field", "must be a custom field that the rooms ask for")
		}
		return
	}
	c := fields[i]
	if has && was.Value == value {
		return
	}
	if value, ok := acceptValue(c, at, value, found); ok {
		values[name] = meeting.FieldValue{Name: c.Name, Label: c.Label, Labels: c.Labels, Value: value, Audience: c.Audience, InMails: c.InMails}
	}
}

// acceptValue returns the value as it is stored.
func acceptValue(c *meeting.CustomField, at string, value any, found *fault.List) (any, bool) {
	n := len(*found)
	switch v := value.(type) {
	case string:
		v = strings.TrimSpace(v)
		switch {
		case c.Kind == meeting.FieldText:
			found.Line(at, v, maxFieldText)
		case c.Kind == meeting.FieldChoice && slices.Contains(c.Choices, v):
		case c.Kind == meeting.FieldChoice:
			found.Add(at, "unknown_value", "must be one of: %s", shortList(c.Choices))
		default:
			found.Add(at, "invalid_type", "must be %s", kindTexts[c.Kind])
		}
		value = v
	case float64:
		switch {
		case c.Kind != meeting.FieldNumber:
			found.Add(at, "invalid_type", "must be %s", kindTexts[c.Kind])
		case math.Abs(v) > maxFieldNumber:
			found.Add(at, "out_of_range", "must be between -%.0f and %.0f", maxFieldNumber, maxFieldNumber)
		}
	case bool:
		if c.Kind != meeting.FieldYesNo {
			found.Add(at, "invalid_type", "must be %s", kindTexts[c.Kind])
		}
	}
	return value, len(*found) == n
}

var kindTexts = map[meeting.FieldKind]string{meeting.FieldText: "a text", meeting.FieldNumber: "a number", meeting.FieldChoice: "a text", meeting.FieldYesNo: "true or false"}

// shortList joins the first texts of a list.
func shortList(texts []string) string {
	const most = 10
	if len(texts) > most {
		return strings.Join(texts[:most], ", ") + ", …"
	}
	return strings.Join(texts, ", ")
}
