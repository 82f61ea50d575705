package httpapi

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
	"punctual/meeting"
)

//go:embed arrival
var arrivalFiles embed.FS

var arrivalPage = template.Must(template.ParseFS(arrivalFiles, "arrival/page.html"))

// ArrivalPage lets people check in without signing in, by a link in their mail or by the code
// at the door: GET shows the meeting and changes nothing, since programs follow links, too;
// POST checks in. It works without scripts.
type ArrivalPage struct {
	Service *meeting.Service
	Links   *Links
	Limiter account.Limiter // of tokens that are not ours, by network
	Now     func() time.Time
}

// Register adds the page to the router. Its looks are those of [DecidePage].
func (p *ArrivalPage) Register(r gin.IRouter) {
	r.GET(arrivalPath, p.show)
	r.HEAD(arrivalPath, p.show)
	r.POST(arrivalPath, p.arrive)
}

func (p *ArrivalPage) show(c *gin.Context) {
	token := c.Query("token")
	a, ok := p.read(c, token)
	if !ok {
		return
	}
	at, err := p.Service.Arrivable(c.Request.Context(), a.to(c.Query("meeting")))
	if err != nil {
		p.fail(c, err)
		return
	}
	p.write(c, http.StatusOK, p.view(c, at, token))
}

func (p *ArrivalPage) arrive(c *gin.Context) {
	token := c.PostForm("token")
	a, ok := p.read(c, token)
	if !ok {
		return
	}
	at, err := p.Service.ArriveBy(c.Request.Context(), a.to(c.PostForm("meeting")))
	if _, state := errors.AsType[*meeting.StateError](err); state && at != nil {
		p.write(c, http.StatusConflict, p.view(c, at, token))
		return
	}
	if err != nil {
		p.fail(c, err)
		return
	}
	c.Redirect(http.StatusSeeOther, arrivalPath+"?token="+token+"&meeting="+strconv.FormatInt(at.Meeting.ID, 10)) // so that loading anew does not send it again
}

// to is what the link leads to. Of a room the page names the meeting that it showed.
func (a Arrival) to(seen string) meeting.Arrival {
	to := meeting.Arrival{MeetingID: a.MeetingID, Email: a.Email, RoomID: a.RoomID}
	if a.RoomID != 0 {
		to.Seen, _ = strconv.ParseInt(seen, 10, 64)
	}
	return to
}

// read finds out what the token names, or answers itself.
func (p *ArrivalPage) read(c *gin.Context, token string) (Arrival, bool) {
	key := "check-in:" + network(c.ClientIP())
	allowed, wait := p.Limiter.Allow(c.Request.Context(), key)
	if !allowed {
		c.Header("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
		p.write(c, http.StatusTooManyRequests, p.notice(c, "limited"))
		return Arrival{}, false
	}
	a, ok := p.Links.readArrival(token)
	if !ok {
		p.write(c, http.StatusNotFound, p.notice(c, "unknown"))
		return a, false
	}
	p.Limiter.Forgive(c.Request.Context(), key)
	if a.RoomID != 0 && p.Now().After(a.Until) {
		p.write(c, http.StatusGone, p.notice(c, "stale"))
		return a, false
	}
	return a, true
}

func (p *ArrivalPage) fail(c *gin.Context, err error) {
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

// arrivalView is what the page shows.
type arrivalView struct {
	Lang, Tag, Headline, Lead, Tone, Button string
	Rows                                    []decideRow
	Token                                   string // empty: there is nothing to do
	Meeting                                 meeting.ID
}

func (p *ArrivalPage) notice(c *gin.Context, state string) *arrivalView {
	w := wordsFor(c.GetHeader("Accept-Language"))
	s := arrivalIn[w.Lang].States[state]
	return &arrivalView{Lang: w.Lang, Tag: s.Tag, Headline: s.Tag, Lead: s.Lead, Tone: "calm"}
}

func (p *ArrivalPage) view(c *gin.Context, at *meeting.Arrivable, token string) *arrivalView {
	m := at.Meeting
	if m == nil {
		v := p.notice(c, "free")
		v.Headline = at.Room
		return v
	}
	w := wordsFor(cmp.Or(at.Person.Locale, c.GetHeader("Accept-Language")))
	words := arrivalIn[w.Lang]
	zone, err := meeting.Zone(cmp.Or(at.Person.Timezone, m.Timezone))
	if err != nil {
		zone = time.UTC
	}
	v := &arrivalView{Lang: w.Lang, Headline: m.Title, Tone: "calm", Button: words.Button}
	state, when := stateOf(m, p.Now())
	switch state {
	case "open", "optional":
		v.Tone, v.Token, v.Meeting = "ask", token, m.ID
	case "done":
		v.Tone = "good"
	case "released":
		v.Tone = "bad"
	}
	s := words.States[state]
	v.Tag, v.Lead = s.Tag, strings.ReplaceAll(s.Lead, "{when}", when.In(zone).Format("15:04"))
	v.Rows = []decideRow{{w.Labels["when"], []string{w.slot(m.Slot, zone)}}, {w.Labels["where"], []string{strings.Join(m.RoomNames, w.Comma)}}}
	if name := cmp.Or(m.Organizer.Name, m.Organizer.Email); name != "" {
		v.Rows = append(v.Rows, decideRow{w.Labels["organizer"], []string{name}})
	}
	return v
}

// stateOf a meeting for who wants to check in, and the instant that goes with it.
func stateOf(m *meeting.Meeting, at time.Time) (string, time.Time) {
	switch {
	case m.Status == meeting.Released:
		return "released", m.CheckIn.Until
	case m.Status == meeting.Pending:
		return "pending", time.Time{}
	case m.Status.Over():
		return "over", time.Time{}
	case !m.CheckedInAt.IsZero():
		return "done", m.CheckedInAt
	case at.Before(m.CheckInOpens()):
		return "early", m.CheckInOpens()
	case m.CheckIn.Until.IsZero():
		return "optional", time.Time{}
	default:
		return "open", m.CheckIn.Until
	}
}

func (p *ArrivalPage) write(c *gin.Context, status int, v *arrivalView) {
	var b strings.Builder
	if err := arrivalPage.Execute(&b, v); err != nil {
		_ = c.Error(err)
		c.Status(http.StatusInternalServerError)
		return
	}
	c.Header("Cache-Control", "no-store")
	c.Header("X-Robots-Tag", "noindex")
	c.Data(status, "text/html; charset=utf-8", []byte(b.String()))
}
