// Package render renders notifications in the recipient's language and time zone: emails as text
// and HTML with an iCalendar part, or text messages.
package render

import (
	"embed"
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	texttemplate "text/template"
	"time"

	"punctual/notify"
)

//go:embed templates
var files embed.FS

// Config of a [Renderer].
type Config struct {
	BaseURL  string // of the web page, for links; "": no links
	Identity Identity
	Links    Links

	// Failed is called if a template of [Renderer.Use] fails, although it was checked with samples. The
	// part of the mail is the built-in one. nil: failures are not reported.
	Failed func(n notify.Notification, err error)
}

// Links return the addresses at which recipients act without signing in. A nil function or an
// empty address means no link.
type Links struct {
	Decide  func(notify.Notification) string // of an approval request: approve or reject
	CheckIn func(notify.Notification) string // of a reminder: check in
	Respond func(notify.Notification) string // of an invitation: respond
	Accept  func(notify.Notification) string // of an offer from the waiting list: accept

	ChoosePassword func(notify.Notification) string // of an invitation of a user or a password reset

	Unsubscribe func(notify.Notification) string // of every mail that its recipient may switch off
}

// Renderer renders emails and text messages. Safe for concurrent use.
type Renderer struct {
	baseURL string
	uids    Identity
	links   Links
	locales *locales
	html    *template.Template
	text    *texttemplate.Template

	overrides atomic.Pointer[Overrides]
	failed    func(notify.Notification, error)
}

// New parses the templates. It returns an error if the base URL is not http or https.
func New(c Config) (*Renderer, error) {
	if c.BaseURL != "" {
		u, err := url.Parse(c.BaseURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("base URL %q is not an http or https address", c.BaseURL)
		}
	}
	ls, err := loadLocales(files)
	if err != nil {
		return nil, err
	}
	html, err := template.ParseFS(files, "templates/mail.html")
	if err != nil {
		return nil, err
	}
	text, err := texttemplate.ParseFS(files, "templates/mail.txt")
	if err != nil {
		return nil, err
	}
	r := &Renderer{
		baseURL: strings.TrimRight(c.BaseURL, "/"), uids: c.Identity, links: c.Links, locales: ls, html: html, text: text,
		failed: c.Failed,
	}
	r.Use(&Overrides{})
	return r, nil
}

// Use renders mails with these templates from now on.
func (r *Renderer) Use(o *Overrides) { r.overrides.Store(o) }

// Mail is a rendered email.
type Mail struct {
	Lang     string // BCP 47
	Subject  string // one line
	Text     string
	HTML     string
	Calendar string // iCalendar; "": none
	Method   string // of the calendar: REQUEST or CANCEL

	Unsubscribe string // where the recipient switches off mails of this kind; "": nowhere
}

// Mail renders n as an email that is read at now. It returns an error for an unknown kind.
func (r *Renderer) Mail(n notify.Notification, now time.Time) (Mail, error) {
	p, err := r.fill(n, now)
	if err != nil {
		return Mail{}, err
	}
	lang := r.locales.of(n.To.Locale).language()
	if p.Subject, err = r.part(n, lang, "subject.txt", p, nil); err != nil {
		return Mail{}, err
	}
	p.Subject = line(p.Subject) // also the title of the HTML
	text, err := r.part(n, lang, "txt", p, r.text)
	if err != nil {
		return Mail{}, err
	}
	html, err := r.part(n, lang, "html", p, r.html)
	if err != nil {
		return Mail{}, err
	}
	m := Mail{Lang: p.Lang, Subject: p.Subject, Text: text, HTML: html, Unsubscribe: p.Unsubscribe}
	m.Calendar, m.Method = r.calendar(n)
	return m, nil
}

// part renders a part of a mail by its override if there is one and it works, otherwise by builtIn,
// which is nil for the subject.
func (r *Renderer) part(n notify.Notification, lang, part string, p page, builtIn executor) (string, error) {
	if t := r.overrides.Load().parts[string(n.Kind)+"."+lang+"."+part]; t != nil {
		out, err := execute(t, p)
		if err == nil && (part != "subject.txt" || line(out) != "") {
			return out, nil
		}
		if err == nil {
			err = errEmptySubject
		}
		if r.failed != nil {
			r.failed(n, fmt.Errorf("template %s.%s.%s: %w", n.Kind, lang, part, err))
		}
	}
	if builtIn == nil {
		return p.Subject, nil
	}
	var b strings.Builder
	err := builtIn.Execute(&b, p)
	return b.String(), err
}

