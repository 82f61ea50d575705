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

// Chat renders n as a chat message that is read at now. n.To.Address is the recipient's email address.
func (r *Renderer) Chat(n notify.Notification, now time.Time) (Chat, error) {
	v, err := r.view(n, now)
	if err != nil {
		return Chat{}, err
	}
	p, err := r.page(v)
	if err != nil {
		return Chat{}, err
	}
	r.addDecision(&p, v, n)
	r.addCheckIn(&p, v, n)
	r.addResponses(&p, v, n)
	r.addAcceptance(&p, v, n)
	c := Chat{Title: p.Subject, Lines: []string{p.Lead}}
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
