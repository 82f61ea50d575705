package scheduling

import (
	"cmp"
	"context"
	"fmt"

	"punctual/meeting"
	"punctual/meeting/booking"
)

// Help mails the sender of an invitation that only Outlook reads what to change, once. It returns the text.
func (s *Service) Help(ctx context.Context, m Message) (string, error) {
	found, err := s.People.ByEmail(ctx, []string{m.From})
	if err != nil {
		return "", err
	}
	person := found[m.From]
	w := wordsFor(person.Locale)
	text := fmt.Sprintf(w.winmail, m.Recipient)
	notice := meeting.Notice{
		DedupeKey: fmt.Sprintf("%s:winmail:%s", meeting.NoticeReply, m.From), Kind: meeting.NoticeReply, Channel: meeting.Email, Due: s.Now().UTC(),
		To: meeting.Person{UserID: person.UserID, Email: m.From, Name: person.Name, Locale: person.Locale, Timezone: person.Timezone},
		Facts: meeting.Facts{Title: w.unreadable, Organizer: meeting.Contact{Name: cmp.Or(person.Name, m.From), Email: m.From}, Reply: &meeting.Reply{
			From: m.Recipient, Name: m.Recipient, Lang: w.lang, Subject: w.unreadable, Text: text, InReplyTo: m.MessageID, Event: "winmail",
		}},
	}
	notices, err := s.Store.Tell(ctx, []meeting.Notice{notice})
	if err != nil {
		return "", err
	}
	s.Scheduler.Schedule(ctx, booking.Deliveries(notices)...)
	return text, nil
}

// AskSender mails the sender of an invitation that nothing proves to be theirs a link to confirm it. key is the same for
// the copies of a mail: the sender is asked once. It returns the text without the link.
func (s *Service) AskSender(ctx context.Context, m Message, title, link, key string) (string, error) {
	found, err := s.People.ByEmail(ctx, []string{m.From})
	if err != nil {
		return "", err
	}
	person := found[m.From]
	w := wordsFor(person.Locale)
	notice := meeting.Notice{
		DedupeKey: fmt.Sprintf("%s:confirm:%s", meeting.NoticeReply, key), Kind: meeting.NoticeReply, Channel: meeting.Email, Due: s.Now().UTC(),
		To: meeting.Person{UserID: person.UserID, Email: m.From, Name: person.Name, Locale: person.Locale, Timezone: person.Timezone},
		Facts: meeting.Facts{Title: w.confirm, Organizer: meeting.Contact{Name: cmp.Or(person.Name, m.From), Email: m.From}, Reply: &meeting.Reply{
			From: m.Recipient, Name: m.Recipient, Lang: w.lang, Subject: w.confirm, Text: fmt.Sprintf(w.confirmText, m.Recipient, title, link), InReplyTo: m.MessageID,
			Event: "confirm " + key,
		}},
	}
	notices, err := s.Store.Tell(ctx, []meeting.Notice{notice})
	if err != nil {
		return "", err
	}
	s.Scheduler.Schedule(ctx, booking.Deliveries(notices)...)
	return w.confirm, nil
}
