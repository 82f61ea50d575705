package linkpages

import (
	"errors"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"punctual/meeting"
	"punctual/meeting/waitlist"
)

const offerPath = "/offer"

// OfferURL returns the address of the page on which an offer is accepted.
func (l *Links) OfferURL(o waitlist.Offer) string {
	return l.base + offerPath + "?token=" + l.offerToken(o)
}

func (l *Links) offerToken(o waitlist.Offer) string {
	return l.seal(forOffer, appendInts(o.WaitID, o.UserID))
}

func (l *Links) readOffer(token string) (o waitlist.Offer, ok bool) {
	b, ok := l.open(forOffer, token)
	if !ok {
		return o, false
	}
	b, ok = readInts(b, &o.WaitID, &o.UserID)
	return o, ok && len(b) == 0
}

func (p *Pages) showOffer(c *gin.Context) {
	token := c.Query("token")
	o, ok := readToken(p.offerPage(), c, token, p.Links.readOffer)
	if !ok {
		return
	}
	offering, err := p.Waitlist.FollowOffer(c.Request.Context(), o)
	if err != nil {
		p.offerPage().fail(c, err)
		return
	}
	p.offerPage().write(c, http.StatusOK, offerView(offering, token))
}

func (p *Pages) answerOffer(c *gin.Context) {
	token, choice := c.PostForm("token"), c.PostForm("choice")
	o, ok := readToken(p.offerPage(), c, token, p.Links.readOffer)
	if !ok {
		return
	}
	if choice != "accept" && choice != "decline" {
		p.showOfferAgain(c, o, token, http.StatusUnprocessableEntity)
		return
	}
	offering, answered, err := p.Waitlist.AnswerOffer(c.Request.Context(), o, choice == "accept")
	switch {
	case err == nil && answered:
		p.offerPage().done(c, token)
	case err == nil:
		p.offerPage().write(c, http.StatusConflict, offerView(offering, token))
	default:
		p.refuseOffer(c, offering, token, err)
	}
}

func (p *Pages) showOfferAgain(c *gin.Context, o waitlist.Offer, token string, status int) {
	offering, err := p.Waitlist.FollowOffer(c.Request.Context(), o)
	if err != nil {
		p.offerPage().fail(c, err)
		return
	}
	p.offerPage().write(c, status, offerView(offering, token))
}

func (p *Pages) refuseOffer(c *gin.Context, offering *waitlist.Offering, token string, err error) {
	_, taken := errors.AsType[*meeting.ConflictError](err)
	violated, ruled := errors.AsType[*meeting.PolicyError](err)
	if offering == nil || !taken && !ruled {
		p.offerPage().fail(c, err)
		return
	}
	v, w := offerView(offering, token), wordsFor(offering.Person.Locale)
	if taken {
		v.Fault = w.Taken
		p.offerPage().write(c, http.StatusConflict, v)
		return
	}
	v.setViolations(w, violated)
	p.offerPage().write(c, http.StatusUnprocessableEntity, v)
}

func offerView(o *waitlist.Offering, token string) *view {
	wait := o.Wait
	w := wordsFor(o.Person.Locale)
	zone := readerZone(o.Person.Timezone, wait.Wished.Timezone)
	v := &view{Lang: w.Lang, Headline: wait.Wished.Title, Action: offerPath, Tone: "calm"}
	switch wait.State {
	case meeting.Offered:
		v.Tone, v.Token = "ask", token
		v.Choices = []option{{Value: "accept", Label: w.Offer.Buttons["accept"], Class: "approve"}, {Value: "decline", Label: w.Offer.Buttons["decline"], Class: "quiet"}}
	case meeting.Booked:
		v.Tone = "good"
	}
	v.setState(w.Offer.States[string(wait.State)], "{when}", w.moment(wait.OfferUntil, zone))
	v.add(w.Labels["when"], w.slot(wait.Wished.Slot, zone))
	v.add(w.Labels["where"], strings.Join(wait.Wished.RoomNames, w.Comma))
	return v
}
