package linkpages

import (
	"encoding/binary"

	"punctual/meeting"
)

const respondPath = "/respond"

// InvitationURL is the page on which one answers an invitation.
func (l *Links) InvitationURL(i meeting.Invitation) string {
	return l.base + respondPath + "?token=" + l.invitationToken(i)
}

func (l *Links) invitationToken(i meeting.Invitation) string {
	b := binary.AppendUvarint(nil, uint64(i.MeetingID))
	b = binary.AppendUvarint(b, uint64(i.SeriesID))
	b = binary.AppendUvarint(b, uint64(i.Seen))
	return l.seal(forInvitation, append(b, i.Email...))
}

func (l *Links) readInvitation(token string) (i meeting.Invitation, ok bool) {
	fields := []*int64{&i.MeetingID, &i.SeriesID, &i.Seen}
	b, ok := l.open(forInvitation, token)
	if !ok {
		b, ok = l.open(forInvitationBefore, token)
		fields = fields[:2]
	}
	if !ok {
		return i, false
	}
	for _, into := range fields {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			return i, false
		}
		*into, b = int64(n), b[size:]
	}
	i.Email = string(b)
	return i, i.Email != ""
}
