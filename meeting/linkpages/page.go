package linkpages

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"punctual/account"
	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/approval"
	"punctual/meeting/booking"
	"punctual/meeting/waitlist"
)

//go:embed page.html style.css
var linkFiles embed.FS

var pageTemplate = template.Must(template.ParseFS(linkFiles, "page.html"))

const stylePath = "/decide.css"

func linkStyle() gin.HandlerFunc {
	style, err := linkFiles.ReadFile("style.css")
	if err != nil {
		panic(err) // embedded in the program
	}
	return func(c *gin.Context) {
		c.Header("Cache-Control", "no-cache")
		c.Data(http.StatusOK, "text/css; charset=utf-8", style)
	}
}

// view is the content of a page that asks for confirmation before it acts.
type view struct {
	Lang, Tag, Headline, Lead, Fault string
	Tone                             string // ask, good, bad, calm
	Rows                             []row
	Action                           string     // target of the form
	Token                            string     // empty: there is nothing to do
	Meeting                          meeting.ID // of the form; 0: in the token
	Confirm                          string
	Remark, Optional, Comment        string // Remark empty: there is nothing to say
	Choices                          []option
	Stacked                          bool // long labels: one choice below the other
}

type row struct {
	Label string
	Lines []string
}

type option struct {
	Value, Label, Class string
	Given               bool // the current response
}

func (v *view) add(label string, lines ...string) {
	if len(lines) > 0 && lines[0] != "" {
		v.Rows = append(v.Rows, row{label, lines})
	}
}

func (v *view) setState(s stateWords, replacements ...string) {
	v.Tag, v.Lead = s.Tag, strings.NewReplacer(replacements...).Replace(s.Lead)
}

func (v *view) setViolations(w *words, e *meeting.PolicyError) {
	v.Fault = w.Rules
	for _, f := range e.Violations {
		v.Fault += " " + f.Message + "."
	}
}

// readerZone returns the reader's own zone, by default that of the meeting.
func readerZone(own, meeting string) *time.Location {
	zone, err := fault.StoredZone(cmp.Or(own, meeting))
	if err != nil {
		return time.UTC
	}
	return zone
}

// Pages serves the pages behind links. GET shows the content and changes nothing, because programs
// follow links too. POST acts.
type Pages struct {
	Service  *booking.Service
	Approval *approval.Service
	Waitlist *waitlist.Service
	Mails    Mails

	Subscriptions Subscriptions

	Links   *Links
	Limiter account.Limiter // of invalid tokens, by network
	Inbox   gin.HandlerFunc // answers /decide without a token, the path where signed-in users decide
	Now     func() time.Time
}

// Register adds the pages and their style sheet to the router.
func (p *Pages) Register(r gin.IRouter) {
	for path, handlers := range map[string]struct{ get, post gin.HandlerFunc }{
		decidePath:  {p.showRequest, p.decide},
		arrivalPath: {p.showArrival, p.arrive},
		respondPath: {p.showInvitation, p.respond},
		offerPath:   {p.showOffer, p.answerOffer},
		mailPath:    {p.showMail, p.confirmMail},

		subscriptionPath: {p.showSubscriptions, p.subscribe},
	} {
		r.GET(path, handlers.get)
		r.HEAD(path, handlers.get)
		r.POST(path, handlers.post)
	}
	r.GET(stylePath, linkStyle())
}

func (p *Pages) decidePage() page {
	return page{decidePath, p.Limiter, func(w *words) pageWords { return w.Decide }}
}

func (p *Pages) arrivalPage() page {
	return page{arrivalPath, p.Limiter, func(w *words) pageWords { return w.CheckIn }}
}

func (p *Pages) respondPage() page {
	return page{respondPath, p.Limiter, func(w *words) pageWords { return w.Respond }}
}

func (p *Pages) offerPage() page {
	return page{offerPath, p.Limiter, func(w *words) pageWords { return w.Offer }}
}

type page struct {
	path    string
	limiter account.Limiter
	words   func(*words) pageWords
}

// readToken returns the content of a token. If the token is not ours, it responds and returns
// false. Valid tokens are never rate-limited, whatever others in the same network try.
func readToken[T any](p page, c *gin.Context, token string, read func(token string) (T, bool)) (named T, ok bool) {
	if named, ok = read(token); ok {
		return named, true
	}
	key := strings.TrimPrefix(p.path, "/") + ":" + account.Networks(c.ClientIP())[0]
	allowed, wait := p.limiter.Allow(c.Request.Context(), key)
	if !allowed {
		c.Header("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
		p.write(c, http.StatusTooManyRequests, p.notice(c, "limited"))
		return named, false
	}
	p.write(c, http.StatusNotFound, p.notice(c, "unknown"))
	return named, false
}

// done redirects to the page by GET, so that reloading it sends nothing again.
func (p page) done(c *gin.Context, token string) {
	c.Redirect(http.StatusSeeOther, p.path+"?token="+token)
}

func (p page) fail(c *gin.Context, err error) {
	if errors.Is(err, meeting.ErrNotFound) || errors.Is(err, meeting.ErrForbidden) {
		p.write(c, http.StatusNotFound, p.notice(c, "unknown"))
		return
	}
	_ = c.Error(err) // for the log
	status := http.StatusInternalServerError
	if errors.Is(err, context.DeadlineExceeded) {
		status = http.StatusServiceUnavailable
	}
	p.write(c, status, p.notice(c, "failed"))
}

func (p page) notice(c *gin.Context, state string) *view {
	w := wordsFor(c.GetHeader("Accept-Language"))
	s := p.words(w).States[state]
	return &view{Lang: w.Lang, Tag: s.Tag, Headline: s.Tag, Lead: s.Lead, Tone: "calm"}
}

func (p page) write(c *gin.Context, status int, v *view) {
	var b strings.Builder
	if err := pageTemplate.Execute(&b, v); err != nil {
		_ = c.Error(err)
		c.Status(http.StatusInternalServerError)
		return
	}
	c.Header("Cache-Control", "no-store")
	c.Header("X-Robots-Tag", "noindex")
	c.Data(status, "text/html; charset=utf-8", []byte(b.String()))
}
