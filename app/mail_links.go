package app

import (
	"slices"
	"strings"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/linkpages"
	"punctual/meeting/waitlist"
	"punctual/notify"
	"punctual/notify/render"
)

func (a *Application) mailLinks() render.Links {
	return render.Links{Decide: a.decisionURL, CheckIn: a.checkInURL, Respond: a.respondURL, Accept: a.acceptURL, ChoosePassword: a.passwordURL, Unsubscribe: a.unsubscribeURL}
}

func (a *Application) decisionURL(n notify.Notification) string {
	if n.Facts.Request == nil || n.To.UserID == 0 {
		return ""
	}
	return a.links.URL(meeting.Link{MeetingID: n.MeetingID, Number: n.Facts.Request.Number, UserID: n.To.UserID})
}

func (a *Application) checkInURL(n notify.Notification) string {
	return a.links.ArrivalURL(linkpages.Arrival{MeetingID: n.MeetingID, Email: n.To.Address})
}

// respondURL returns the address at which the recipient of an invitation responds; empty for the
// organizer. Invitations by SMS are sent to guests only, and contain no IDs that identify them.
func (a *Application) respondURL(n notify.Notification) string {
	invited := func(c notify.Contact) bool { return strings.EqualFold(c.Email, n.To.Address) }
	among := n.Channel == notify.SMS || slices.ContainsFunc(n.Facts.Attendees, invited)
	i := booking.Invitation{MeetingID: n.MeetingID, Email: n.To.Address, Seen: n.Facts.ScheduleVersion}
	if s := n.Facts.Series; s != nil {
		i.SeriesID, i.Seen = s.ID, n.Facts.Sequence
		among = among || slices.ContainsFunc(s.Overrides, func(o notify.Occurrence) bool { return slices.ContainsFunc(o.Attendees, invited) })
	}
	if !among {
		return ""
	}
	return a.links.InvitationURL(i)
}

func (a *Application) acceptURL(n notify.Notification) string {
	if n.Facts.WaitID == 0 {
		return ""
	}
	return a.links.OfferURL(waitlist.Offer{WaitID: n.Facts.WaitID, UserID: n.To.UserID})
}

// passwordURL has the secret in its fragment, which browsers send to no server: it is in no access
// log and no Referer header.
func (a *Application) passwordURL(n notify.Notification) string {
	if n.Facts.LinkSeed == "" {
		return ""
	}
	return strings.TrimRight(a.config.HTTP.BaseURL, "/") + "/password#token=" + a.linkSecrets.Secret(n.Facts.LinkSeed)
}

// unsubscribeURL returns the address at which the recipient of a mail switches off mails of its kind; empty
// if they may not.
func (a *Application) unsubscribeURL(n notify.Notification) string {
	kind, ok := n.Choice()
	switch {
	case n.Channel != notify.Email:
		return ""
	case n.Kind == notify.DigestMail:
		kind = n.Kind
	case !ok || a.latest.Load().Policy().Requires(kind), n.To.UserID == 0 && !slices.Contains(notify.GuestChoosable(), kind):
		return ""
	}
	r := linkpages.Reader{UserID: n.To.UserID, Kind: string(kind)}
	if r.UserID == 0 {
		r.Email = n.To.Address
	}
	return a.links.MailsURL(r)
}
