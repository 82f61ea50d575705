package linkpages

import (
	"cmp"
	"encoding/binary"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"punctual/account"
	"punctual/account/fault"
	"punctual/meeting"
)

const offerPath = "/offer"

// OfferURL is the page on which who waits accepts an offer.
func (l *Links) OfferURL(o meeting.Offer) string {
	return l.base + offerPath + "?token=" + l.offerToken(o)
}

func (l *Links) offerToken(o meeting.Offer) string {
	b := binary.AppendUvarint(nil, uint64(o.WaitID))
	return l.seal(forOffer, binary.AppendUvarint(b, uint64(o.UserID)))
}

func (l *Links) readOffer(token string) (o meeting.Offer, ok bool) {
	b, ok := l.open(forOffer, token)
	if !ok {
		return o, false
	}
	for _, into := range []*int64{&o.WaitID, &o.UserID} {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			return o, false
		}
		*into, b = int64(n), b[size:]
	}
	return o, len(b) == 0
}

// OfferPage lets who waits accept an offer, or turn it down, without signing in: GET shows it
// and changes nothing, POST answers. It works without scripts.
type OfferPage struct {
	Service *meeting.Service
	Links   *Links
	Limiter account.Limiter // of tokens that are not ours, by network
}

func (p *OfferPage) page() page {
	return page{name: "offer", limiter: p.Limiter, words: func(lang string) map[string]stateWords { return offerStates[lang] }}
}

// Register adds the page to the router. Its looks are those of [DecidePage].
func (p *OfferPage) Register(r gin.IRouter) {
	r.GET(offerPath, p.show)
	r.HEAD(offerPath, p.show)
	r.POST(offerPath, p.answer)
}

func (p *OfferPage) show(c *gin.Context) {
	token := c.Query("token")
	o, ok := p.read(c, token)
	if !ok {
		return
	}
	offering, err := p.Service.FollowOffer(c.Request.Context(), o)
	if err != nil {
		p.page().fail(c, err)
		return
	}
	p.page().write(c, http.StatusOK, offerView(offering, token))
}

func (p *OfferPage) answer(c *gin.Context) {
	token, choice := c.PostForm("token"), c.PostForm("choice")
	o, ok := p.read(c, token)
	if !ok {
		return
	}
	if choice != "accept" && choice != "decline" {
		p.again(c, o, token, http.StatusUnprocessableEntity)
		return
	}
	offering, answered, err := p.Service.AnswerOffer(c.Request.Context(), o, choice == "accept")
	switch {
	case err == nil && answered:
		c.Redirect(http.StatusSeeOther, offerPath+"?token="+token) // so that loading anew does not send it again
	case err == nil:
		p.page().write(c, http.StatusConflict, offerView(offering, token))
	default:
		p.refused(c, offering, token, err)
	}
}

func (p *OfferPage) again(c *gin.Context, o meeting.Offer, token string, status int) {
	offering, err := p.Service.FollowOffer(c.Request.Context(), o)
	if err != nil {
		p.page().fail(c, err)
		return
	}
	p.page().write(c, status, offerView(offering, token))
}

func (p *OfferPage) refused(c *gin.Context, offering *meeting.Offering, token string, err error) {
	_, taken := errors.AsType[*meeting.ConflictError](err)
	broken, ruled := errors.AsType[*meeting.PolicyError](err)
	if offering == nil || !taken && !ruled {
		p.page().fail(c, err)
		return
	}
	v, w := offerView(offering, token), wordsFor(offering.Person.Locale)
	if taken {
		v.Fault = w.Taken
		p.page().write(c, http.StatusConflict, v)
		return
	}
	v.Fault = w.Rules
	for _, f := range broken.Violations {
		v.Fault += " " + f.Message + "."
	}
	p.page().write(c, http.StatusUnprocessableEntity, v)
}

func (p *OfferPage) read(c *gin.Context, token string) (o meeting.Offer, ok bool) {
	ok = p.page().read(c, func() bool {
		var ours bool
		o, ours = p.Links.readOffer(token)
		return ours
	})
	return o, ok
}

