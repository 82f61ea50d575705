package linkpages

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

//go:embed page.html style.css
var linkFiles embed.FS

var pageTemplate = template.Must(template.ParseFS(linkFiles, "page.html"))

const stylePath = "/decide.css"

func linkStyle() gin.HandlerFunc {
	style, err := linkFiles.ReadFile("style.css")
	if err != nil {
		panic(err) // it is a part of the program
	}
	return func(c *gin.Context) {
		c.Header("Cache-Control", "no-cache")
		c.Data(http.StatusOK, "text/css; charset=utf-8", style)
	}
}

// view is what a page shows that a link leads to and that asks before it acts.
type view struct {
	Lang, Tag, Headline, Lead, Fault string
	Tone                             string // ask, good, bad, calm
	Rows                             []row
	Action                           string     // where the form goes
	Token                            string     // empty: there is nothing to do
	Meeting                          meeting.ID // that the form is about; 0: the token names it
	Confirm                          string
	Remark, Optional, Comment        string // Remark empty: there is nothing to say
	Choices                          []option
}

type row struct {
	Label string
	Lines []string
}

type option struct {
	Value, Label, Class string
	Given               bool // it is what was answered
}

func (v *view) add(label string, lines ...string) {
	if len(lines) > 0 && lines[0] != "" {
		v.Rows = append(v.Rows, row{label, lines})
	}
}

// page is the common part of the pages that links open. It rate-limits invalid tokens by
// network.
type page struct {
	name    string
	limiter account.Limiter
	words   func(lang string) map[string]stateWords // with unknown, limited and failed
}

// read calls open, which reports whether the token is valid. If it is not, read responds itself.
// Valid tokens are never rate-limited, whatever others in the same network try.
func (p page) read(c *gin.Context, open func() bool) bool {
	if open() {
		return true
	}
	allowed, wait := p.limiter.Allow(c.Request.Context(), p.name+":"+account.Networks(c.ClientIP())[0])
	if !allowed {
		c.Header("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
		p.write(c, http.StatusTooManyRequests, p.notice(c, "limited"))
		return false
	}
	p.write(c, http.StatusNotFound, p.notice(c, "unknown"))
	return false
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
	lang := wordsFor(c.GetHeader("Accept-Language")).Lang
	s := p.words(lang)[state]
	return &view{Lang: lang, Tag: s.Tag, Headline: s.Tag, Lead: s.Lead, Tone: "calm"}
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
