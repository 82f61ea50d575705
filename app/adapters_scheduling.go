package app

import (
	"context"
	"errors"

	"punctual/account"
	"punctual/account/fault"
	"punctual/app/config"
	"punctual/meeting"
	"punctual/meeting/scheduling"
)

// meetingSettings are those of package meeting by a configuration. The domain of the mailroom changes at
// the next start.
func (a *Application) meetingSettings(c *config.Config) *meeting.Settings {
	s := c.Booking.Settings()
	s.Public = c.Public.Enabled
	if c.Calendar.Organizer == "meeting" {
		s.ReplyDomain = a.config.Mailroom.Settings().Domain
	}
	return s
}

// schedulingSettings are those in force now.
func (a *Application) schedulingSettings() scheduling.Settings {
	s := a.settings.Load()
	return a.latest.Load().Mailroom.Scheduling(scheduling.Settings{
		Domain: a.mailroomSettings().Domain, MaxAdvance: s.Limits.MaxAdvance, Undo: s.Undo,
	})
}

// guestDirectory finds the organizers of events from other calendar programs.
type guestDirectory struct {
	directoryAdapter
	accounts *account.Service
}

var _ scheduling.Directory = guestDirectory{}

// Guest implements [scheduling.Directory]. A disabled user stays unknown, and so does an address that no user may have.
func (d guestDirectory) Guest(ctx context.Context, email, name string) (meeting.Person, error) {
	_, err := d.accounts.CreateUser(ctx, account.NewUser{Email: email, Name: account.NameFor(email, name), Role: account.Member})
	if _, invalid := errors.AsType[*account.InvalidError](err); err != nil && !invalid {
		return meeting.Person{}, err
	}
	found, err := d.ByEmail(ctx, []string{fault.FoldEmail(email)})
	return found[fault.FoldEmail(email)], err
}
