package sms

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/template"
	"time"

	"golang.org/x/net/http/httpguts"

	"punctual/notify"
	"punctual/notify/render"
)

// Gateway describes the HTTP request for a message. URL, Body and the values of Headers are
// text/template templates over a [Message]. In them json formats a value as JSON, and urlquery as
// part of a URL. A 2xx response means that the message was accepted.
type Gateway struct {
	URL     string
	Method  string            // POST
	Headers map[string]string // defaults: Content-Type: application/json, Idempotency-Key: {{.ID}}
	Body    string
	Timeout time.Duration // 10s
}

type gateway struct {
	method  string
	url     *template.Template
	body    *template.Template
	headers map[string]*template.Template
	client  *http.Client
}

// A FieldError names the invalid field of a [Gateway]: "url", "body", or "headers." and a header
// name.
type FieldError struct {
	Field string
	Err   error
}

func (e *FieldError) Error() string { return e.Err.Error() }
func (e *FieldError) Unwrap() error { return e.Err }

func fieldError(field, format string, args ...any) error {
	return &FieldError{field, fmt.Errorf(format, args...)}
}

var errRedirect = errors.New("gateway redirects to another host")

// newGateway parses c and renders a test message that is hard to quote.
func newGateway(c Gateway) (*gateway, error) {
	if c.URL == "" {
		return nil, fieldError("url", "sms gateway: no url")
	}
	c.Method = cmp.Or(c.Method, http.MethodPost)
	g := &gateway{method: c.Method, headers: map[string]*template.Template{}}
	var err error
	if g.url, err = parse("url", c.URL); err != nil {
		return nil, err
	}
	if g.body, err = parse("body", c.Body); err != nil {
		return nil, err
	}
	headers := map[string]string{"Content-Type": "application/json", "Idempotency-Key": "{{.ID}}"}
	for k, v := range c.Headers {
		headers[http.CanonicalHeaderKey(k)] = v
	}
	for k, v := range headers {
		if !httpguts.ValidHeaderFieldName(k) {
			return nil, fieldError("headers", "sms gateway: %q is not a valid header name", k)
		}
		if g.headers[k], err = parse("headers."+k, v); err != nil {
			return nil, err
		}
	}
	g.client = newClient(c.Timeout)
	return g, g.try()
}

func newClient(timeout time.Duration) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 32
	return &http.Client{Transport: transport, Timeout: cmp.Or(timeout, 10*time.Second), CheckRedirect: checkRedirect}
}

func parse(name, text string) (*template.Template, error) {
	t, err := template.New(name).Funcs(template.FuncMap{"json": toJSON}).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, fieldError(name, "sms gateway: %w", err)
	}
	return t, nil
}

func toJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// trial is a message that is hard to quote.
var trial = Message{
	ID: "1", To: "+14155550100", Kind: "reminder", Text: "\"Zoë's\" \\ review\n开始",
	Variables: render.Variables{Name: `"Zoë"`, Title: `"Zoë's" \ review`, Where: `Room "开"`, Start: "Feb 10, 10:00", End: "11:00"},
}

// try renders a request, so that a mistake shows at startup and not with the first reminder.
func (g *gateway) try() error {
	req, body, err := g.request(context.Background(), trial)
	if err != nil {
		return fmt.Errorf("sms gateway: %w", err)
	}
	if strings.HasPrefix(req.Header.Get("Content-Type"), "application/json") && body != "" && !json.Valid([]byte(body)) {
		return fieldError("body", "sms gateway: body: a text with quotes makes %s, which is not JSON; write {{json .Text}} without quotes around it", body)
	}
	return nil
}

func (g *gateway) request(ctx context.Context, m Message) (*http.Request, string, error) {
	target, err := execute(g.url, m)
	if err != nil {
		return nil, "", err
	}
	u, err := url.Parse(target)
	if err != nil {
		return nil, "", fieldError("url", "url: %w", err)
	}
	if u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, "", fieldError("url", "url: %q is not an http or https address", target)
	}
	body, err := execute(g.body, m)
	if err != nil {
		return nil, "", err
	}
	req, err := http.NewRequestWithContext(ctx, g.method, target, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	for k, t := range g.headers {
		v, err := execute(t, m)
		if err != nil {
			return nil, "", err
		}
		if !httpguts.ValidHeaderFieldValue(v) {
			return nil, "", fieldError("headers."+k, "headers.%s: the value contains a character that headers do not allow", k)
		}
		req.Header.Set(k, v)
	}
	return req, body, nil
}

func execute(t *template.Template, m Message) (string, error) {
	var b bytes.Buffer
	if err := t.Execute(&b, m); err != nil {
		return "", fieldError(t.Name(), "%w", err)
	}
	return b.String(), nil
}

func (g *gateway) send(ctx context.Context, m Message) error {
	req, _, err := g.request(ctx, m)
	if err != nil {
		return notify.Permanent(err)
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return requestError(ctx, err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 500)) // limited, because it is stored in the ledger
	if resp.StatusCode/100 == 2 {
		return nil
	}
	return statusError(resp, fmt.Errorf("gateway returned %s: %s", resp.Status, strings.TrimSpace(string(body))))
}

// statusError classifies err by the status and the Retry-After of a response that is not 2xx.
func statusError(resp *http.Response, err error) error {
	switch code := resp.StatusCode; code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return notify.Unavailable(err)
	case http.StatusTooManyRequests, http.StatusTooEarly:
		err = &refusal{err}
	case http.StatusRequestTimeout, http.StatusGatewayTimeout: // it may have been sent
	default:
		switch code / 100 {
		case 3: // the provider has moved
			return notify.Unavailable(err)
		case 4:
			return notify.Permanent(err)
		}
		err = &refusal{err}
	}
	if d := retryAfter(resp.Header.Get("Retry-After"), time.Now()); d > 0 {
		return notify.After(d, err)
	}
	return err
}

// requestError classifies a request without a response. If it never reached the gateway, the
// message is not at fault. After a timeout the message may have been sent.
func requestError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// The URL of a gateway may contain its password.
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return notify.Unavailable(err)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return notify.Unavailable(err)
	}
	if errors.Is(err, errRedirect) {
		return notify.Unavailable(err)
	}
	return err
}

// checkRedirect follows 307 and 308 within a host. Other redirects would send the message and the
// gateway's password elsewhere, or lose the body.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme:
		return errRedirect
	case req.Method != first.Method || len(via) > 3:
		return http.ErrUseLastResponse
	}
	return nil
}

// maxRetryAfter limits the delay that a gateway can request.
const maxRetryAfter = time.Hour

// retryAfter parses seconds or a date; 0 for neither.
func retryAfter(s string, now time.Time) time.Duration {
	var d time.Duration
	if n, err := strconv.Atoi(s); err == nil {
		d = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(s); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), maxRetryAfter)
}