// fill returns what templates see of n.
func (r *Renderer) fill(n notify.Notification, now time.Time) (page, error) {
	v, err := r.view(n, now)
	if err != nil {
		return page{}, err
	}
	p, err := r.page(v)
	if err != nil {
		return page{}, err
	}
	r.addDecision(&p, v, n)
	r.addCheckIn(&p, v, n)
	r.addResponses(&p, v, n)
	r.addAcceptance(&p, v, n)
	r.addPassword(&p, v, n)
	if r.links.Unsubscribe != nil {
		p.Unsubscribe = r.links.Unsubscribe(n)
	}
	p.Recipient, p.Title, p.Where, p.Organizer, p.By, p.Deadline = v.Recipient, v.Title, v.Where, v.Organizer, v.By, v.Deadline
	if !v.facts.Start.IsZero() {
		p.Starts, p.StartTime, p.EndTime = v.Starts, v.StartTime, v.EndTime
	}
	return p, nil
}

// SMS renders n as a text message that is read at now. An invitation ends with the link to
// respond.
func (r *Renderer) SMS(n notify.Notification, now time.Time) (string, error) {
	v, err := r.view(n, now)
	if err != nil {
		return "", err
	}
	text, err := v.say(v.variant + ".sms")
	if err != nil || n.Channel != notify.SMS {
		return text, err
	}
	if url := r.responseURL(v, n); url != "" {
		text += " " + url
	}
	return text, nil
}

// page is what templates see. It has no methods, so a template reads these values and nothing else.
// docs/admin.md lists the fields.
type page struct {
	Lang     string
	Subject  string
	Tag      string
	Headline string
	Greeting string
	Lead     string
	Rows     []field
	Tile     struct{ Month, Day, Weekday string } // no Day: not about a meeting
	Accent   accent
	Void     bool // the meeting does not take place
	Button   string
	URL      string // of the meeting; "": no button
	Actions  []action
	BaseURL  string
	Footer   string
	SentBy   string

	Unsubscribe string // "": no link
	ChooseMails string // its label

	// For templates from a folder; the built-in ones do not need them. "": none.
	Recipient string // name
	Title     string
	Where     string
	Organizer string
	By        string // who changed, canceled or decided
	Starts    string // Feb 10, 10:00
	StartTime string // 10:00
	EndTime   string
	Deadline  string
}

type action struct{ Label, URL, Color string }

func (r *Renderer) addDecision(p *page, v *view, n notify.Notification) {
	if r.links.Decide == nil || !v.needsDecision() {
		return
	}
	if url := r.links.Decide(n); url != "" {
		p.Actions = []action{
			{v.locale.must("approve", nil), url + "&choice=approve", green.Bar},
			{v.locale.must("reject", nil), url + "&choice=reject", red.Bar},
		}
	}
}

func (r *Renderer) addCheckIn(p *page, v *view, n notify.Notification) {
	if r.links.CheckIn == nil || n.Kind != notify.Reminder || v.facts.CheckInBy == nil {
		return
	}
	if url := r.links.CheckIn(n); url != "" {
		p.Actions = []action{{v.locale.must("check-in", nil), url, green.Bar}}
	}
}

func (r *Renderer) addResponses(p *page, v *view, n notify.Notification) {
	if url := r.responseURL(v, n); url != "" {
		p.Actions = []action{
			{v.locale.must("accept", nil), url + "&choice=accepted", green.Bar},
			{v.locale.must("maybe", nil), url + "&choice=tentative", slate.Bar},
			{v.locale.must("decline", nil), url + "&choice=declined", red.Bar},
		}
	}
}

func (r *Renderer) responseURL(v *view, n notify.Notification) string {
	if r.links.Respond == nil || n.Kind != notify.Invitation && n.Kind != notify.Change || v.Part == "ends" { // the end of a series changes no response
		return ""
	}
	return r.links.Respond(n)
}

