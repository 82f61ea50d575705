package httpapi

import (
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
	"punctual/meeting"
)

//go:embed answer
var answerFiles embed.FS

var answerPage = template.Must(template.ParseFS(answerFiles, "answer/page.html"))

// answerView is what a page shows that a link in a mail leads to and that asks before it acts.
type answerView struct {
	Lang, Tag, Headline, Lead, Tone, Fault string
	Rows                                   []decideRow
	Action                                 string // where the form goes
	Token                                  string // empty: there is nothing to do
	Confirm                                string
	Remark, Optional, Comment              string // Remark empty: there is nothing to say
	Choices                                []answerChoice
}

type answerChoice struct {
	Value, Label, Class string
	Given               bool // it is what was answered
}

// answers is what the pages behind links have in common. Who tries tokens that are not ours is
// slowed down, by network.
type answers struct {
	name    string
	limiter account.Limiter
	words   map[string]map[string]stateWords // by language; with unknown, limited and failed
}

// read lets open look at the token, or answers itself: opening tells whether we made it.
func (a answers) read(c *gin.Context, open func() bool) bool {
	key := a.name + ":" + network(c.ClientIP())
	allowed, wait := a.limiter.Allow(c.Request.Context(), key)
	if !allowed {
		c.Header("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
		a.write(c, http.StatusTooManyRequests, a.notice(c, "limited"))
		return false
	}
	if !open() {
		a.write(c, http.StatusNotFound, a.notice(c, "unknown"))
		return false
	}
	a.limiter.Forgive(c.Request.Context(), key)
	return true
}

// fail answers what no reader can help.
func (a answers) fail(c *gin.Context, err error) {
	if errors.Is(err, meeting.ErrNotFound) || errors.Is(err, meeting.ErrForbidden) {
		a.write(c, http.StatusNotFound, a.notice(c, "unknown"))
		return
	}
	_ = c.Error(err) // for the log
	status := http.StatusInternalServerError
	if errors.Is(err, context.DeadlineExceeded) {
		status = http.StatusServiceUnavailable
	}
	a.write(c, status, a.notice(c, "failed"))
}

// notice is a page about nothing in particular.
func (a answers) notice(c *gin.Context, state string) *answerView {
	w := wordsFor(c.GetHeader("Accept-Language"))
	s := a.words[w.Lang][state]
	return &answerView{Lang: w.Lang, Tag: s.Tag, Headline: s.Tag, Lead: s.Lead, Tone: "calm"}
}

func (a answers) write(c *gin.Context, status int, v *answerView) {
	var b strings.Builder
	if err := answerPage.Execute(&b, v); err != nil {
		_ = c.Error(err)
		c.Status(http.StatusInternalServerError)
		return
	}
	c.Header("Cache-Control", "no-store")
	c.Header("X-Robots-Tag", "noindex")
	c.Data(status, "text/html; charset=utf-8", []byte(b.String()))
}
