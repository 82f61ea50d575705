package config

import (
	"net/netip"

	"punctual/delayjob"
	"punctual/delayjob/topics"
	"punctual/meeting"
	"punctual/meeting/policy"
	"punctual/notify"
)

// Settings converts c to the settings of package meeting.
func (c Booking) Settings() *meeting.Settings {
	return &meeting.Settings{
		Timezone:        c.Timezone,
		HoldPending:     c.HoldPending,
		Reminders:       c.DefaultReminders(),
		ApprovalTimeout: c.Approval.Timeout,
		OnTimeout:       c.Approval.onTimeout(),
		RemindBefore:    c.Approval.RemindBefore,
		EscalateAfter:   c.Approval.EscalateAfter,
		CheckIn:         meeting.CheckIn{Required: c.CheckIn.Required, Opens: c.CheckIn.Opens, Grace: c.CheckIn.Grace},
		Offer:           c.WaitingList.Offer,
		Undo:            c.Undo,
		Limits: policy.Limits{
			MaxDuration: c.Limits.MaxDuration, MaxAdvance: c.Limits.MaxAdvance, LastChange: c.Limits.LastChange, MaxOccurrences: c.Limits.MaxOccurrences,
			MaxInvitations: c.Limits.MaxInvitations, MaxRoomDates: c.Limits.MaxRoomDates, MaxWaits: c.Limits.MaxWaits,
			Person: policy.PersonLimits{Ahead: c.Limits.PersonAhead, Rooms: c.Limits.PersonRooms},
		},
	}
}

// Limits converts c to the limits of package topics.
func (c Topics) Limits() topics.Limits {
	return topics.Limits{Pending: c.MaxPending, Topics: c.MaxTopics}
}

// Networks returns the private networks that webhooks may reach. c must be valid.
func (c Topics) Networks() []netip.Prefix { return networks(c.AllowNetworks) }

func networks(list []string) []netip.Prefix {
	var ps []netip.Prefix
	for _, n := range list {
		if p, err := ParseNetwork(n); err == nil {
			ps = append(ps, p)
		}
	}
	return ps
}

func (c Approval) onTimeout() meeting.Status {
	if c.OnTimeout == "approve" {
		return meeting.Confirmed
	}
	return meeting.Rejected
}

// DefaultReminders converts the default reminders.
func (c Booking) DefaultReminders() []meeting.Reminder {
	rs := make([]meeting.Reminder, len(c.Reminders))
	for i, r := range c.Reminders {
		rs[i] = meeting.Reminder{Before: meeting.Anchor(r.Before), Offset: r.Offset}
		for _, ch := range r.Channels {
			rs[i].Channels = append(rs[i].Channels, meeting.Channel(ch))
		}
	}
	return rs
}

// Policy converts what people may choose. The channels whose driver is off cannot be chosen.
func (c *Config) Policy() notify.Policy {
	p := notify.Policy{Defaults: notify.Choices{}, Choices: channels(c.Notifications.Channels)}
	for _, k := range c.Notifications.Required {
		p.Required = append(p.Required, notify.Kind(k))
	}
	for k, cs := range c.Notifications.Defaults {
		p.Defaults[notify.Kind(k)] = channels(cs)
	}
	for channel, driver := range map[notify.Channel]string{notify.Email: c.Email.Driver, notify.SMS: c.SMS.Driver} {
		if driver == "off" {
			p.Off = append(p.Off, channel)
		}
	}
	if !c.Chat.Enabled {
		p.Off = append(p.Off, notify.Chat)
	}
	return p
}

func channels(names []string) []notify.Channel {
	cs := make([]notify.Channel, len(names))
	for i, n := range names {
		cs[i] = notify.Channel(n)
	}
	return cs
}

// Options converts the overridden options of jobs, by job.
func (c Queue) Options() map[string]delayjob.Options {
	m := map[string]delayjob.Options{}
	for name, j := range c.Jobs {
		m[name] = delayjob.Options{Concurrency: j.Concurrency, Batch: j.Batch, Lease: j.Lease, MaxAttempts: j.MaxAttempts, Rate: j.Rate}
	}
	return m
}
