package notify

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// onePerson keeps the preferences of one user.
type onePerson struct {
	PreferenceStore
	p Preferences
}

func (s *onePerson) UpdatePreferences(_ context.Context, _ int64, _ time.Time, change func(*Preferences) error) (Preferences, error) {
	err := change(&s.p)
	return s.p, err
}

// Mails are switched off and on again by their links. Text messages stay as they were.
func TestSubscribe_onlyMails(t *testing.T) {
	for name, c := range map[string]struct {
		chosen, defaults []Channel // nil: none
		off, on          []Channel // stored; nil: no choice
		bySMS            bool      // whether reminders that a meeting sends by SMS arrive while mails are off
	}{
		"no choice":             {off: []Channel{NotEmail}, bySMS: true},
		"email":                 {chosen: []Channel{Email}, off: []Channel{}},
		"both":                  {chosen: []Channel{Email, SMS}, off: []Channel{SMS}, on: []Channel{Email, SMS}, bySMS: true},
		"SMS":                   {chosen: []Channel{SMS}, off: []Channel{SMS}, on: []Channel{Email, SMS}, bySMS: true},
		"by default email":      {defaults: []Channel{Email}, off: []Channel{}},
		"by default both":       {defaults: []Channel{Email, SMS}, off: []Channel{SMS}, on: []Channel{Email, SMS}, bySMS: true},
		"by default SMS":        {defaults: []Channel{SMS}, off: []Channel{SMS}, on: []Channel{Email, SMS}, bySMS: true},
		"by default none":       {defaults: []Channel{}, off: []Channel{}, on: []Channel{Email}},
		"none, email otherwise": {chosen: []Channel{}, defaults: []Channel{Email}, off: []Channel{}},
	} {
		store := &onePerson{p: Preferences{Choices: Choices{}}}
		if c.chosen != nil {
			store.p.Choices[Reminder] = c.chosen
		}
		p := Policy{Defaults: Choices{}, Choices: Channels()}
		if c.defaults != nil {
			p.Defaults[Reminder] = c.defaults
		}
		s := NewPreferenceService(store, nil, func() Policy { return p }, time.Now)
		subscribe := func(on bool) {
			for range 2 {
				if err := s.Subscribe(t.Context(), Reader{UserID: 7, Kind: Reminder}, []Kind{Reminder}, on); err != nil {
					t.Fatal(err)
				}
			}
		}
		subscribe(false)
		if d := cmp.Diff(c.off, store.p.Choices[Reminder]); d != "" {
			t.Errorf("%s: off (-want +got):\n%s", name, d)
		}
		w := Wishes{Choices: store.p.Choices, Email: "ada@example.org", Phone: "+4930123"}
		mail, text := p.Decide(far(Reminder, Email), w, noon), p.Decide(far(Reminder, Email).On(SMS, w.Phone), w, noon)
		if mail.Skip == "" || (text.Skip == "") != c.bySMS || len(text.Also) > 0 {
			t.Errorf("%s: mail %+v, SMS %+v", name, mail, text)
		}
		subscribe(true)
		if d := cmp.Diff(c.on, store.p.Choices[Reminder]); d != "" {
			t.Errorf("%s: on (-want +got):\n%s", name, d)
		}
	}
}
