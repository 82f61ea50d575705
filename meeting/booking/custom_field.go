package booking

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
)

const (
	maxCustomFields = 50
	maxChoices      = 200
	maxPosition     = 10_000
)

const (
	maxFieldText   = 1_000
	maxFieldNumber = 1e15

	// fieldsFor is how long a process uses the definitions of fields that it has read. Its own
	// changes count at once.
	fieldsFor = 2 * time.Second
)

var fieldName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// CustomFieldFields are the requested fields of a custom field; nil: not requested.
type CustomFieldFields struct {
	Name     *string // only of a new field, like Kind and Audience
	Label    *string
	Labels   *map[string]string
	Kind     *meeting.FieldKind
	Choices  *[]string
	Help     *string
	Required *bool
	Audience *meeting.Audience
	InMails  *bool
	SiteIDs  *[]int64
	Position *int
	Active   *bool

	Faults []meeting.Fault // found while decoding
}

func (f *CustomFieldFields) apply(c *meeting.CustomField) error {
	var found fault.List
	f.identity(c, &found)
	if f.Label != nil {
		c.Label = strings.TrimSpace(*f.Label)
		found.Name("label", c.Label, fault.MaxName)
	} else if c.Label == "" {
		found.Add("label", "required", "is required")
	}
	if f.Labels != nil {
		c.Labels = translations(&found, "labels", *f.Labels)
	}
	if f.Choices != nil {
		c.Choices = nil
		for i, choice := range *f.Choices {
			choice = strings.TrimSpace(choice)
			found.Name(fault.Index("choices", i), choice, fault.MaxName)
			if slices.Contains(c.Choices, choice) {
				found.Add(fault.Index("choices", i), "duplicate", "must not be a duplicate")
			}
			c.Choices = append(c.Choices, choice)
		}
	}
	switch n := len(c.Choices); {
	case n > maxChoices:
		found.Add("choices", "too_many", "must have at most %d choices", maxChoices)
	case c.Kind == meeting.FieldChoice && n == 0:
		found.Add("choices", "too_few", "must have at least one choice")
	case c.Kind != meeting.FieldChoice && n > 0:
		found.Add("choices", "not_allowed", "must be empty unless kind is choice")
	}
	if f.Help != nil {
		c.Help = strings.TrimSpace(*f.Help)
		found.Text("help", c.Help, MaxComment)
	}
	set(&c.Required, f.Required)
	set(&c.InMails, f.InMails)
	if c.InMails && c.Audience == meeting.AudienceOrganizer {
		found.Add("in_mails", "contradiction", "must be false unless audience is everyone")
	}
	set(&c.SiteIDs, f.SiteIDs)
	if len(c.SiteIDs) > maxPlaces {
		found.Add("site_ids", "too_many", "must have at most %d sites", maxPlaces)
	}
	set(&c.Position, f.Position)
	if c.Position < 0 || c.Position > maxPosition {
		found.Add("position", "out_of_range", "must be between 0 and %d", maxPosition)
	}
	set(&c.Active, f.Active)
	return fault.Merge(f.Faults, found).Err()
}

// identity sets what only a new field gets.
func (f *CustomFieldFields) identity(c *meeting.CustomField, found *fault.List) {
	if c.ID != 0 {
		fixed := func(location string, changes bool) {
			if changes {
				found.Add(location, "fixed", "must not change; make another field instead")
			}
		}
		fixed("name", f.Name != nil && *f.Name != c.Name)
		fixed("kind", f.Kind != nil && *f.Kind != c.Kind)
		fixed("audience", f.Audience != nil && *f.Audience != c.Audience)
		return
	}
	switch {
	case f.Name == nil:
		found.Add("name", "required", "is required")
	case !fieldName.MatchString(*f.Name):
		found.Add("name", "invalid_name", "must begin with a letter and have only a-z, 0-9 and _, at most 40 characters")
	default:
		c.Name = *f.Name
	}
	set(&c.Kind, f.Kind)
	if !slices.Contains(meeting.FieldKinds, c.Kind) {
		found.Add("kind", "unknown_value", "must be text, number, choice or yes_no")
	}
	set(&c.Audience, f.Audience)
	if c.Audience != meeting.AudienceEveryone && c.Audience != meeting.AudienceOrganizer {
		found.Add("audience", "unknown_value", "must be everyone or organizer")
	}
}

// translations returns the names in other languages that are not empty.
func translations(found *fault.List, location string, given map[string]string) map[string]string {
	names := map[string]string{}
	for _, language := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(meeting.Languages, language) {
			found.Add(location, "unknown_value", "must only have the languages %s", strings.Join(meeting.Languages, ", "))
			break
		}
		if name := strings.TrimSpace(given[language]); name != "" {
			names[language] = name
			found.Name(location+"."+language, name, fault.MaxName)
		}
	}
	return names
}

