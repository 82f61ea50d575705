package app

import (
	"context"
	"errors"
	"slices"

	"punctual/meeting"
	"punctual/meeting/linkpages"
	"punctual/notify"
)

// subscriptions lets readers of mails switch mails off without signing in.
type subscriptions struct{ preferences *notify.PreferenceService }

var _ linkpages.Subscriptions = subscriptions{}

// calendarMails are switched together by people without an account: a calendar needs all of them.
const calendarMails = "invitations"

var guestGroups = []struct {
	name  string
	kinds []notify.Kind
}{
	{string(notify.Reminder), []notify.Kind{notify.Reminder}},
	{string(notify.Released), []notify.Kind{notify.Released}},
	{calendarMails, []notify.Kind{notify.Invitation, notify.Change, notify.Cancellation}},
}

// Subscriptions implements [linkpages.Subscriptions].
func (s subscriptions) Subscriptions(ctx context.Context, r linkpages.Reader) (all []linkpages.Subscription, err error) {
	on, err := s.preferences.Subscribed(ctx, notify.Reader{UserID: r.UserID, Email: r.Email, Kind: notify.Kind(r.Kind)})
	if err != nil {
		return nil, unknownReader(err)
	}
	if r.UserID != 0 {
		for kind, on := range on { // at most one
			all = append(all, linkpages.Subscription{Group: string(kind), On: on})
		}
		return all, nil
	}
	for _, g := range guestGroups {
		one := linkpages.Subscription{Group: g.name}
		may := false
		for _, k := range g.kinds {
			is, ok := on[k]
			may, one.On = may || ok, one.On || is
		}
		if may {
			all = append(all, one)
		}
	}
	return all, nil
}

// Subscribe implements [linkpages.Subscriptions].
func (s subscriptions) Subscribe(ctx context.Context, r linkpages.Reader, group string, on bool) error {
	var kinds []notify.Kind
	if r.UserID != 0 && (group == "" || group == r.Kind) {
		kinds = []notify.Kind{notify.Kind(r.Kind)}
	}
	for _, g := range guestGroups {
		if r.UserID == 0 && (g.name == group || group == "" && slices.Contains(g.kinds, notify.Kind(r.Kind))) {
			kinds = g.kinds
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	return unknownReader(s.preferences.Subscribe(ctx, notify.Reader{UserID: r.UserID, Email: r.Email, Kind: notify.Kind(r.Kind)}, kinds, on))
}

func unknownReader(err error) error {
	if errors.Is(err, notify.ErrNotFound) {
		return meeting.ErrNotFound
	}
	return err
}
