package linkpages

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"punctual/meeting"
	"punctual/meeting/booking"
)

func (p *Pages) showInvitation(c *gin.Context) {
	token := c.Query("token")
	inv, ok := readToken(p.respondPage(), c, token, p.Links.readInvitation)
	if !ok {
		return
	}
	invited, err := p.Service.FollowInvitation(c.Request.Context(), inv)
	if err != nil {
		p.respondPage().fail(c, err)
		return
	}
	p.respondPage().write(c, http.StatusOK, respondView(c, invited, p.seen(inv, invited), meeting.Response(c.Query("choice"))))
}

func (p *Pages) respond(c *gin.Context) {
	token := c.PostForm("token")
	inv, ok := readToken(p.respondPage(), c, token, p.Links.readInvitation)
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
		p.respondPage().done(c, token)
		return
	}
	_, over := errors.AsType[*meeting.StateError](err)
	_, invalid := errors.AsType[*meeting.InvalidError](err)
	changed := errors.Is(err, booking.ErrSeenOutdated)
	if !over && !invalid && !changed {
		p.respondPage().fail(c, err)
		return
	}
	invited, err := p.Service.FollowInvitation(ctx, inv)
	if err != nil {
		p.respondPage().fail(c, err)
		return
	}
	v, status := respondView(c, invited, p.seen(inv, invited), choice), http.StatusConflict
	if changed && invited.Open {
		v.Fault, v.Comment = wordsFor(v.Lang).Respond.Changed, comment
	}
	if invalid {
		status, v.Comment = http.StatusUnprocessableEntity, comment
		if choice.Answers() {
			v.Fault = wordsFor(invited.Person.Locale).TooLong
		}
	}
	p.respondPage().write(c, status, v)
}

// seen returns a token for the content that the page shows now, so that a response applies only to
// that.
func (p *Pages) seen(inv booking.Invitation, now *booking.Invited) string {
	inv.Seen = now.Seen
	return p.Links.invitationToken(inv)
}

func respondView(c *gin.Context, i *booking.Invited, token string, choice meeting.Response) *view {
	m := i.Meeting
	w := wordsFor(cmp.Or(i.Person.Locale, c.GetHeader("Accept-Language")))
	zone := readerZone(i.Person.Timezone, m.Timezone)
	v := &view{Lang: w.Lang, Headline: m.Title, Action: respondPath, Tone: respondTones[i.Response], Comment: i.Comment}
	state := string(i.Response)
	if !i.Open {
		state, v.Tone = "over", "calm"
		if m.Status == meeting.Cancelled || m.Status == meeting.Released {
			state = "off"
		}
	} else {
		v.Token = token
		v.Remark, v.Optional = w.Comment, w.Respond.Optional
		v.choose(w.Respond, i.Response, choice)
	}
	who := cmp.Or(m.Organizer.Name, m.Organizer.Email)
	v.setState(w.Respond.States[state], "{who}", who)
	v.add(w.Labels["when"], w.slot(m.Slot, zone))
	v.add(w.Labels["dates"], w.dates(i.Dates, zone)...)
	v.add(w.Labels["where"], strings.Join(m.RoomNames, w.Comma))
	v.add(w.Labels["organizer"], who)
	v.add(w.Labels["description"], strings.Split(m.Description, "\n")...)
	return v
}

// choose lists the possible responses: the one of the link, or the current one, first and last.
func (v *view) choose(w pageWords, current, requested meeting.Response) {
	for _, o := range []struct {
		response meeting.Response
		class    string
	}{{meeting.Accepted, "approve"}, {meeting.Tentative, "quiet"}, {meeting.Declined, "reject quiet"}} {
		class := o.class
		switch {
		case requested.Answers() && requested != current && o.response == requested:
			class = strings.TrimSuffix(class, " quiet")
			if o.response == meeting.Tentative {
				class = ""
			}
		case requested.Answers() && requested != current, current.Answers():
			class = strings.TrimSuffix(class, " quiet") + " quiet"
		}
		label := w.Buttons[string(o.response)]
		if o.response == current {
			label = "✓ " + label
		}
		v.Choices = append(v.Choices, option{string(o.response), label, class, o.response == current})
	}
	if requested.Answers() && requested != current {
		v.Confirm = w.Confirm[string(requested)]
	}
}

var respondTones = map[meeting.Response]string{
	meeting.NeedsAction: "ask", meeting.Accepted: "good", meeting.Tentative: "calm", meeting.Declined: "bad",
}
