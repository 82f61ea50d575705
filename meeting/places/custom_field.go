package places

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
)

const (
	maxCustomFields = 50
	maxChoices      = 200
	maxPosition     = 10_000
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
		found.Text("help", c.Help, booking.MaxComment)
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
	c := &meeting.CustomField{Labels: map[string]string{}, Kind: meeting.FieldText, Audience: meeting.AudienceEveryone, Active: true, CreatedAt: s.booking.Now()}
	c.UpdatedAt = c.CreatedAt
	if err := f.apply(c); err != nil {
		return nil, err
	}
	if len(all) >= maxCustomFields {
		return nil, fault.Invalid("name", "too_many", "must not be more than %d fields", maxCustomFields)
	}
	defer s.booking.ForgetCustomFields()
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
			return booking.ErrUnchanged
		}
		c.UpdatedAt = s.booking.Now()
		return nil
	})
	if errors.Is(err, booking.ErrUnchanged) {
		return same, nil
	}
	s.booking.ForgetCustomFields()
	return c, err
}

// DeleteCustomField deletes a field that no meeting has a value of. ifMatch, unless nil, is the
// expected version.
func (s *Service) DeleteCustomField(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64) error {
	if !by.MayManageRooms() {
		return meeting.ErrForbidden
	}
	defer s.booking.ForgetCustomFields()
	return s.store.DeleteCustomField(ctx, id, func(c *meeting.CustomField) error { return fault.CheckVersion(ifMatch, c.Version) })
}
