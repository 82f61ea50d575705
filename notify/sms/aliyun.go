package sms

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/template"
	"time"

	"punctual/notify"
	"punctual/notify/render"
)

// Aliyun describes an account of the Short Message Service of Alibaba Cloud, which sends only approved
// templates.
type Aliyun struct {
	KeyID     string
	KeySecret string
	SignName  string            // approved signature
	Templates map[string]string // approved template code by kind of notification; "default" for all others
	Params    string            // a text/template over a [Message] for the values of a template: a JSON object
	Endpoint  string            // https://dysmsapi.aliyuncs.com
	Timeout   time.Duration
}

const (
	aliyunURL     = "https://dysmsapi.aliyuncs.com"
	aliyunVersion = "2017-05-25"
	anyKind       = "default"
)

type aliyun struct {
	Aliyun
	host   string
	params *template.Template
	client *http.Client
	now    func() time.Time
	nonce  func() string
}

// NewAliyun returns a Sender. It returns a [*FieldError] if a setting is missing or invalid.
func NewAliyun(c Aliyun, r *render.Renderer) (*Sender, error) {
	c.Endpoint = strings.TrimRight(cmp.Or(c.Endpoint, aliyunURL), "/")
	u, err := url.Parse(c.Endpoint)
	switch {
	case c.KeyID == "":
		return nil, fieldError("access_key_id", "aliyun: no access_key_id")
	case c.KeySecret == "":
		return nil, fieldError("access_key_secret", "aliyun: no access_key_secret")
	case c.SignName == "":
		return nil, fieldError("sign_name", "aliyun: no sign_name")
	case len(c.Templates) == 0:
		return nil, fieldError("templates", "aliyun: no templates")
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fieldError("endpoint", "aliyun: %q is not an http or https address", c.Endpoint)
	}
	a := &aliyun{Aliyun: c, host: u.Host, client: newClient(c.Timeout), now: time.Now, nonce: rand.Text}
	if a.params, err = parse("params", c.Params); err != nil {
		return nil, err
	}
	params, err := execute(a.params, trial)
	if err != nil {
		return nil, err
	}
	var object map[string]string
	if json.Unmarshal([]byte(params), &object) != nil {
		return nil, fieldError("params", "aliyun: params makes %s, which is not a JSON object of strings; write {{json .Title}} without quotes around it", params)
	}
	return newSender(r, a.send), nil
}

func (a *aliyun) send(ctx context.Context, m Message) error {
	code := cmp.Or(a.Templates[m.Kind], a.Templates[anyKind])
	if code == "" {
		return notify.Off("not sent: sms.aliyun.templates has no template for " + m.Kind)
	}
	params, err := execute(a.params, m)
	if err != nil {
		return notify.Permanent(err)
	}
	req, err := a.request(ctx, "SendSms", aliyunVersion, url.Values{
		"PhoneNumbers": {aliyunNumber(m.To)}, "SignName": {a.SignName}, "TemplateCode": {code}, "TemplateParam": {params}, "OutId": {m.ID},
	})
	if err != nil {
		return notify.Permanent(err)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return requestError(ctx, err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return aliyunError(resp, body)
}

// aliyunNumber returns a number as the API expects it: without a plus, and without the calling code in China.
func aliyunNumber(e164 string) string {
	if domestic, ok := strings.CutPrefix(e164, "+86"); ok {
		return domestic
	}
	return strings.TrimPrefix(e164, "+")
}

// aliyunError classifies a response. Most failures come with status 200.
func aliyunError(resp *http.Response, body []byte) error {
	var answer struct{ Code, Message string }
	if json.Unmarshal(body, &answer) != nil || answer.Code == "" {
		err := fmt.Errorf("aliyun returned %s: %s", resp.Status, excerpt(body))
		if resp.StatusCode/100 == 2 {
			return err
		}
		return statusError(resp, err)
	}
	if answer.Code == "OK" {
		return nil
	}
	err := fmt.Errorf("aliyun returned %s: %s", answer.Code, excerpt([]byte(answer.Message)))
	switch code := answer.Code; {
	case code == "isv.MOBILE_NUMBER_ILLEGAL", code == "isv.MOBILE_COUNT_OVER_LIMIT", code == "isv.BLACK_KEY_CONTROL_LIMIT",
		code == "isv.PARAM_LENGTH_LIMIT", code == "isv.INVALID_PARAMETERS", code == "isv.INVALID_JSON_PARAM",
		code == "isv.TEMPLATE_MISSING_PARAMETERS", code == "isv.TEMPLATE_PARAMS_ILLEGAL":
		return notify.Permanent(err)
	case code == "isv.BUSINESS_LIMIT_CONTROL": // of this number: one a minute, five an hour, ten a day
		return notify.After(time.Minute, &refusal{err})
	case strings.HasPrefix(code, "Throttling"):
		return notify.After(cmp.Or(retryAfter(resp.Header.Get("Retry-After"), time.Now()), 10*time.Second), &refusal{err})
	case strings.HasPrefix(code, "isp."), code == "ServiceUnavailable", code == "InternalError":
		return &refusal{err}
	}
	return notify.Unavailable(err) // the account, its keys, signatures or templates
}

// request returns a signed request of the RPC style: all parameters are in the query.
func (a *aliyun) request(ctx context.Context, action, version string, query url.Values) (*http.Request, error) {
	canonical := aliyunQuery(query)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.Endpoint+"/?"+canonical, nil)
	if err != nil {
		return nil, err
	}
	body := sha256.Sum256(nil)
	headers := map[string]string{
		"host":                  a.host,
		"x-acs-action":          action,
		"x-acs-content-sha256":  hex.EncodeToString(body[:]),
		"x-acs-date":            a.now().UTC().Format("2006-01-02T15:04:05Z"),
		"x-acs-signature-nonce": a.nonce(),
		"x-acs-version":         version,
	}
	names := slices.Sorted(maps.Keys(headers))
	var lines strings.Builder
	for _, name := range names {
		lines.WriteString(name + ":" + headers[name] + "\n")
		if name != "host" {
			req.Header.Set(name, headers[name])
		}
	}
	signed := strings.Join(names, ";")
	hashed := sha256.Sum256([]byte(strings.Join([]string{req.Method, "/", canonical, lines.String(), signed, headers["x-acs-content-sha256"]}, "\n")))
	mac := hmac.New(sha256.New, []byte(a.KeySecret))
	io.WriteString(mac, "ACS3-HMAC-SHA256\n"+hex.EncodeToString(hashed[:]))
	req.Header.Set("Authorization", fmt.Sprintf("ACS3-HMAC-SHA256 Credential=%s,SignedHeaders=%s,Signature=%x", a.KeyID, signed, mac.Sum(nil)))
	return req, nil
}

// aliyunQuery encodes parameters by RFC 3986, sorted by name.
func aliyunQuery(query url.Values) string {
	return strings.ReplaceAll(query.Encode(), "+", "%20")
}
