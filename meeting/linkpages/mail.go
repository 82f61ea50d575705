package linkpages

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
)

const mailPath = "/confirm-invitation"

// Mails are invitations by mail that their senders confirm. Methods return [meeting.ErrNotFound] for an unknown mail.
type Mails interface {
	Unconfirmed(ctx context.Context, id int64) (*UnconfirmedMail, error)
	// Confirm releases a mail, unless it is confirmed or it is too late.
	Confirm(ctx context.Context, id int64) (*UnconfirmedMail, error)
}

// UnconfirmedMail is an invitation whose sender was asked to confirm it.
type UnconfirmedMail struct {
	Subject, Room   string
	Confirmed, Late bool
}

// MailURL returns the address of the page on which a sender confirms a mail.
func (l *Links) MailURL(id int64) string {
	return l.base + mailPath + "?token=" + l.seal(forMail, appendInts(id))
}

func (l *Links) readMail(token string) (id int64, ok bool) {
	b, ok := l.open(forMail, token)
	if !ok {
		return 0, false
	}
	b, ok = readInts(b, &id)
	return id, ok && len(b) == 0
}

func (p *Pages) mailPage() page {
	return page{mailPath, p.Limiter, func(w *words) pageWords { return w.Mail }}
}

func (p *Pages) showMail(c *gin.Context) {
	token := c.Query("token")
	id, ok := readToken(p.mailPage(), c, token, p.Links.readMail)
	if !ok {
		return
	}
	m, err := p.Mails.Unconfirmed(c.Request.Context(), id)
	if err != nil {
		p.mailPage().fail(c, err)
		return
	}
	p.mailPage().write(c, http.StatusOK, mailView(c, m, token))
}

func (p *Pages) confirmMail(c *gin.Context) {
	token := c.PostForm("token")
	id, ok := readToken(p.mailPage(), c, token, p.Links.readMail)
	if !ok {
		return
	}
	m, err := p.Mails.Confirm(c.Request.Context(), id)
	if err != nil {
		p.mailPage().fail(c, err)
		return
	}
	if m.Confirmed || m.Late {
		p.mailPage().write(c, http.StatusConflict, mailView(c, m, token))
		return
	}
	p.mailPage().done(c, token)
}

func mailView(c *gin.Context, m *UnconfirmedMail, token string) *view {
	w := wordsFor(c.GetHeader("Accept-Language"))
	v := &view{Lang: w.Lang, Headline: m.Subject, Action: mailPath, Tone: "calm"}
	state := "open"
	switch {
	case m.Confirmed:
		state, v.Tone = "confirmed", "good"
	case m.Late:
		state = "late"
	default:
		v.Tone, v.Token = "ask", token
		v.Choices = []option{{Label: w.Mail.Buttons["confirm"], Class: "approve"}}
	}
	v.setState(w.Mail.States[state])
	v.add(w.Labels["where"], m.Room)
	return v
}
