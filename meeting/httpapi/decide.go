package httpapi

import (
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"punctual/account"
	"punctual/meeting"
)

const (
	decidePath  = "/decide"
	decideStyle = "/decide.css"
)

//go:embed decide
var decideFiles embed.FS

var decidePage = template.Must(template.ParseFS(decideFiles, "decide/page.html"))

// DecidePage lets readers of a mail decide without signing in: GET shows what is asked and
// changes nothing, POST decides. It works without scripts.
type DecidePage struct {
	Service *meeting.Service
	Links   *Links
	Limiter account.Limiter // of tokens that are not ours, by network
	Inbox   gin.HandlerFunc // answers a GET without a token: the path is also where those who sign in decide
}

// Register adds the page to the router.
func (p *DecidePage) Register(r gin.IRouter) {
	r.GET(decidePath, p.show)
	r.HEAD(decidePath, p.show)
	r.POST(decidePath, p.decide)
	style, err := decideFiles.ReadFile("decide/style.css")
	if err != nil {
		panic(err) // it is a part of the program
	}
	r.GET(decideStyle, func(c *gin.Context) {
		c.Header("Cache-Control", "no-cache")
		c.Data(http.StatusOK, "text/css; charset=utf-8", style)
	})
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
		p.fail(c, wordsFor(c.GetHeader("Accept-Language")), err)
		return
	}
	v := viewOf(linked, token)
	v.Choice = known(c.Query("choice"))
	write(c, http.StatusOK, v)
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
		p.fail(c, wordsFor(c.GetHeader("Accept-Language")), err)
		return
	}
	if choice == "" {
		write(c, http.StatusUnprocessableEntity, viewOf(linked, token))
		return
	}
	after, decided, err := p.Service.DecideByLink(ctx, link, choice == "approve", strings.ReplaceAll(comment, "\r\n", "\n"))
	if decided && err == nil { // so that going back or loading anew does not ask to send it again
		c.Redirect(http.StatusSeeOther, decidePath+"?token="+token)
		return
	}
	if err == nil {
		write(c, http.StatusConflict, viewOf(after, token))
		return
	}
	v := viewOf(linked, token)
	v.Choice, v.Comment = choice, comment
	status := v.tellFault(err)
	if status == 0 {
		p.fail(c, v.Words, err)
		return
	}
	write(c, status, v)
}

// read finds out what the token names, or answers itself.
func (p *DecidePage) read(c *gin.Context, token string) (meeting.Link, bool) {
	words := wordsFor(c.GetHeader("Accept-Language"))
	key := "decide:" + network(c.ClientIP())
	allowed, wait := p.Limiter.Allow(c.Request.Context(), key)
	if !allowed {
		c.Header("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
		write(c, http.StatusTooManyRequests, notice(words, "limited"))
		return meeting.Link{}, false
	}
	link, ok := p.Links.read(token)
	if !ok {
		write(c, http.StatusNotFound, notice(words, "unknown"))
		return link, false
	}
	p.Limiter.Forgive(c.Request.Context(), key)
	return link, true
}

// fail answers what no reader can help.
func (p *DecidePage) fail(c *gin.Context, words *words, err error) {
	if errors.Is(err, meeting.ErrNotFound) {
		write(c, http.StatusNotFound, notice(words, "unknown"))
		return
	}
	_ = c.Error(err) // for the log
	status := http.StatusInternalServerError
	if errors.Is(err, context.DeadlineExceeded) {
		status = http.StatusServiceUnavailable
	}
	write(c, status, notice(words, "failed"))
}

// network is what one client can be taken for: an IPv4 address or the /64 of an IPv6 one.
func network(ip string) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return ip
	}
	if addr = addr.Unmap(); addr.Is6() {
		return netip.PrefixFrom(addr.WithZone(""), 64).Masked().String()
	}
	return addr.String()
}

// known is the choice, if it is one.
func known(choice string) string {
	if choice == "approve" || choice == "reject" {
		return choice
	}
	return ""
}

func write(c *gin.Context, status int, v *decideView) {
	var b strings.Builder
	if err := decidePage.Execute(&b, v); err != nil {
		_ = c.Error(err)
		c.Status(http.StatusInternalServerError)
		return
	}
	c.Header("Cache-Control", "no-store")
	c.Header("X-Robots-Tag", "noindex")
	c.Data(status, "text/html; charset=utf-8", []byte(b.String()))
}
