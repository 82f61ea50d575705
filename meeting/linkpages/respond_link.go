package linkpages

import (
	"punctual/meeting/booking"
)

const respondPath = "/respond"

// InvitationURL returns the address of the page for a response.
func (l *Links) InvitationURL(i booking.Invitation) string {
	return l.base + respondPath + "?token=" + l.invitationToken(i)
}

func (l *Links) invitationToken(i booking.Invitation) string {
	b := appendInts(i.MeetingID, i.SeriesID, i.Seen)
	return l.seal(forInvitation, append(b, i.Email...))
}

func (l *Links) readInvitation(token string) (i booking.Invitation, ok bool) {
	fields := []*int64{&i.MeetingID, &i.SeriesID, &i.Seen}
	b, ok := l.open(forInvitation, token)
	if !ok {
		b, ok = l.open(forInvitationBefore, token)
		fields = fields[:2]
	}
	if !ok {
		return i, false
	}
	b, ok = readInts(b, fields...)
	i.Email = string(b)
	return i, ok && i.Email != ""
}
