package httpapi

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"punctual/account"
	"punctual/meeting"
)

// RespondPage lets people answer an invitation without signing in: GET shows what is asked and
// changes nothing, since programs follow links, too; POST answers. It works without scripts.
type RespondPage struct {
	Service *meeting.Service
	Links   *Links
	Limiter account.Limiter // of tokens that are not ours, by network
}

func (p *RespondPage) answers() answers {
	return answers{name: "respond", limiter: p.Limiter, words: respondStates}
}

// Register adds the page to the router. Its looks are those of [DecidePage].
func (p *RespondPage) Register(r gin.IRouter) {
	r.GET(respondPath, p.show)
	r.HEAD(respondPath, p.show)
	r.POST(respondPath, p.respond)
}

func (p *RespondPage) show(c *gin.Context) {
	token := c.Query("token")
	inv, ok := p.read(c, token)
	if !ok {
		return
	}
	invited, err := p.Service.FollowInvitation(c.Request.Context(), inv)
	if err != nil {
		p.answers().fail(c, err)
		return
	}
	p.answers().write(c, http.StatusOK, respondView(c, invited, token, meeting.Response(c.Query("choice"))))
}

func (p *RespondPage) respond(c *gin.Context) {
	token := c.PostForm("token")
	inv, ok := p.read(c, token)
	if !ok {
		return
	}
	ctx := c.Request.Context()
	choice, comment := meeting.Response(c.PostForm("choice")), strings.ReplaceAll(c.PostForm("comment"), "\r\n", "\n")
	if !choice.Answers() {
		choice = "" // which is told as a fault
	}
	err := p.Service.RespondByLink(ctx, inv, choice, comment)
	if err == nil {
		c.Redirect(http.StatusSeeOther, respondPath+"?token="+token) // so that loading anew does not send it again
		return
	}
	_, over := errors.AsType[*meeting.StateError](err)
	_, invalid := errors.AsType[*meeting.InvalidError](err)
	if !over && !invalid {
		p.answers().fail(c, err)
		return
	}
	invited, err := p.Service.FollowInvitation(ctx, inv)
	if err != nil {
		p.answers().fail(c, err)
		return
	}
	v, status := respondView(c, invited, token, choice), http.StatusConflict
	if invalid {
		status, v.Comment = http.StatusUnprocessableEntity, comment
		if choice.Answers() {
			v.Fault = wordsFor(invited.Person.Locale).TooLong
		}
	}
	p.answers().write(c, status, v)
}

func (p *RespondPage) read(c *gin.Context, token string) (inv meeting.Invitation, ok bool) {
	ok = p.answers().read(c, func() bool {
		var ours bool
		inv, ours = p.Links.readInvitation(token)
		return ours
	})
	return inv, ok
}

func respondView(c *gin.Context, i *meeting.Invited, token string, choice meeting.Response) *answerView {
	m := i.Meeting
	w := wordsFor(cmp.Or(i.Person.Locale, c.GetHeader("Accept-Language")))
	zone, err := meeting.Zone(cmp.Or(i.Person.Timezone, m.Timezone))
	if err != nil {
		zone = time.UTC
	}
	v := &answerView{Lang: w.Lang, Headline: m.Title, Action: respondPath, Tone: respondTones[i.Response], Comment: i.Comment}
	state := string(i.Response)
	if !i.Open {
		state, v.Tone = "over", "calm"
		if m.Status == meeting.Cancelled || m.Status == meeting.Released {
			state = "off"
		}
	} else {
		v.Token = token
		v.Remark, v.Optional = w.Remark, respondOptional[w.Lang]
		v.choose(w.Lang, i.Response, choice)
	}
	s := respondStates[w.Lang][state]
	who := cmp.Or(m.Organizer.Name, m.Organizer.Email)
	v.Tag, v.Lead = s.Tag, strings.NewReplacer("{who}", who, "{n}", strconv.Itoa(len(i.Dates))).Replace(s.Lead)
	v.Rows = invitedRows(w, i, zone)
	return v
}

// choose offers the answers: the one that the link names, or that was given, first and last.
func (v *answerView) choose(lang string, given, wanted meeting.Response) {
	for _, o := range []struct {
		response meeting.Response
		class    string
	}{{meeting.Accepted, "approve"}, {meeting.Tentative, "quiet"}, {meeting.Declined, "reject quiet"}} {
		class := o.class
		switch {
		case wanted.Answers() && wanted != given && o.response == wanted:
			class = strings.TrimSuffix(class, " quiet")
			if o.response == meeting.Tentative {
				class = ""
			}
		case wanted.Answers() && wanted != given, given.Answers():
			class = strings.TrimSuffix(class, " quiet") + " quiet"
		}
		label := respondLabels[lang][o.response]
		if o.response == given {
			label = "✓ " + label
		}
		v.Choices = append(v.Choices, answerChoice{string(o.response), label, class, o.response == given})
	}
	if wanted.Answers() && wanted != given {
		v.Confirm = strings.ReplaceAll(respondConfirm[lang], "{choice}", respondLabels[lang][wanted])
	}
}

func invitedRows(w *words, i *meeting.Invited, zone *time.Location) []decideRow {
	m := i.Meeting
	var rows []decideRow
	add := func(label string, lines ...string) {
		if len(lines) > 0 && lines[0] != "" {
			rows = append(rows, decideRow{w.Labels[label], lines})
		}
	}
	add("when", w.slot(m.Slot, zone))
	add("dates", w.dates(i.Dates, zone)...)
	add("where", strings.Join(m.RoomNames, w.Comma))
	add("organizer", cmp.Or(m.Organizer.Name, m.Organizer.Email))
	add("description", strings.Split(m.Description, "\n")...)
	return rows
}

var respondTones = map[meeting.Response]string{
	meeting.NeedsAction: "ask", meeting.Accepted: "good", meeting.Tentative: "calm", meeting.Declined: "bad",
}
