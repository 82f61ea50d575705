package linkpages

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

const decidePath = "/decide"

func (p *Pages) showRequest(c *gin.Context) {
	token, given := c.GetQuery("token")
	if !given {
		p.Inbox(c)
		return
	}
	link, ok := readToken(p.decidePage(), c, token, p.Links.read)
	if !ok {
		return
	}
	linked, err := p.Approval.FollowLink(c.Request.Context(), link)
	if err != nil {
		p.decidePage().fail(c, err)
		return
	}
	p.decidePage().write(c, http.StatusOK, viewOf(linked, token, known(c.Query("choice"))))
}

func (p *Pages) decide(c *gin.Context) {
	token := c.PostForm("token")
	link, ok := readToken(p.decidePage(), c, token, p.Links.read)
	if !ok {
		return
	}
	choice, comment := known(c.PostForm("choice")), c.PostForm("comment")
	ctx := c.Request.Context()
	linked, err := p.Approval.FollowLink(ctx, link)
	if err != nil {
		p.decidePage().fail(c, err)
		return
	}
	if choice == "" {
		p.decidePage().write(c, http.StatusUnprocessableEntity, viewOf(linked, token, ""))
		return
	}
	after, decided, err := p.Approval.DecideByLink(ctx, link, choice == "approve", strings.ReplaceAll(comment, "\r\n", "\n"))
	if decided && err == nil {
		p.decidePage().done(c, token)
		return
	}
	if err == nil {
		p.decidePage().write(c, http.StatusConflict, viewOf(after, token, ""))
		return
	}
	v := viewOf(linked, token, choice)
	status := v.setFault(wordsFor(linked.Reader.Locale), readerZone(linked.Reader.Timezone, linked.Meeting.Timezone), err)
	if status == 0 {
		p.decidePage().fail(c, err)
		return
	}
	v.Confirm, v.Comment = "", comment
	p.decidePage().write(c, status, v)
}

func known(choice string) string {
	if choice == "approve" || choice == "reject" {
		return choice
	}
	return ""
}
