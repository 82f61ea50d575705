package meeting

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestPeople(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		text string
		want []string // the words that are looked for; nil: nobody is
	}{
		{"", nil}, {"a", nil}, {" a ", nil}, {"ad", []string{"ad"}}, {"a b", []string{"a", "b"}}, {"王", []string{"王"}},
		{"1 2 3 4 5 6", []string{"1", "2", "3", "4", "5"}},
	} {
		w.store.people = PeopleQuery{}
		found, err := w.People(t.Context(), w.ann, tt.text)
		if err != nil || len(found) > 0 != (tt.want != nil) || !slices.Equal(w.store.people.Words, tt.want) {
			t.Errorf("%q: %v, %v; looked for %q, want %q", tt.text, found, err, w.store.people.Words, tt.want)
		}
	}
	if q := w.store.people; q.OrganizerID != w.ann.ID || q.Limit != foundPeople || !q.Since.Before(w.clock()) {
		t.Errorf("looked for %+v", q)
	}
	if _, err := w.People(t.Context(), w.ann, strings.Repeat("ü", 100)); err != nil {
		t.Errorf("100 characters: %v", err)
	}
	if _, err := w.People(t.Context(), w.ann, strings.Repeat("ü", 101)); !errors.As(err, new(*InvalidError)) {
		t.Errorf("101 characters: %v, want a fault", err)
	}
}
