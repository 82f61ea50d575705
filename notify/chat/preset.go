package chat

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"punctual/notify/render"
)

//go:embed presets.json
var presetsJSON []byte

// A preset describes the incoming webhooks of a chat service. All of it is data, in presets.json.
type preset struct {
	ID     string      `json:"id"`
	Name   string      `json:"name"`
	Hosts  []string    `json:"hosts"`  // of its webhooks, "*." for any subdomain; none: any host
	Path   string      `json:"path"`   // prefix of their paths
	Escape [][2]string `json:"escape"` // what replaces characters with a meaning in texts
	Break  string      `json:"break"`  // between lines; "": a line feed
	Plain  bool        `json:"plain"`  // links are part of the text
	Max    int         `json:"max"`    // bytes of a text; 0: 4000
	Body   string      `json:"body"`   // a text/template over a payload that makes JSON
	Sign   string      `json:"sign"`   // dingtalk or feishu: how a secret signs; "": no secret
	Code   string      `json:"code"`   // field of the response that is 0 on success; "": only the status counts
	Busy   []string    `json:"busy"`   // values of Code for too many messages
	Gone   []string    `json:"gone"`   // responses that say that the webhook no longer exists

	escape *strings.Replacer
	body   *template.Template
}

// payload is the data for the body of a preset.
type payload struct {
	Title     string // escaped, like Text
	Text      string // several lines, title included
	Links     []render.ChatLink
	Timestamp string // in seconds, of Sign
	Sign      string // "": no secret
}

var presets = func() []*preset {
	var all []*preset
	if err := json.Unmarshal(presetsJSON, &all); err != nil {
		panic(fmt.Errorf("presets.json: %w", err)) // a part of the program
	}
	for _, p := range all {
		var pairs []string
		for _, e := range p.Escape {
			pairs = append(pairs, e[0], e[1])
		}
		p.escape = strings.NewReplacer(pairs...)
		p.body = template.Must(template.New(p.ID).Funcs(template.FuncMap{"json": toJSON}).Parse(p.Body))
		if p.Break == "" {
			p.Break = "\n"
		}
		if p.Max == 0 {
			p.Max = 4000
		}
	}
	return all
}()

func toJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

func presetOf(id string) *preset {
	i := slices.IndexFunc(presets, func(p *preset) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	return presets[i]
}

// A Service is a chat service that is known.
type Service struct {
	ID     string
	Name   string
	Signed bool // its webhooks may have a secret
}

// Services returns the services that are known.
func Services() []Service {
	all := make([]Service, len(presets))
	for i, p := range presets {
		all[i] = Service{p.ID, p.Name, p.Sign != ""}
	}
	return all
}

// matches reports whether an address may be a webhook of the service.
func (p *preset) matches(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	known := slices.ContainsFunc(p.Hosts, func(h string) bool {
		domain, any := strings.CutPrefix(h, "*")
		return host == h || any && strings.HasSuffix(host, domain)
	})
	return len(p.Hosts) == 0 || known && strings.HasPrefix(u.Path, p.Path)
}

// mention finds an @ that does not belong to an email address.
var mention = regexp.MustCompile(`(^|[^\pL\pN._%+-])([@＠])`)

// harmless returns a text in which nothing mentions people or becomes a link: it has an invisible space
// after each @ that begins a mention, and within each scheme of an address.
func harmless(s string) string {
	s = mention.ReplaceAllString(s, "$1$2\u200b")
	return strings.ReplaceAll(s, "://", ":\u200b//")
}

// request returns the address and the body for a message.
func (p *preset) request(address, secret string, m render.Chat, now time.Time) (target string, body []byte, err error) {
	text := func(s string) string { return p.escape.Replace(harmless(s)) }
	v := payload{Title: text(m.Title)}
	links := ""
	if p.Plain {
		for _, l := range m.Links {
			links += p.Break + l.Label + ": " + l.URL
		}
	} else {
		v.Links = m.Links
	}
	v.Text = v.Title
	for _, l := range m.Lines {
		line := p.Break + text(l)
		if len(v.Text)+len(line)+len(links) > p.Max {
			break
		}
		v.Text += line
	}
	v.Text += links
	if secret != "" {
		address, v.Timestamp, v.Sign = p.sign(address, secret, now)
	}
	var b bytes.Buffer
	if err := p.body.Execute(&b, v); err != nil {
		return "", nil, err
	}
	return address, b.Bytes(), nil
}

// sign returns the address, the timestamp and the signature of a request at now.
func (p *preset) sign(address, secret string, now time.Time) (target, timestamp, sign string) {
	switch p.Sign {
	case "dingtalk": // the signature is in the address
		at := strconv.FormatInt(now.UnixMilli(), 10)
		mac := hmac.New(sha256.New, []byte(secret))
		io.WriteString(mac, at+"\n"+secret)
		query := url.Values{"timestamp": {at}, "sign": {base64.StdEncoding.EncodeToString(mac.Sum(nil))}}.Encode()
		separator := "?"
		if strings.Contains(address, "?") {
			separator = "&"
		}
		return address + separator + query, "", ""
	case "feishu": // an empty text is signed, with the secret as a part of the key
		at := strconv.FormatInt(now.Unix(), 10)
		mac := hmac.New(sha256.New, []byte(at+"\n"+secret))
		return address, at, base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return address, "", ""
}
