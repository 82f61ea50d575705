// Package webhook posts signed bodies to other people's servers, and to no server that is
// one's own: only to public addresses, unless others are allowed.
//
// The receiver checks that a post is genuine and fresh by the headers X-Punctual-Timestamp and
// X-Punctual-Signature; see [Sign].
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"
)

const (
	dialTimeout = 5 * time.Second
	answerRead  = 4 << 10        // bytes of an answer; the rest is not looked at
	retryCap    = 24 * time.Hour // of a Retry-After
	idleFor     = 90 * time.Second
)

// Post is one request.
type Post struct {
	URL, Secret string
	Topic       string // of a job; "": it is none
	Event       string // type of an event; "": it is none
	ID          string // of the job or event
	Key         string // the Idempotency-Key: the same at every attempt
	Attempt     int    // from 1
	Body        []byte // JSON
}

// Answer is what the receiver said.
type Answer struct {
	Status     int
	RetryAfter time.Duration // of a 429 or 503; 0: it named none
	Text       string        // the beginning of its body
}

const textKept = 500

// String is the answer in words, for logs and errors: its status and the beginning of its text,
// as one line.
func (a Answer) String() string {
	s := strings.TrimSpace(strconv.Itoa(a.Status) + " " + http.StatusText(a.Status))
	text := strings.ToValidUTF8(a.Text[:min(len(a.Text), textKept)], "")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if text != "" {
		s += ": " + text
	}
	return s
}

// Sender posts. It follows no redirects and uses no proxy. Safe for concurrent use.
type Sender struct {
	agent   string
	client  *http.Client
	allowed atomic.Pointer[[]netip.Prefix]
	now     func() time.Time
}

// NewSender returns a sender that calls itself agent and posts to public addresses and to
// those in allowed.
func NewSender(agent string, allowed []netip.Prefix) *Sender {
	s := &Sender{agent: agent, now: time.Now}
	s.allowed.Store(&allowed)
	s.client = &http.Client{
		Transport: &http.Transport{
			DialContext: s.dial, TLSHandshakeTimeout: dialTimeout, ForceAttemptHTTP2: true, DisableCompression: true,
			MaxIdleConns: 1000, MaxIdleConnsPerHost: 100, IdleConnTimeout: idleFor, MaxResponseHeaderBytes: 16 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s
}

// Allow replaces the networks that are allowed although they are not public.
func (s *Sender) Allow(allowed []netip.Prefix) {
	s.allowed.Store(&allowed)
	s.client.CloseIdleConnections()
}

// Close ends idle connections.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// Sign is the signature of a body that was sent at timestamp, seconds since 1970: "v1=" and
// the HMAC-SHA256 of timestamp + "." + body under secret, in hexadecimal.
func Sign(secret, timestamp string, body []byte) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(timestamp))
	m.Write([]byte{'.'})
	m.Write(body)
	return "v1=" + hex.EncodeToString(m.Sum(nil))
}

// Send posts and returns the response, whatever its status. It fails if there was no response. The
// error does not contain the URL.
func (s *Sender) Send(ctx context.Context, p Post) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL, bytes.NewReader(p.Body))
	if err != nil {
		return Answer{}, err
	}
	at := strconv.FormatInt(s.now().Unix(), 10)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": s.agent, "Idempotency-Key": p.Key,
		"X-Punctual-Topic": p.Topic, "X-Punctual-Event": p.Event, "X-Punctual-Id": p.ID, "X-Punctual-Attempt": strconv.Itoa(p.Attempt),
		"X-Punctual-Timestamp": at, "X-Punctual-Signature": Sign(p.Secret, at, p.Body),
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	return s.answer(req)
}

func (s *Sender) answer(req *http.Request) (Answer, error) {
	res, err := s.client.Do(req)
	if err != nil {
		return Answer{}, plain(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, answerRead)) // the status has come; the text only explains it
	return Answer{Status: res.StatusCode, RetryAfter: s.retryAfter(res), Text: string(text)}, nil
}

// Forward posts JSON without signing it, and returns the response like Send.
func (s *Sender) Forward(ctx context.Context, url string, body []byte) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return Answer{}, plain(err)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("User-Agent", s.agent)
	return s.answer(req)
}

// plain is an error without the URL, whose query may hold secrets.
func plain(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		if e.Timeout() {
			return errors.New("no answer in time")
		}
		err = e.Err
	}
	return err
}

// retryAfter reads what a receiver that is busy asks for, in seconds or as a time.
func (s *Sender) retryAfter(res *http.Response) time.Duration {
	if res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	text := strings.TrimSpace(res.Header.Get("Retry-After"))
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Duration(min(max(n, 0), int64(retryCap/time.Second))) * time.Second
	}
	if t, err := http.ParseTime(text); err == nil {
		return min(max(t.Sub(s.now()), 0), retryCap)
	}
	return 0
}

// control refuses a connection to an address that is not allowed. It runs after the name was
// resolved, so what a name resolves to a moment later makes no difference.
func (s *Sender) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return err
	}
	if refused(a, *s.allowed.Load()) {
		return fmt.Errorf("%s %w", a, ErrRefused)
	}
	return nil
}
