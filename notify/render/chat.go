package render

import (
	"strings"
	"time"

	"punctual/notify"
)

// Chat is a rendered chat message. Its strings are single lines of plain text.
type Chat struct {
	Title string
	Lines []string
	Links []ChatLink
}

// ChatLink is a button of a chat message.
type ChatLink struct{ Label, URL string }

// Chat renders n as a chat message that is read at now. n.To.Address is the recipient's email address. What is posted in
// the channel of a room or a site addresses nobody, and links only to the meeting.
func (r *Renderer) Chat(n notify.Notification, now time.Time) (Chat, error) {
	if n.Posted() && n.Uninvited {
		n.Kind, n.Facts.Was = notify.Invitation, nil
	}
	v, err := r.view(n, now)
	if err != nil {
		return Chat{}, err
	}
	if n.Posted() {
		v.Self = true // "Booked", because nobody is invited
		if v.Title == "" {
			v.Title = v.locale.must("hidden-title", nil)
		}
	}
	p, err := r.page(v)
	if err != nil {
		return Chat{}, err
	}
	c := Chat{Title: p.Subject}
	if n.Posted() {
		p.Rows = append(p.Rows, v.was()...)
	} else {
		r.addDecision(&p, v, n)
		r.addCheckIn(&p, v, n)
		r.addResponses(&p, v, n)
		r.addAcceptance(&p, v, n)
		c.Lines = []string{p.Lead}
	}
	for _, f := range p.Rows {
		c.Lines = append(c.Lines, f.Label+": "+strings.Join(f.Lines, ", "))
	}
	for _, a := range p.Actions {
		c.Links = append(c.Links, ChatLink{a.Label, a.URL})
	}
	if p.URL != "" {
		c.Links = append(c.Links, ChatLink{p.Button, p.URL})
	}
	return c, nil
}

// ChatTest renders a test message.
func (r *Renderer) ChatTest(locale string) (Chat, error) {
	l := r.locales.of(locale)
	title, err := l.say("chat_test.title", nil)
	if err != nil {
		return Chat{}, err
	}
	lead, err := l.say("chat_test.lead", nil)
	return Chat{Title: title, Lines: []string{lead}}, err
}

// ChannelTest renders a test message for the channel of a room or a site.
func (r *Renderer) ChannelTest(locale, name string) (Chat, error) {
	l := r.locales.of(locale)
	title, err := l.say("chat_test.title", nil)
	if err != nil {
		return Chat{}, err
	}
	lead, err := l.say("channel_test.lead", line(name))
	return Chat{Title: title, Lines: []string{lead}}, err
}

// was returns where the meeting was before a change.
func (v *view) was() []field {
	w := v.facts.Was
	if w == nil {
		return nil
	}
	in := v.start.Location()
	lines := v.slotOf(w.Start.In(in), w.End.In(in))
	if where := v.names(w.Rooms); where != "" {
		lines = append(lines, where)
	}
	return []field{{v.locale.must("label-was", nil), lines}}
}
