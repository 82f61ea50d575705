package linkpages

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

const subscriptionPath = "/choose-mails"

// Reader is the recipient of a mail who chooses which mails to get, without signing in.
type Reader struct {
	UserID int64  // 0: a person without an account
	Email  string // of a person without an account
	Kind   string // of the mail
}

// Subscriptions are the mails that readers may switch off. Methods return [meeting.ErrNotFound] for an
// unknown reader.
type Subscriptions interface {
	// Subscriptions returns the groups of mails that a reader may switch off, at least one.
	Subscriptions(ctx context.Context, r Reader) ([]Subscription, error)

	// Subscribe switches a group on or off. An empty group is that of the mail. It ignores other groups.
	Subscribe(ctx context.Context, r Reader, group string, on bool) error
}

// Subscription is a group of mails, such as "reminder", and whether the reader gets them.
type Subscription struct {
	Group string
	On    bool
}

// MailsURL returns the address of the page on which the reader of a mail chooses mails. It is also the
// target of one click in a mail program (RFC 8058).
func (l *Links) MailsURL(r Reader) string {
	return l.base + subscriptionPath + "?token=" + l.seal(forSubscription, append(appendInts(r.UserID), r.Kind+"\x00"+r.Email...))
}

func (l *Links) readReader(token string) (r Reader, ok bool) {
	b, ok := l.open(forSubscription, token)
	if !ok {
		return r, false
	}
	if b, ok = readInts(b, &r.UserID); !ok {
		return r, false
	}
	r.Kind, r.Email, ok = strings.Cut(string(b), "\x00")
	return r, ok && (r.UserID != 0) != (r.Email != "")
}

func (p *Pages) subscriptionPage() page {
	return page{subscriptionPath, p.Limiter, func(w *words) pageWords { return w.Subscription }}
}

func (p *Pages) showSubscriptions(c *gin.Context) {
	token := c.Query("token")
	r, ok := readToken(p.subscriptionPage(), c, token, p.Links.readReader)
	if !ok {
		return
	}
	p.writeSubscriptions(c, r, token)
}

func (p *Pages) writeSubscriptions(c *gin.Context, r Reader, token string) {
	all, err := p.Subscriptions.Subscriptions(c.Request.Context(), r)
	if err != nil {
		p.subscriptionPage().fail(c, err)
		return
	}
	p.subscriptionPage().write(c, http.StatusOK, subscriptionView(c, r, all, token))
}

// subscribe handles a button of the page, whose value is a group and on or off, and one click in a mail
// program, which has the token in the address. Repeating either changes nothing.
func (p *Pages) subscribe(c *gin.Context) {
	token := cmp.Or(c.PostForm("token"), c.Query("token"))
	r, ok := readToken(p.subscriptionPage(), c, token, p.Links.readReader)
	if !ok {
		return
	}
	group, state, _ := strings.Cut(c.PostForm("choice"), ":")
	oneClick := c.PostForm("List-Unsubscribe") == "One-Click"
	if !oneClick && state != "on" && state != "off" {
		p.writeSubscriptions(c, r, token)
		return
	}
	if oneClick {
		group, state = "", "off"
	}
	if err := p.Subscriptions.Subscribe(c.Request.Context(), r, group, state == "on"); err != nil {
		p.subscriptionPage().fail(c, err)
		return
	}
	if oneClick { // mail programs do not follow redirects
		p.writeSubscriptions(c, r, token)
		return
	}
	p.subscriptionPage().done(c, token)
}

func subscriptionView(c *gin.Context, r Reader, all []Subscription, token string) *view {
	w := wordsFor(c.GetHeader("Accept-Language"))
	v := &view{Lang: w.Lang, Action: subscriptionPath, Tone: "calm", Token: token, Stacked: true}
	state := "guest"
	if r.UserID != 0 {
		state = "user"
	}
	if len(all) == 0 {
		state, v.Token = "required", ""
	}
	v.setState(w.Subscription.States[state], "{who}", r.Email)
	v.Headline = w.Subscription.Headline
	for _, s := range all {
		name, now, button, class := w.Kinds[s.Group], "off", "on", "approve"
		if s.On {
			now, button, class = "on", "off", "quiet"
		}
		v.add(name, w.Subscription.Switched[now])
		v.Choices = append(v.Choices, option{Value: s.Group + ":" + button, Label: strings.ReplaceAll(w.Subscription.Buttons[button], "{kind}", name), Class: class})
	}
	return v
}
