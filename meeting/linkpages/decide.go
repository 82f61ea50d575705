package linkpages

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"punctual/account"
	"punctual/meeting"
)

const decidePath = "/decide"

// DecidePage lets readers of a mail decide without signing in: GET shows what is asked and
// changes nothing, POST decides. It works without scripts.
type DecidePage struct {
	Service *meeting.Service
	Links   *Links
	Limiter account.Limiter // of tokens that are not ours, by network
	Inbox   gin.HandlerFunc // answers a GET without a token: the path is also where those who sign in decide
}

func (p *DecidePage) page() page {
	return page{name: "decide", limiter: p.Limiter, words: func(lang string) map[string]stateWords { return wordsFor(lang).States }}
}

// Register adds the page to the router, and the looks of all pages behind links.
func (p *DecidePage) Register(r gin.IRouter) {
	r.GET(decidePath, p.show)
	r.HEAD(decidePath, p.show)
	r.POST(decidePath, p.decide)
	r.GET(stylePath, linkStyle())
}

func (p *DecidePage) show(c *gin.Context) {
	token, given := c.GetQuery("token")
	if !given {
		p.Inbox(c)
		return
	}
	link, ok := p.read(c, token)
	if !ok {
		return
	}
	linked, err := p.Service.FollowLink(c.Request.Context(), link)
	if err != nil {
		p.page().fail(c, err)
		return
	}
	p.page().write(c, http.StatusOK, viewOf(linked, token, known(c.Query("choice"))))
}

func (p *DecidePage) decide(c *gin.Context) {
	token := c.PostForm("token")
	link, ok := p.read(c, token)
	if !ok {
		return
	}
	choice, comment := known(c.PostForm("choice")), c.PostForm("comment")
	ctx := c.Request.Context()
	linked, err := p.Service.FollowLink(ctx, link)
	if err != nil {
		p.page().fail(c, err)
		return
	}
	if choice == "" {
		p.page().write(c, http.StatusUnprocessableEntity, viewOf(linked, token, ""))
		return
	}
	after, decided, err := p.Service.DecideByLink(ctx, link, choice == "approve", strings.ReplaceAll(comment, "\r\n", "\n"))
	if decided && err == nil { // so that going back or loading anew does not ask to send it again
		c.Redirect(http.StatusSeeOther, decidePath+"?token="+token)
		return
	}
	if err == nil {
		p.page().write(c, http.StatusConflict, viewOf(after, token, ""))
		return
	}
	v := viewOf(linked, token, choice)
	status := v.tellFault(wordsFor(linked.Reader.Locale), zoneOf(linked), err)
	if status == 0 {
		p.page().fail(c, err)
		return
	}
	v.Confirm, v.Comment = "", comment
	p.page().write(c, status, v)
}

func (p *DecidePage) read(c *gin.Context, token string) (link meeting.Link, ok bool) {
	ok = p.page().read(c, func() bool {
		var ours bool
		link, ours = p.Links.read(token)
		return ours
	})
	return link, ok
}

func known(choice string) string {
	if choice == "approve" || choice == "reject" {
		return choice
	}
	return ""
}
