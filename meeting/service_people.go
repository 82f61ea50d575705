package meeting

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// PeopleStore finds people by name and address, on the terms of [Store].
type PeopleStore interface {
	// FindPeople finds active users, and those without an account who were invited by
	// q.OrganizerID to meetings that began after q.Since: names and addresses alone, those
	// whom the organizer met most often first. Only the latest 10,000 invitations count.
	FindPeople(ctx context.Context, q PeopleQuery) ([]Person, error)
}

// PeopleQuery asks for people. Every word must begin a word of the person's name or address.
type PeopleQuery struct {
	OrganizerID int64 // who asks; not found themselves
	Words       []string
	Since       time.Time
	Limit       int
}

const (
	foundPeople    = 8   // at most; who looks for one person types on
	maxPeopleQuery = 100 // characters
	minPeopleQuery = 2   // bytes: two letters, or one sign that stands for a word
	maxPeopleWords = 5
	metWithin      = 365 * 24 * time.Hour
)

// People completes what the actor types to name a person: users of the installation and people whom
// the actor invited before. A text that is too short to identify anyone returns nobody.
//
// It returns names and addresses only, which every mail to several people shows, too. It leaves out
// disabled users. Of people without an account, it returns only those whom the actor wrote down.
func (s *Service) People(ctx context.Context, by Actor, text string) ([]Person, error) {
	if utf8.RuneCountInString(text) > maxPeopleQuery {
		return nil, invalid("q", "too_long", fmt.Sprintf("must have at most %d characters", maxPeopleQuery))
	}
	words := strings.Fields(text)
	if len(strings.Join(words, "")) < minPeopleQuery {
		return nil, nil
	}
	found, err := s.store.FindPeople(ctx, PeopleQuery{
		OrganizerID: by.ID, Words: words[:min(len(words), maxPeopleWords)], Since: s.clock().Add(-metWithin), Limit: foundPeople,
	})
	if err != nil {
		return nil, fmt.Errorf("find people: %w", err)
	}
	return found, nil
}