// CreateCustomField adds a field: an optional text, for all rooms and shown to everyone, unless the
// fields say otherwise.
func (s *Service) CreateCustomField(ctx context.Context, by meeting.Actor, f CustomFieldFields) (*meeting.CustomField, error) {
	if !by.MayManageRooms() {
		return nil, meeting.ErrForbidden
	}
	if err := f.check(ctx, s); err != nil {
		return nil, err
	}
	all, err := s.store.CustomFields(ctx)
	if err != nil {
		return nil, err
	}
	c := &meeting.CustomField{Labels: map[string]string{}, Kind: meeting.FieldText, Audience: meeting.AudienceEveryone, Active: true, CreatedAt: s.clock()}
	c.UpdatedAt = c.CreatedAt
	if err := f.apply(c); err != nil {
		return nil, err
	}
	if len(all) >= maxCustomFields {
		return nil, fault.Invalid("name", "too_many", "must not be more than %d fields", maxCustomFields)
	}
	defer s.forgetCustomFields()
	return c, s.store.CreateCustomField(ctx, c)
}

// check reports sites that do not exist.
func (f *CustomFieldFields) check(ctx context.Context, s *Service) error {
	if f.SiteIDs == nil || len(*f.SiteIDs) > maxPlaces {
		return nil
	}
	for i, id := range *f.SiteIDs {
		switch _, err := s.store.Site(ctx, id); {
		case errors.Is(err, meeting.ErrNotFound):
			f.Faults = append(f.Faults, fault.New(fault.Index("site_ids", i), "unknown_site", "site %d does not exist", id))
		case err != nil:
			return fmt.Errorf("look up site: %w", err)
		}
	}
	return nil
}

// CustomField finds a custom field.
func (s *Service) CustomField(ctx context.Context, id int64) (*meeting.CustomField, error) {
	return s.store.CustomField(ctx, id)
}

// CustomFields returns all custom fields in the order in which they are shown, including inactive ones.
func (s *Service) CustomFields(ctx context.Context) ([]*meeting.CustomField, error) {
	return s.store.CustomFields(ctx)
}

// UpdateCustomField changes a field. Values that meetings have stay as they are. ifMatch, unless nil,
// is the expected version.
func (s *Service) UpdateCustomField(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, f CustomFieldFields) (*meeting.CustomField, error) {
	if !by.MayManageRooms() {
		return nil, meeting.ErrForbidden
	}
	if err := f.check(ctx, s); err != nil {
		return nil, err
	}
	var same *meeting.CustomField
	c, err := s.store.UpdateCustomField(ctx, id, func(c *meeting.CustomField) error {
		if err := fault.CheckVersion(ifMatch, c.Version); err != nil {
			return err
		}
		before := *c
		if err := f.apply(c); err != nil {
			return err
		}
		if reflect.DeepEqual(*c, before) {
			same = c
			return errUnchanged
		}
		c.UpdatedAt = s.clock()
		return nil
	})
	if errors.Is(err, errUnchanged) {
		return same, nil
	}
	s.forgetCustomFields()
	return c, err
}

// DeleteCustomField deletes a field that no meeting has a value of. ifMatch, unless nil, is the
// expected version.
func (s *Service) DeleteCustomField(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64) error {
	if !by.MayManageRooms() {
		return meeting.ErrForbidden
	}
	defer s.forgetCustomFields()
	return s.store.DeleteCustomField(ctx, id, func(c *meeting.CustomField) error { return fault.CheckVersion(ifMatch, c.Version) })
}

// knownFields are the definitions of custom fields, which each booking needs and hardly anything
// changes.
type knownFields struct {
	mu     sync.Mutex
	list   []*meeting.CustomField
	until  time.Time
	resets int
}

// forgetCustomFields makes the next booking read the definitions again.
func (s *Service) forgetCustomFields() {
	s.fields.mu.Lock()
	defer s.fields.mu.Unlock()
	s.fields.until = time.Time{}
	s.fields.resets++
}

// knownCustomFields returns the definitions as they were at most fieldsFor ago. Callers must not
// change them.
func (s *Service) knownCustomFields(ctx context.Context) ([]*meeting.CustomField, error) {
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
func (f *Fields) customFields(t *meeting.Terms, base *meeting.Meeting, k known, found *fault.List) {
	t.Custom = f.kept
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
			f.customField(name, (*f.Custom)[name], values, t.Rooms, k.custom, found)
		}
	}
	t.Custom = nil
	for _, c := range k.custom {
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
