package finding

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"punctual/meeting"
)

func TestPeople(t *testing.T) {
	m := &memory{}
	for _, tt := range []struct {
		text string
		want []string // the words that are looked for; nil: nobody is
	}{
		{"", nil}, {"a", nil}, {" a ", nil}, {"ad", []string{"ad"}}, {"a b", []string{"a", "b"}}, {"王", []string{"王"}},
		{"1 2 3 4 5 6", []string{"1", "2", "3", "4", "5"}},
	} {
		m.people = PeopleQuery{}
		found, err := m.service().People(t.Context(), ann, tt.text)
		if err != nil || len(found) > 0 != (tt.want != nil) || !slices.Equal(m.people.Words, tt.want) {
			t.Errorf("%q: %v, %v; looked for %q, want %q", tt.text, found, err, m.people.Words, tt.want)
		}
	}
	if q := m.people; q.OrganizerID != ann.ID || q.Limit != foundPeople || !q.Since.Before(at) {
		t.Errorf("looked for %+v", q)
	}
	if _, err := m.service().People(t.Context(), ann, strings.Repeat("ü", 100)); err != nil {
		t.Errorf("100 characters: %v", err)
	}
	if _, err := m.service().People(t.Context(), ann, strings.Repeat("ü", 101)); !errors.As(err, new(*meeting.InvalidError)) {
		t.Errorf("101 characters: %v, want a fault", err)
	}
}