func (r *Renderer) addAcceptance(p *page, v *view, n notify.Notification) {
	if r.links.Accept == nil || n.Kind != notify.WaitlistOffer {
		return
	}
	if url := r.links.Accept(n); url != "" {
		p.Actions = []action{{v.locale.must("take-offer", nil), url, green.Bar}}
	}
}

func (r *Renderer) addPassword(p *page, v *view, n notify.Notification) {
	if r.links.ChoosePassword == nil || n.Kind != notify.InviteUser && n.Kind != notify.PasswordReset {
		return
	}
	if url := r.links.ChoosePassword(n); url != "" {
		p.Actions = []action{{v.locale.must("choose-password", nil), url, blue.Bar}}
	}
}

type field struct {
	Label string
	Lines []string
}

func (r *Renderer) page(v *view) (page, error) {
	p := page{Lang: v.locale.tag.String(), BaseURL: r.baseURL, Accent: accents[v.variant]}
	if p.Accent == (accent{}) {
		p.Accent = blue
	}
	switch v.variant {
	case "cancellation", "decision.rejected", "decision.timeout", "released", "waitlist_expired":
		p.Void = v.facts.Move == nil && v.Part == "" // otherwise the meeting still takes place
	}
	switch {
	case r.baseURL == "":
	case v.meetingID != 0:
		p.URL = r.baseURL + "/meetings/" + strconv.FormatInt(v.meetingID, 10)
	case v.Kind == string(notify.DigestMail):
		p.URL = r.baseURL + "/mine"
	}
	if !v.facts.Start.IsZero() {
		p.Tile.Day = strconv.Itoa(v.start.Day())
	}
	p.Rows = v.fields()
	footer := "footer"
	if own := v.variant + ".footer"; v.locale.templates.Lookup(own) != nil {
		footer = own
	}
	for name, dest := range map[string]*string{
		v.variant + ".subject":  &p.Subject,
		v.variant + ".tag":      &p.Tag,
		v.variant + ".headline": &p.Headline,
		v.variant + ".lead":     &p.Lead,
		"greeting":              &p.Greeting,
		"button":                &p.Button,
		footer:                  &p.Footer,
		"sent-by":               &p.SentBy,
		"choose-mails":          &p.ChooseMails,
	} {
		s, err := v.say(name)
		if err != nil {
			return page{}, err
		}
		*dest = s
	}
	p.Tile.Month = v.locale.must("month", v.start)
	p.Tile.Weekday = v.locale.must("weekday", v.start)
	return p, nil
}

// accent is the color scheme of a mail. Bar carries white text. Ink on Tint and DarkInk on
// DarkTint are readable: each pair has a contrast of at least 4.5.
type accent struct{ Bar, Tint, Ink, DarkTint, DarkInk string }

var (
	blue   = accent{"#2459c9", "#e8effc", "#1d4aa8", "#152a52", "#a9c5ff"}
	green  = accent{"#177a46", "#e4f4eb", "#12613a", "#10331f", "#8fe0b2"}
	amber  = accent{"#a35a00", "#fdf1df", "#864a00", "#3c2604", "#f5c98a"}
	red    = accent{"#b3261e", "#fceceb", "#96201a", "#43150f", "#ffb4ab"}
	violet = accent{"#6b3fc4", "#f0eafc", "#5731a6", "#2a1a52", "#cdb8ff"}
	slate  = accent{"#4b5866", "#eceff3", "#3d4955", "#262e37", "#c3ccd6"}

	accents = map[string]accent{
		"reminder.start": blue, "reminder.end": blue, "invitation": violet, "change": amber,
		"cancellation": red, "approval_request": amber, "approval_reminder": amber, "escalation": red, "decision.confirmed": green,
		"decision.rejected": red, "decision.timeout": slate, "released": slate, "declined": red,
		"waitlist_offer": amber, "waitlist_booked": green, "waitlist_expired": slate,
		"invite_user": violet, "password_reset": blue, "test_mail": green, "handover": violet, "fault_report": amber, "digest": blue,
		"sign_in_added": amber, "sms_limit": amber,
	}
)
