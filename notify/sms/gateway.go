package sms

import (
	"bytes"
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
)

// Gateway describes one HTTP request for a message. URL, the values of Headers and Body are
// text/template templates over a [Message]; in them, json writes a value as JSON and urlquery
// as part of a URL. An answer of 2xx means that the message was accepted.
type Gateway struct {
	URL     string
	Method  string            // POST
	Headers map[string]string // Content-Type: application/json and Idempotency-Key: {{.ID}} unless given
	Body    string
	Timeout time.Duration // 10s
}

// gateway is a parsed Gateway.
type gateway struct {
	method  string
	url     *template.Template
	body    *template.Template
	headers map[string]*template.Template
	client  *http.Client
}

// A FieldError says which field of a [Gateway] cannot work: "url", "body", or "headers." and the
// name of one.
type FieldError struct {
	Field string
	Err   error
}

func (e *FieldError) Error() string { return e.Err.Error() }
func (e *FieldError) Unwrap() error { return e.Err }

func wrong(field, format string, args ...any) error {
	return &FieldError{field, fmt.Errorf(format, args...)}
}

var errElsewhere = errors.New("the gateway redirects to another host")

// newGateway parses c and tries it on a message that is awkward to quote.
func newGateway(c Gateway) (*gateway, error) {
	if c.URL == "" {
		return nil, wrong("url", "sms gateway: no url")
	}
	if c.Method == "" {
		c.Method = http.MethodPost
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
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
			return nil, wrong("headers", "sms gateway: %q is not the name of a header", k)
		}
		if g.headers[k], err = parse("headers."+k, v); err != nil {
			return nil, err
		}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 32
	g.client = &http.Client{Transport: transport, Timeout: c.Timeout, CheckRedirect: checkRedirect}
	return g, g.try()
}

func parse(name, text string) (*template.Template, error) {
	t, err := template.New(name).Funcs(template.FuncMap{"json": toJSON}).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, wrong(name, "sms gateway: %w", err)
	}
	return t, nil
}

func toJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// try renders a request as send would, so that a mistake shows at the start and not with the
// first reminder.
func (g *gateway) try() error {
	req, body, err := g.request(context.Background(), Message{
		ID: "1", To: "+15550100", Kind: "reminder", Text: "\"Zoë's\" \\ review\n开始",
	})
	if err != nil {
		return fmt.Errorf("sms gateway: %w", err)
	}
	if strings.HasPrefix(req.Header.Get("Content-Type"), "application/json") && body != "" && !json.Valid([]byte(body)) {
		return wrong("body", "sms gateway: body: a text with quotes makes %s, which is not JSON; write {{json .Text}} without quotes around it", body)
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
		return nil, "", wrong("url", "url: %w", err)
	}
	if u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, "", wrong("url", "url: %q is not an http or https address", target)
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
			return nil, "", wrong("headers."+k, "headers.%s: the value holds a character that no header may", k)
		}
		req.Header.Set(k, v)
	}
	return req, body, nil
}

func execute(t *template.Template, m Message) (string, error) {
	var b bytes.Buffer
	if err := t.Execute(&b, m); err != nil {
		return "", wrong(t.Name(), "%w", err)
	}
	return b.String(), nil
}

// send makes the request and says what the answer means for the next attempt.
func (g *gateway) send(ctx context.Context, m Message) error {
	req, _, err := g.request(ctx, m)
	if err != nil {
		return notify.Permanent(err)
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return unanswered(ctx, err)
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 500)) // read for the ledger; more of it is nobody's business
	if resp.StatusCode/100 == 2 {
		return nil
	}
	err = fmt.Errorf("the gateway answered %s: %s", resp.Status, strings.TrimSpace(string(said)))
	switch code := resp.StatusCode; code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return notify.Unavailable(err)
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
	default:
		switch code / 100 {
		case 3: // somebody moved the gateway
			return notify.Unavailable(err)
		case 4:
			return notify.Permanent(err)
		}
	}
	if d := retryAfter(resp.Header.Get("Retry-After"), time.Now()); d > 0 {
		return notify.After(d, err)
	}
	return err
}

// unanswered classifies a request without an answer. One that never reached the gateway says
// nothing about the message; after a time-out the message may have been sent.
func unanswered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// The URL of a gateway may carry its password.
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return notify.Unavailable(err)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return notify.Unavailable(err)
	}
	if errors.Is(err, errElsewhere) {
		return notify.Unavailable(err)
	}
	return err
}

// checkRedirect follows 307 and 308 within a host. Anything else would carry the message and
// the gateway's password elsewhere, or lose the body.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme:
		return errElsewhere
	case req.Method != first.Method || len(via) > 3:
		return http.ErrUseLastResponse
	}
	return nil
}

// maxRetryAfter bounds how long a gateway may make us wait.
const maxRetryAfter = time.Hour

// retryAfter reads seconds or a date; 0 if there is neither.
func retryAfter(s string, now time.Time) time.Duration {
	var d time.Duration
	if n, err := strconv.Atoi(s); err == nil {
		d = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(s); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), maxRetryAfter)
}
