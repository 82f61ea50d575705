package linkpages

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"punctual/account"
	"punctual/account/fault"
	"punctual/meeting"
)

// ArrivalPage lets people check in without signing in, by a link in their mail or by the code
// at the door: GET shows the meeting and changes nothing, since programs follow links, too;
// POST checks in. It works without scripts.
type ArrivalPage struct {
	Service *meeting.Service
	Links   *Links
	Limiter account.Limiter // of tokens that are not ours, by network
	Now     func() time.Time
}

func (p *ArrivalPage) page() page {
	return page{name: "check-in", limiter: p.Limiter, words: func(lang string) map[string]stateWords { return arrivalIn[lang].States }}
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
		p.page().fail(c, err)
		return
	}
	p.page().write(c, http.StatusOK, p.view(c, at, token))
}

func (p *ArrivalPage) arrive(c *gin.Context) {
	token := c.PostForm("token")
	a, ok := p.read(c, token)
	if !ok {
		return
	}
	at, err := p.Service.ArriveBy(c.Request.Context(), a.to(c.PostForm("meeting")))
	if _, state := errors.AsType[*meeting.StateError](err); state && at != nil {
		p.page().write(c, http.StatusConflict, p.view(c, at, token))
		return
	}
	if err != nil {
		p.page().fail(c, err)
		return
	}
	c.Redirect(http.StatusSeeOther, arrivalPath+"?token="+token+"&meeting="+strconv.FormatInt(at.Meeting.ID, 10)) // so that loading anew does not send it again
}

func (a Arrival) to(seen string) meeting.Arrival {
	to := meeting.Arrival{MeetingID: a.MeetingID, Email: a.Email, RoomID: a.RoomID}
	if a.RoomID != 0 {
		to.Seen, _ = strconv.ParseInt(seen, 10, 64)
	}
	return to
}

func (p *ArrivalPage) read(c *gin.Context, token string) (a Arrival, ok bool) {
	ok = p.page().read(c, func() bool {
		var ours bool
		a, ours = p.Links.readArrival(token)
		return ours
	})
	if ok && a.RoomID != 0 && p.Now().After(a.Until) {
		p.page().write(c, http.StatusGone, p.page().notice(c, "stale"))
		return a, false
	}
	return a, ok
}

func (p *ArrivalPage) view(c *gin.Context, at *meeting.Arrivable, token string) *view {
	m := at.Meeting
	if m == nil {
		v := p.page().notice(c, "free")
		v.Headline = at.Room
		return v
	}
	w := wordsFor(cmp.Or(at.Person.Locale, c.GetHeader("Accept-Language")))
	words := arrivalIn[w.Lang]
	zone, err := fault.StoredZone(cmp.Or(at.Person.Timezone, m.Timezone))
	if err != nil {
		zone = time.UTC
	}
	v := &view{Lang: w.Lang, Headline: m.Title, Tone: "calm", Action: arrivalPath}
	state, when := stateOf(m, p.Now())
	switch state {
	case "open", "optional":
		v.Tone, v.Token, v.Meeting = "ask", token, m.ID
		v.Choices = []option{{Label: words.Button, Class: "approve"}}
	case "done":
		v.Tone = "good"
	case "released":
		v.Tone = "bad"
	}
	s := words.States[state]
	v.Tag, v.Lead = s.Tag, strings.ReplaceAll(s.Lead, "{when}", when.In(zone).Format("15:04"))
	v.add(w.Labels["when"], w.slot(m.Slot, zone))
	v.add(w.Labels["where"], strings.Join(m.RoomNames, w.Comma))
	v.add(w.Labels["organizer"], cmp.Or(m.Organizer.Name, m.Organizer.Email))
	return v
}

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
