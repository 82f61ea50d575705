package render

import (
	"slices"
	"strings"
	"time"

	"punctual/notify"
)

// start is when the meetings of samples start.
var start = time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)

// sample is a notification with everything in it, for a reader of that language.
func sample(kind notify.Kind, locale string) notify.Notification {
	n := notify.Notification{
		ID: 7, Kind: kind, Channel: notify.Email, MeetingID: 42,
		To: notify.Recipient{Name: "Ada Lovelace", Address: "ada@example.org", Locale: locale, Timezone: "Europe/Berlin"},
		Facts: notify.Facts{
			MeetingID: 42, Title: "Design review", Description: "Agenda:\n1. The engine\n2. Questions & answers",
			Start: start, End: start.Add(time.Hour), Timezone: "Asia/Shanghai",
			Rooms:     []string{"Turing", "Hopper"},
			Organizer: notify.Contact{Name: "Grace Hopper", Email: "grace@example.org"},
			Attendees: []notify.Contact{
				{Name: "Ada Lovelace", Email: "ada@example.org"}, {Name: "O'Brien, Conan", Email: "conan@example.org"},
				{Email: "wang@example.org"},
			},
			Sequence: 3,
		},
		CreatedAt: time.Date(2027, 2, 1, 8, 0, 0, 0, time.UTC),
	}
	if locale == "zh-CN" {
		n.To.Name, n.To.Timezone = "王小明", "Asia/Shanghai"
		n.Facts.Title, n.Facts.Rooms = "产品设计评审", []string{"图灵厅"}
		n.Facts.Organizer.Name = "李雷"
		n.Facts.Description = "议程:\n1. 引擎\n2. 问答"
	}
	return n
}

// Sample is an example of a mail, to look at and to check templates with.
type Sample struct {
	Name         string // such as en/reminder-start
	Notification notify.Notification
	Now          time.Time // when it is read
}

// Samples returns examples of every shape of a kind in a language: en, de or zh.
func Samples(kind notify.Kind, lang string) (found []Sample) {
	for _, s := range samples() {
		if l, _, _ := strings.Cut(strings.ReplaceAll(s.Name, "-CN/", "/"), "/"); s.Notification.Kind == kind && l == lang {
			found = append(found, s)
		}
	}
	return found
}

