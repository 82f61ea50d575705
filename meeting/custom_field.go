package meeting

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// CustomField is a field of meetings that admins define, such as a cost center. Its name, kind and
// audience never change, so that stored values keep their meaning.
type CustomField struct {
	ID        int64
	Name      string // in requests, such as cost_center; unique
	Label     string // on the page and in mails
	Labels    map[string]string
	Kind      FieldKind
	Choices   []string // of FieldChoice
	Help      string
	Required  bool
	Audience  Audience
	InMails   bool    // mails show it; only for AudienceEveryone
	SiteIDs   []int64 // whose rooms ask for it; empty: all rooms
	Position  int     // fields are shown by rising position
	Active    bool    // inactive fields keep their values but are not asked for
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// FieldKind is what values of a custom field are: texts, numbers or booleans.
type FieldKind string

const (
	FieldText   FieldKind = "text"
	FieldNumber FieldKind = "number"
	FieldChoice FieldKind = "choice" // a text of its choices
	FieldYesNo  FieldKind = "yes_no"
)

// FieldKinds lists all kinds.
var FieldKinds = []FieldKind{FieldText, FieldNumber, FieldChoice, FieldYesNo}

// Audience of the values of a custom field, among those who may see the meeting.
type Audience string

const (
	AudienceEveryone  Audience = "everyone"
	AudienceOrganizer Audience = "organizer" // and admins
)

// FieldValue is the value of a custom field of a meeting, with what readers need to know of the
// field as it was when the value was set.
type FieldValue struct {
	Name     string            `json:"name"`
	Label    string            `json:"label"`
	Labels   map[string]string `json:"labels,omitempty"`
	Value    any               `json:"value"` // string, float64 or bool
	Audience Audience          `json:"audience"`
	InMails  bool              `json:"in_mails,omitempty"`
}

// SameValues reports whether two lists have the same values of the same fields.
func SameValues(a, b []FieldValue) bool { return maps.Equal(byName(a), byName(b)) }

func byName(values []FieldValue) map[string]any {
	m := make(map[string]any, len(values))
	for _, v := range values {
		m[v.Name] = v.Value
	}
	return m
}

// Prefixes of custom fields in the history.
const (
	fieldChange  = "fields."
	hiddenChange = "organizer_fields." // of AudienceOrganizer
)

// noteFields adds what differs to the changes of a meeting.
func noteFields(changes map[string]Change, from, to []FieldValue) {
	was, is := byName(from), byName(to)
	for _, v := range slices.Concat(from, to) {
		if was[v.Name] == is[v.Name] {
			continue
		}
		prefix := fieldChange
		if v.Audience == AudienceOrganizer {
			prefix = hiddenChange
		}
		changes[prefix+v.Name] = Change{From: was[v.Name], To: is[v.Name]}
	}
}

// WithoutHidden returns the entry without values that only organizers and admins may see.
func (e Entry) WithoutHidden() Entry {
	hidden := func(field string, _ Change) bool { return strings.HasPrefix(field, hiddenChange) }
	for field, c := range e.Changes {
		if hidden(field, c) {
			e.Changes = maps.Clone(e.Changes)
			maps.DeleteFunc(e.Changes, hidden)
			return e
		}
	}
	return e
}

// open returns the values that everybody who sees the meeting may see.
func open(values []FieldValue) []FieldValue {
	var kept []FieldValue
	for _, v := range values {
		if v.Audience == AudienceEveryone {
			kept = append(kept, v)
		}
	}
	return kept
}

// FieldFact is a custom field in a mail.
type FieldFact struct {
	Label  string            `json:"label"`
	Labels map[string]string `json:"labels,omitempty"` // by language
	Value  any               `json:"value"`
}

// mailed returns the values that mails show.
func mailed(values []FieldValue) []FieldFact {
	var facts []FieldFact
	for _, v := range open(values) {
		if v.InMails {
			facts = append(facts, FieldFact{Label: v.Label, Labels: v.Labels, Value: v.Value})
		}
	}
	return facts
}

// FollowValues returns the values of a date after those of its series changed: values that equaled
// the series' old ones become its new ones.
func FollowValues(mine, was, is []FieldValue) []FieldValue {
	old, own := byName(was), byName(mine)
	var out []FieldValue
	for _, v := range mine {
		if v.Value != old[v.Name] {
			out = append(out, v)
		}
	}
	for _, v := range is {
		if own[v.Name] == old[v.Name] {
			out = append(out, v)
		}
	}
	return out
}
