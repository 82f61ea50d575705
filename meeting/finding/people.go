package finding

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"punctual/account/fault"
	"punctual/meeting"
)

// PeopleQuery filters people. Every word must begin a word of the person's name or address.
type PeopleQuery struct {
	OrganizerID int64 // the caller, who is not found
	Words       []string
	Since       time.Time
	Limit       int
}

const (
	foundPeople    = 8   // at most
	maxPeopleQuery = 100 // characters
	minPeopleQuery = 2   // bytes: two letters, or one ideograph
	maxPeopleWords = 5
	metWithin      = 365 * 24 * time.Hour
)

// People completes what the actor types to name a person: users of the installation and people whom
// the actor invited before. A text that is too short to identify anyone returns nobody.
//
// It returns names and addresses only, which every mail to several people shows, too. It leaves out
// disabled users. Of people without an account, it returns only those whom the actor wrote down.
func (s *Service) People(ctx context.Context, by meeting.Actor, text string) ([]meeting.Person, error) {
	if utf8.RuneCountInString(text) > maxPeopleQuery {
		return nil, fault.Invalid("q", "too_long", "must have at most %d characters", maxPeopleQuery)
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