// Kinds returns the kinds of mails.
func Kinds() (kinds []notify.Kind) {
	for _, s := range samples() {
		if !slices.Contains(kinds, s.Notification.Kind) {
			kinds = append(kinds, s.Notification.Kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// samples returns the examples of all kinds in all languages. Each value is there to be seen in a golden file.
func samples() []Sample {
	var all []Sample
	for _, lang := range []string{"en", "zh-CN", "de"} {
		add := func(name string, kind notify.Kind, now time.Time, fill func(*notify.Facts)) {
			n := sample(kind, lang)
			fill(&n.Facts)
			n.MeetingID = n.Facts.MeetingID
			all = append(all, Sample{lang + "/" + name, n, now})
		}
		by := "Grace Hopper"
		if lang == "zh-CN" {
			by = "李雷"
		}
		none := func(*notify.Facts) {}
		add("reminder-start", notify.Reminder, start.Add(-15*time.Minute), func(f *notify.Facts) { f.Before, f.Offset = "start", 900 })
		add("reminder-start-late", notify.Reminder, start.Add(2*time.Minute), func(f *notify.Facts) { f.Before, f.Offset = "start", 900 })
		add("reminder-check-in", notify.Reminder, start.Add(-15*time.Minute), func(f *notify.Facts) {
			f.Before, f.Offset, f.CheckInBy = "start", 900, new(start.Add(10*time.Minute))
		})
		add("reminder-end", notify.Reminder, start.Add(55*time.Minute), func(f *notify.Facts) { f.Before, f.Offset = "end", 300 })
		add("invitation", notify.Invitation, start.Add(-24*time.Hour), none)
		add("change", notify.Change, start, func(f *notify.Facts) { f.By = by })
		add("cancellation", notify.Cancellation, start, func(f *notify.Facts) { f.By, f.Reason, f.Sequence = by, "The projector\nis broken.", 4 })
		add("approval-request", notify.ApprovalRequest, start, func(f *notify.Facts) { f.Deadline = new(start.Add(-90 * time.Minute)) })
		asked := func(f *notify.Facts) {
			f.Deadline = new(start.Add(-90 * time.Minute))
			f.Request = &notify.Requested{Number: 3, OnTimeout: "rejected"}
		}
		move := &notify.Placement{Start: start.Add(26 * time.Hour), End: start.Add(27 * time.Hour), Rooms: []string{"Board"}}
		add("approval-request-second", notify.ApprovalRequest, start, func(f *notify.Facts) {
			asked(f)
			f.Request.Agreed, f.Request.For, f.Request.OnTimeout = []string{by}, []string{"Mona", "Max"}, "confirmed"
		})
		add("approval-request-move", notify.ApprovalRequest, start, func(f *notify.Facts) { asked(f); f.Move = move })
		add("approval-reminder", notify.ApprovalReminder, start.Add(-150*time.Minute), asked)
		add("approval-reminder-move", notify.ApprovalReminder, start.Add(-150*time.Minute), func(f *notify.Facts) { asked(f); f.Move = move })
		add("escalation", notify.Escalation, start.Add(-4*time.Hour), asked)
		add("decision-approved-by-timeout", notify.Decision, start, func(f *notify.Facts) { f.Decision, f.Reason = "confirmed", "timeout" })
		add("decision-move-rejected", notify.Decision, start, func(f *notify.Facts) { f.Decision, f.By, f.Move = "rejected", by, move })
		add("decision-move-timeout", notify.Decision, start, func(f *notify.Facts) { f.Decision, f.Reason, f.Move = "rejected", "timeout", move })
		add("decision-confirmed", notify.Decision, start, func(f *notify.Facts) { f.Decision, f.By, f.Comment = "confirmed", by, "Enjoy!" })
		add("decision-rejected", notify.Decision, start, func(f *notify.Facts) { f.Decision, f.By, f.Comment = "rejected", by, "Too short notice." })
		add("decision-timeout", notify.Decision, start, func(f *notify.Facts) { f.Decision, f.Reason = "rejected", "timeout" })
		add("invitation-booked-for", notify.Invitation, start.Add(-24*time.Hour), func(f *notify.Facts) { f.BookedBy = "Bo Li" })
		add("invitation-booked-for-you", notify.Invitation, start.Add(-24*time.Hour), func(f *notify.Facts) { f.BookedBy, f.Organizer.Email = "Bo Li", "ada@example.org" })
		add("invitation-handover", notify.Invitation, start.Add(-24*time.Hour), func(f *notify.Facts) { f.By, f.Handover = "Bo Li", true })
		add("approval-request-booked-for", notify.ApprovalRequest, start.Add(-24*time.Hour), func(f *notify.Facts) { f.BookedBy = "Bo Li" })
		add("invitation-answered", notify.Change, start, func(f *notify.Facts) {
			f.By = by
			f.Attendees[0].Response, f.Attendees[1].Response, f.Attendees[2].Response = "accepted", "tentative", "declined"
		})
		add("declined", notify.Declined, start.Add(-24*time.Hour), func(f *notify.Facts) { f.By, f.Comment = by, "I am on a train." })
		add("released", notify.Released, start, none)
		add("released-third-time", notify.Released, start, func(f *notify.Facts) { f.Reason, f.NoShows = "no_show", 3 })
		add("released-by-somebody", notify.Released, start, func(f *notify.Facts) { f.By, f.Reason = by, "Nobody answered at the door." })
		waits := func(f *notify.Facts) { // there is no meeting, and nobody was invited
			f.MeetingID, f.Organizer, f.Attendees, f.Description, f.Sequence = 0, notify.Contact{}, nil, "", 0
		}
		add("invitation-fields", notify.Invitation, start.Add(-24*time.Hour), func(f *notify.Facts) {
			f.Fields = []notify.FieldFact{{Label: "Cost center", Labels: map[string]string{"de": "Kostenstelle", "zh": "成本中心"}, Value: "4711"}, {Label: "Seats", Value: 12.5}, {Label: "Catering", Value: true}}
		})
		add("waitlist-offer", notify.WaitlistOffer, start.Add(-24*time.Hour), func(f *notify.Facts) { waits(f); f.Deadline, f.WaitID = new(start.Add(-22*time.Hour)), 6 })
		add("waitlist-offer-joined-for-you", notify.WaitlistOffer, start.Add(-24*time.Hour), func(f *notify.Facts) {
			waits(f)
			f.Deadline, f.WaitID, f.BookedBy = new(start.Add(-22*time.Hour)), 6, "Bo Li"
		})
		add("waitlist-booked-for-you", notify.WaitlistBooked, start.Add(-24*time.Hour), func(f *notify.Facts) {
			waits(f)
			f.MeetingID, f.Decision, f.BookedBy, f.By = 42, "confirmed", "Bo Li", "Bo Li"
		})
		add("waitlist-booked", notify.WaitlistBooked, start.Add(-24*time.Hour), func(f *notify.Facts) { waits(f); f.MeetingID, f.Decision = 42, "confirmed" })
		add("waitlist-booked-pending", notify.WaitlistBooked, start.Add(-24*time.Hour), func(f *notify.Facts) { waits(f); f.MeetingID, f.Decision = 42, "pending" })
		for _, why := range []string{"start", "offer", "inactive"} {
			add("waitlist-expired-"+why, notify.WaitlistExpired, start, func(f *notify.Facts) { waits(f); f.Reason = why })
		}
		add("waitlist-expired-rules", notify.WaitlistExpired, start, func(f *notify.Facts) {
			waits(f)
			f.Reason, f.Comment = "rules", "Turing must be booked at least 4h ahead"
		})
		link := func(f *notify.Facts) { *f = notify.Facts{LinkSeed: "seed", Deadline: new(start)} }
		add("invite-user", notify.InviteUser, start.AddDate(0, 0, -7), func(f *notify.Facts) { link(f); f.By = by })
		add("password-reset", notify.PasswordReset, start.Add(-time.Hour), link)
		for _, what := range []string{"passkey", "second_factor", "app_password"} {
			add("sign-in-added-"+strings.ReplaceAll(what, "_", "-"), notify.SignInAdded, start, func(f *notify.Facts) {
				*f = notify.Facts{Reason: what}
				if what != "second_factor" {
					f.Title = "Phone"
				}
			})
		}
		add("handover", notify.Handover, start, func(f *notify.Facts) { *f = notify.Facts{By: by, Organizer: notify.Contact{Name: "Bo Li"}, Count: 12} })
		add("fault-report", notify.FaultReport, start, func(f *notify.Facts) {
			*f = notify.Facts{By: by, Rooms: []string{"Turing"}, Reason: "equipment", Comment: "The projector\nshows no picture"}
		})
		add("fault-report-other", notify.FaultReport, start, func(f *notify.Facts) {
			*f = notify.Facts{By: by, Rooms: []string{"Turing"}, Reason: "other", Comment: "It smells"}
		})
		add("digest", notify.DigestMail, start.Add(-16*time.Hour), func(f *notify.Facts) {
			*f = notify.Facts{Start: start.Add(-10 * time.Hour), End: start.Add(14 * time.Hour), Timezone: f.Timezone, Reason: "tomorrow", Count: 2, Agenda: []notify.AgendaItem{
				{MeetingID: 42, Title: f.Title, Start: start, End: start.Add(time.Hour), Rooms: f.Rooms},
				{MeetingID: 43, Title: "Board <b>", Start: start.Add(2 * time.Hour), End: start.Add(3 * time.Hour), Pending: true},
			}}
		})
		add("digest-week", notify.DigestMail, start.Add(-time.Hour), func(f *notify.Facts) {
			*f = notify.Facts{Start: start.Add(-time.Hour), End: start.AddDate(0, 0, 7), Timezone: f.Timezone, Reason: "week", Count: 60, Agenda: []notify.AgendaItem{
				{MeetingID: 41, Title: f.Title, Start: start.Add(-20 * time.Hour), End: start, Rooms: f.Rooms},
				{MeetingID: 42, Title: f.Title, Start: start.AddDate(0, 0, 1), End: start.AddDate(0, 0, 1).Add(time.Hour), Rooms: f.Rooms},
			}}
		})
		add("test-mail", notify.TestMail, start, func(f *notify.Facts) { *f = notify.Facts{} })
		add("sms-limit", notify.SMSLimit, start, func(f *notify.Facts) { *f = notify.Facts{Count: 1000} })
		series := func(f *notify.Facts) {
			f.SeriesID = 5
			f.Series = &notify.Series{
				ID: 5, Start: "20270210T170000", End: "20270210T180000", Rule: "FREQ=WEEKLY;BYDAY=WE,FR;UNTIL=20270331T150000Z",
				ExDates: []string{"20270212T170000", "20270217T170000"}, RDates: []string{"20270214T170000"},
				Count: 14, Last: time.Date(2027, 3, 31, 9, 0, 0, 0, time.UTC),
			}
			for _, d := range []int{0, 4, 9, 14, 16, 21} {
				f.Series.Dates = append(f.Series.Dates, start.AddDate(0, 0, d))
			}
		}
		other := notify.Occurrence{OriginalStart: start.AddDate(0, 0, 9), Start: start.AddDate(0, 0, 9).Add(time.Hour), End: start.AddDate(0, 0, 9).Add(2 * time.Hour), Rooms: []string{"Board"}}
		add("invitation-series", notify.Invitation, start, func(f *notify.Facts) { series(f); f.Series.Overrides = []notify.Occurrence{other} })
		add("declined-series", notify.Declined, start, func(f *notify.Facts) { series(f); f.By = by })
		add("approval-request-series", notify.ApprovalRequest, start, func(f *notify.Facts) { asked(f); series(f) })
		add("approval-reminder-series", notify.ApprovalReminder, start.Add(-2*time.Hour), func(f *notify.Facts) { asked(f); series(f) })
		add("escalation-series", notify.Escalation, start.Add(-4*time.Hour), func(f *notify.Facts) { asked(f); series(f) })
		add("decision-confirmed-series", notify.Decision, start, func(f *notify.Facts) { series(f); f.Decision, f.By = "confirmed", by })
		add("decision-rejected-series", notify.Decision, start, func(f *notify.Facts) { series(f); f.Decision, f.By = "rejected", by })
		add("decision-timeout-series", notify.Decision, start, func(f *notify.Facts) { series(f); f.Decision, f.Reason = "rejected", "timeout" })
		add("change-series", notify.Change, start, func(f *notify.Facts) { series(f); f.By = by })
		add("cancellation-series", notify.Cancellation, start, func(f *notify.Facts) { series(f); f.By = by })
		split := func(part notify.SeriesPart) func(*notify.Facts) {
			return func(f *notify.Facts) {
				series(f)
				f.By, f.Series.Part, f.Series.Split = by, part, new(start.AddDate(0, 0, 56))
				if part == "goes_on" {
					f.Series.Split = &f.Start
				}
			}
		}
		add("change-series-ends", notify.Change, start, split("ends"))
		add("change-series-goes-on", notify.Change, start, split("goes_on"))
		add("cancellation-series-replaced", notify.Cancellation, start, split("ends"))
		add("invitation-date-added", notify.Invitation, start, func(f *notify.Facts) {
			series(f)
			f.By, f.Series.Part, f.Series.Count, f.Series.Dates = by, "added", 1, f.Series.Dates[:1]
			f.Series.Last = f.Start
		})
		add("cancellation-some-dates", notify.Cancellation, start, func(f *notify.Facts) {
			series(f)
			f.By, f.Series.Count, f.Series.Dates, f.Series.Cancelled = by, 1, f.Series.Dates[2:3], []notify.Occurrence{other}
		})
		add("change-date-of-series", notify.Change, start, func(f *notify.Facts) { f.By, f.SeriesID, f.OriginalStart = by, 5, new(start.Add(-time.Hour)) })
	}
	return all
}
