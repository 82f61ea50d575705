package linkpages

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"punctual/meeting"
	"punctual/meeting/booking"
)

func (p *Pages) showArrival(c *gin.Context) {
	token := c.Query("token")
	a, ok := p.readArrival(c, token)
	if !ok {
		return
	}
	at, err := p.Service.Arrivable(c.Request.Context(), a.to(c.Query("meeting")))
	if err != nil {
		p.arrivalPage().fail(c, err)
		return
	}
	p.arrivalPage().write(c, http.StatusOK, p.arrivalView(c, at, token))
}

func (p *Pages) arrive(c *gin.Context) {
	token := c.PostForm("token")
	a, ok := p.readArrival(c, token)
	if !ok {
		return
	}
	at, err := p.Service.ArriveBy(c.Request.Context(), a.to(c.PostForm("meeting")))
	if _, state := errors.AsType[*meeting.StateError](err); state && at != nil {
		p.arrivalPage().write(c, http.StatusConflict, p.arrivalView(c, at, token))
		return
	}
	if err != nil {
		p.arrivalPage().fail(c, err)
		return
	}
	c.Redirect(http.StatusSeeOther, arrivalPath+"?token="+token+"&meeting="+strconv.FormatInt(at.Meeting.ID, 10)) // so that reloading sends nothing again
}

func (a Arrival) to(seen string) booking.Arrival {
	to := booking.Arrival{MeetingID: a.MeetingID, Email: a.Email, RoomID: a.RoomID}
	if a.RoomID != 0 {
		to.Seen, _ = strconv.ParseInt(seen, 10, 64)
	}
	return to
}

func (p *Pages) readArrival(c *gin.Context, token string) (a Arrival, ok bool) {
	a, ok = readToken(p.arrivalPage(), c, token, p.Links.readArrival)
	if ok && a.RoomID != 0 && p.Now().After(a.Until) {
		p.arrivalPage().write(c, http.StatusGone, p.arrivalPage().notice(c, "stale"))
		return a, false
	}
	return a, ok
}

func (p *Pages) arrivalView(c *gin.Context, at *booking.Arrivable, token string) *view {
	m := at.Meeting
	if m == nil {
		v := p.arrivalPage().notice(c, "free")
		v.Headline = at.Room
		return v
	}
	w := wordsFor(cmp.Or(at.Person.Locale, c.GetHeader("Accept-Language")))
	zone := readerZone(at.Person.Timezone, m.Timezone)
	v := &view{Lang: w.Lang, Headline: m.Title, Tone: "calm", Action: arrivalPath}
	state, when := stateOf(m, p.Now())
	switch state {
	case "open", "optional":
		v.Tone, v.Token, v.Meeting = "ask", token, m.ID
		v.Choices = []option{{Label: w.CheckIn.Buttons["check-in"], Class: "approve"}}
	case "done":
		v.Tone = "good"
	case "released":
		v.Tone = "bad"
	}
	v.setState(w.CheckIn.States[state], "{when}", when.In(zone).Format("15:04"))
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