func offerView(o *meeting.Offering, token string) *view {
	wait := o.Wait
	w := wordsFor(o.Person.Locale)
	zone, err := fault.StoredZone(cmp.Or(o.Person.Timezone, wait.Wished.Timezone))
	if err != nil {
		zone = time.UTC
	}
	v := &view{Lang: w.Lang, Headline: wait.Wished.Title, Action: offerPath, Tone: "calm"}
	switch wait.State {
	case meeting.Offered:
		v.Tone, v.Token = "ask", token
		v.Choices = []option{{Value: "accept", Label: offerLabels[w.Lang][0], Class: "approve"}, {Value: "decline", Label: offerLabels[w.Lang][1], Class: "quiet"}}
	case meeting.Booked:
		v.Tone = "good"
	}
	s := offerStates[w.Lang][string(wait.State)]
	v.Tag, v.Lead = s.Tag, strings.ReplaceAll(s.Lead, "{when}", w.moment(wait.OfferUntil, zone))
	v.add(w.Labels["when"], w.slot(wait.Wished.Slot, zone))
	v.add(w.Labels["where"], strings.Join(wait.Wished.RoomNames, w.Comma))
	return v
}

var offerLabels = map[string][2]string{"en": {"Accept", "Decline"}, "de": {"Annehmen", "Ablehnen"}, "zh-CN": {"接受", "放弃"}}

// What the page of an offer says, by language and state. Leads have {when} it ends.
var offerStates = map[string]map[string]stateWords{
	"en": {
		"offered":   {"Waiting list offer", "The room you are waiting for is free and held for you until {when}. After that, the offer goes to the next person on the waiting list."},
		"booked":    {"Booked", "You accepted the offer. The room is yours."},
		"withdrawn": {"No longer on the waiting list", "You declined the offer or left the waiting list."},
		"expired":   {"Too late", "The offer was not accepted in time and went to the next person on the waiting list."},
		"refused":   {"No longer possible", "The room's policies no longer allow this booking."},
		"waiting":   {"On the waiting list", "The room is not free yet. You will get an e-mail when it is."},
		"unknown":   {"This link does not work", "It may be incomplete. Open it from the e-mail again, or sign in to accept."},
		"limited":   {"Too many attempts", "Please try again in a minute."},
		"failed":    {"Something went wrong", "Nothing was booked. Please try again in a moment."},
	},
	"de": {
		"offered":   {"Wartelistenangebot", "Der Raum, auf den Sie warten, ist frei und bis {when} für Sie reserviert. Danach geht das Angebot an die nächste Person auf der Warteliste."},
		"booked":    {"Gebucht", "Sie haben das Angebot angenommen. Der Raum gehört Ihnen."},
		"withdrawn": {"Nicht mehr auf der Warteliste", "Sie haben das Angebot abgelehnt oder die Warteliste verlassen."},
		"expired":   {"Zu spät", "Das Angebot wurde nicht rechtzeitig angenommen und ging an die nächste Person auf der Warteliste."},
		"refused":   {"Nicht mehr möglich", "Die Buchungsregeln des Raums lassen diese Buchung nicht mehr zu."},
		"waiting":   {"Auf der Warteliste", "Der Raum ist noch nicht frei. Sobald er frei wird, erhalten Sie eine E-Mail."},
		"unknown":   {"Dieser Link funktioniert nicht", "Möglicherweise ist er unvollständig. Öffnen Sie ihn noch einmal aus der E-Mail, oder melden Sie sich an, um anzunehmen."},
		"limited":   {"Zu viele Versuche", "Bitte versuchen Sie es in einer Minute noch einmal."},
		"failed":    {"Ein Fehler ist aufgetreten", "Es wurde nichts gebucht. Bitte versuchen Sie es gleich noch einmal."},
	},
	"zh-CN": {
		"offered":   {"候补通知", "您候补的会议室已空出，为您保留至 {when}。逾期将提供给候补名单上的下一位。"},
		"booked":    {"已预订", "您已接受，会议室归您使用。"},
		"withdrawn": {"已不在候补名单中", "您已放弃或退出候补名单。"},
		"expired":   {"已逾期", "您未及时接受，会议室已提供给候补名单上的下一位。"},
		"refused":   {"已无法预订", "会议室的预订规则不再允许此预订。"},
		"waiting":   {"在候补名单中", "会议室尚未空出，空出后将发邮件通知您。"},
		"unknown":   {"链接无效", "链接可能不完整。请从邮件中重新打开，或登录后接受。"},
		"limited":   {"尝试次数过多", "请一分钟后再试。"},
		"failed":    {"操作未成功", "尚未预订，请稍后再试。"},
	},
}
