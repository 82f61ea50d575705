package app

import (
	"net/netip"

	"punctual/delayjob/topics"
	"punctual/meeting"
)

// settings are those of the meetings.
func (c BookingConfig) settings() *meeting.Settings {
	return &meeting.Settings{
		Timezone:        c.Timezone,
		HoldPending:     c.HoldPending,
		Reminders:       c.reminders(),
		ApprovalTimeout: c.Approval.Timeout,
		OnTimeout:       c.Approval.onTimeout(),
		RemindBefore:    c.Approval.RemindBefore,
		EscalateAfter:   c.Approval.EscalateAfter,
		CheckIn:         meeting.CheckIn{Required: c.CheckIn.Required, Opens: c.CheckIn.Opens, Grace: c.CheckIn.Grace},
		Offer:           c.WaitingList.Offer,
		Limits: meeting.Limits{
			MaxDuration: c.Limits.MaxDuration, MaxAdvance: c.Limits.MaxAdvance, MaxOccurrences: c.Limits.MaxOccurrences,
			MaxInvitations: c.Limits.MaxInvitations, MaxRoomDates: c.Limits.MaxRoomDates, MaxWaits: c.Limits.MaxWaits,
			Person: meeting.PersonLimits{Ahead: c.Limits.PersonAhead, Rooms: c.Limits.PersonRooms},
		},
	}
}

func (c TopicsConfig) limits() topics.Limits {
	return topics.Limits{Pending: c.MaxPending, Topics: c.MaxTopics}
}

// allowed are the networks that webhooks may reach although they are not public; they have
// been validated.
func (c TopicsConfig) allowed() []netip.Prefix {
	var ps []netip.Prefix
	for _, n := range c.AllowNetworks {
		if p, err := parseNetwork(n); err == nil {
			ps = append(ps, p)
		}
	}
	return ps
}

func (c ApprovalConfig) onTimeout() meeting.Status {
	if c.OnTimeout == "approve" {
		return meeting.Confirmed
	}
	return meeting.Rejected
}

func (c BookingConfig) reminders() []meeting.Reminder {
	rs := make([]meeting.Reminder, len(c.Reminders))
	for i, r := range c.Reminders {
		rs[i] = meeting.Reminder{Before: meeting.Anchor(r.Before), Offset: r.Offset}
		for _, ch := range r.Channels {
			rs[i].Channels = append(rs[i].Channels, meeting.Channel(ch))
		}
	}
	return rs
}
