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

// RespondPage lets people answer an invitation without signing in: GET shows what is asked and
// changes nothing, since programs follow links, too; POST answers. It works without scripts.
type RespondPage struct {
	Service *meeting.Service
	Links   *Links
	Limiter account.Limiter // of tokens that are not ours, by network
}

func (p *RespondPage) page() page {
	return page{name: "respond", limiter: p.Limiter, words: func(lang string) map[string]stateWords { return respondStates[lang] }}
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
		p.page().fail(c, err)
		return
	}
	p.page().write(c, http.StatusOK, respondView(c, invited, p.seen(inv, invited), meeting.Response(c.Query("choice"))))
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
		choice = "" // reported as a fault
	}
	err := p.Service.RespondByLink(ctx, inv, choice, comment)
	if err == nil {
		c.Redirect(http.StatusSeeOther, respondPath+"?token="+token) // so that loading anew does not send it again
		return
	}
	_, over := errors.AsType[*meeting.StateError](err)
	_, invalid := errors.AsType[*meeting.InvalidError](err)
	changed := errors.Is(err, meeting.ErrSeenOutdated)
	if !over && !invalid && !changed {
		p.page().fail(c, err)
		return
	}
	invited, err := p.Service.FollowInvitation(ctx, inv)
	if err != nil {
		p.page().fail(c, err)
		return
	}
	v, status := respondView(c, invited, p.seen(inv, invited), choice), http.StatusConflict
	if changed && invited.Open {
		v.Fault, v.Comment = respondChanged[v.Lang], comment
	}
	if invalid {
		status, v.Comment = http.StatusUnprocessableEntity, comment
		if choice.Answers() {
			v.Fault = wordsFor(invited.Person.Locale).TooLong
		}
	}
	p.page().write(c, status, v)
}

func (p *RespondPage) read(c *gin.Context, token string) (inv meeting.Invitation, ok bool) {
	ok = p.page().read(c, func() bool {
		var ours bool
		inv, ours = p.Links.readInvitation(token)
		return ours
	})
	return inv, ok
}

// seen is the token of the page that shows what the invitation leads to now, so that an answer
// counts for that alone.
func (p *RespondPage) seen(inv meeting.Invitation, now *meeting.Invited) string {
	inv.Seen = now.Seen
	return p.Links.invitationToken(inv)
}

func respondView(c *gin.Context, i *meeting.Invited, token string, choice meeting.Response) *view {
	m := i.Meeting
	w := wordsFor(cmp.Or(i.Person.Locale, c.GetHeader("Accept-Language")))
	zone, err := fault.StoredZone(cmp.Or(i.Person.Timezone, m.Timezone))
	if err != nil {
		zone = time.UTC
	}
	v := &view{Lang: w.Lang, Headline: m.Title, Action: respondPath, Tone: respondTones[i.Response], Comment: i.Comment}
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
	v.add(w.Labels["when"], w.slot(m.Slot, zone))
	v.add(w.Labels["dates"], w.dates(i.Dates, zone)...)
	v.add(w.Labels["where"], strings.Join(m.RoomNames, w.Comma))
	v.add(w.Labels["organizer"], who)
	v.add(w.Labels["description"], strings.Split(m.Description, "\n")...)
	return v
}

// choose offers the answers: the one that the link names, or that was given, first and last.
func (v *view) choose(lang string, given, wanted meeting.Response) {
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
		v.Choices = append(v.Choices, option{string(o.response), label, class, o.response == given})
	}
	if wanted.Answers() && wanted != given {
		v.Confirm = strings.ReplaceAll(respondConfirm[lang], "{choice}", respondLabels[lang][wanted])
	}
}

var respondTones = map[meeting.Response]string{
	meeting.NeedsAction: "ask", meeting.Accepted: "good", meeting.Tentative: "calm", meeting.Declined: "bad",
}
