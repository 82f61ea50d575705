package email

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"punctual/notify"
)

// SMTP configures the connection to a mail server. A zero field means the default given here.
type SMTP struct {
	Host     string
	Port     int    // 587
	Username string // empty: no authentication
	Password string
	TLS      string         // "starttls" (required, not opportunistic), "tls" or "none"; default: "starttls"
	Roots    *x509.CertPool // CAs of the server's certificate; nil: the system's

	Connections int           // maximum; 20
	Timeout     time.Duration // for connecting, and for each mail; 30s
	IdleFor     time.Duration // maximum idle time of a connection; 20s
	MaxAge      time.Duration // maximum age of a connection; 5m
	MaxMails    int           // maximum mails per connection; 100

	// Refused is called for each recipient that the server refuses for good because the address does not
	// exist, with its reply; nil: ignored.
	Refused func(ctx context.Context, address, reply, messageID string)
}

func (c SMTP) withDefaults() SMTP {
	dur := func(p *time.Duration, v time.Duration) {
		if *p == 0 {
			*p = v
		}
	}
	num := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	num(&c.Port, 587)
	num(&c.Connections, 20)
	num(&c.MaxMails, 100)
	dur(&c.Timeout, 30*time.Second)
	dur(&c.IdleFor, 20*time.Second)
	dur(&c.MaxAge, 5*time.Minute)
	c.TLS = cmp.Or(c.TLS, "starttls")
	return c
}

// pool holds connections to one mail server. Each sends one mail at a time.
type pool struct {
	config SMTP
	slots  chan struct{} // one token for each connection in use

	mu     sync.Mutex
	idle   []*conn // most recently used last
	sweep  *time.Timer
	closed bool
	ending sync.WaitGroup // connections that are closing
}

type conn struct {
	smtp  *smtp.Client
	raw   net.Conn
	born  time.Time
	used  time.Time
	mails int
}

var errClosed = errors.New("the mail pool is closed")

func newPool(c SMTP) (*pool, error) {
	c = c.withDefaults()
	if c.Host == "" {
		return nil, errors.New("smtp: no host")
	}
	switch c.TLS {
	case "starttls", "tls", "none":
	default:
		return nil, fmt.Errorf("smtp: tls is %q, not starttls, tls or none", c.TLS)
	}
	return &pool{config: c, slots: make(chan struct{}, c.Connections)}, nil
}

// send sends m over a connection of the pool. It returns soon after ctx ends, without knowing
// whether the server accepted the mail. refused are recipients whose address does not exist; the
// others get the mail.
func (p *pool) send(ctx context.Context, m *mail.Msg) (refused []*sendError, _ error) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for {
		c, reused, err := p.get(ctx)
		if err != nil {
			return nil, err
		}
		refused, err = p.sendOver(ctx, c, m)
		if err == nil {
			return refused, nil
		}
		// The server may have closed an idle or old connection, which shows only now. Nothing was
		// sent yet, so retry on another connection.
		if reused && isStale(err) && ctx.Err() == nil {
			continue
		}
		return refused, classify(ctx, err)
	}
}

func (p *pool) sendOver(ctx context.Context, c *conn, m *mail.Msg) (refused []*sendError, _ error) {
	// textproto does not support contexts.
	stop := context.AfterFunc(ctx, func() { c.raw.Close() })
	var e *sendError
	if err := c.smtp.UpdateDeadline(p.config.Timeout); err != nil {
		e = failed(stepMail, err)
	} else {
		refused, e = transact(c.smtp, m)
	}
	c.mails++
	c.used = time.Now()
	usable := stop()
	if e == nil {
		p.put(c, usable)
		return refused, nil
	}
	switch {
	case usable && e.step == stepCompose: // nothing was sent
		p.put(c, true)
	case usable && e.code != 0 && e.code != 421:
		p.put(c, c.smtp.Reset() == nil)
	default:
		p.put(c, false)
	}
	return refused, e
}

func (p *pool) get(ctx context.Context) (c *conn, reused bool, err error) {
	if c, err := p.takeIdle(); c != nil || err != nil {
		return c, true, err
	}
	c, err = p.dial(ctx)
	if err == nil {
		return c, false, nil
	}
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	return nil, false, notify.Unavailable(fmt.Errorf("mail server %s: %w", net.JoinHostPort(p.config.Host, strconv.Itoa(p.config.Port)), err))
}

func (p *pool) takeIdle() (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	now := time.Now()
	for len(p.idle) > 0 {
		c := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if !p.expired(c, now) {
			return c, nil
		}
		p.end(c)
	}
	return nil, nil
}

func (p *pool) expired(c *conn, now time.Time) bool {
	return now.Sub(c.used) >= p.config.IdleFor || now.Sub(c.born) >= p.config.MaxAge || c.mails >= p.config.MaxMails
}

func (p *pool) put(c *conn, usable bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !usable || p.closed:
		c.raw.Close()
		return
	case p.expired(c, time.Now()):
		p.end(c)
		return
	}
	p.idle = append(p.idle, c)
	if p.sweep == nil {
		p.sweep = time.AfterFunc(p.config.IdleFor, p.sweepIdle)
	}
}

func (p *pool) sweepIdle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweep = nil
	now := time.Now()
	kept := p.idle[:0]
	for _, c := range p.idle {
		if p.expired(c, now) {
			p.end(c)
		} else {
			kept = append(kept, c)
		}
	}
	clear(p.idle[len(kept):])
	p.idle = kept
	if len(kept) > 0 && !p.closed {
		p.sweep = time.AfterFunc(p.config.IdleFor, p.sweepIdle)
	}
}

// end sends QUIT in the background, because the server may not answer. The caller holds p.mu.
func (p *pool) end(c *conn) {
	p.ending.Go(func() {
		defer c.raw.Close()
		if c.smtp.UpdateDeadline(time.Second) == nil {
			c.smtp.Quit() // best effort
		}
	})
}

func (p *pool) Close() error {
	p.mu.Lock()
	p.closed = true
	for _, c := range p.idle {
		p.end(c)
	}
	p.idle = nil
	if p.sweep != nil {
		p.sweep.Stop()
	}
	p.mu.Unlock()
	p.ending.Wait()
	return nil
}

func (p *pool) dial(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.config.Timeout)
	defer cancel()
	c := &conn{born: time.Now()}
	stop := func() bool { return true }
	tlsConfig := &tls.Config{ServerName: p.config.Host, RootCAs: p.config.Roots, MinVersion: tls.VersionTLS12}

	opts := []mail.Option{
		mail.WithPort(p.config.Port),
		mail.WithTimeout(p.config.Timeout),
		mail.WithTLSConfig(tlsConfig),
		mail.WithDialContextFunc(func(dial context.Context, network, addr string) (net.Conn, error) {
			raw, err := new(net.Dialer).DialContext(dial, network, addr)
			if err != nil {
				return nil, err
			}
			c.raw = raw
			stop = context.AfterFunc(ctx, func() { raw.Close() })
			if p.config.TLS != "tls" {
				return raw, nil
			}
			encrypted := tls.Client(raw, tlsConfig)
			return encrypted, encrypted.HandshakeContext(dial)
		}),
	}
	switch p.config.TLS {
	case "starttls":
		opts = append(opts, mail.WithTLSPolicy(mail.TLSMandatory))
	default:
		opts = append(opts, mail.WithTLSPolicy(mail.NoTLS))
	}
	if p.config.Username != "" {
		opts = append(opts, mail.WithUsername(p.config.Username), mail.WithPassword(p.config.Password),
			mail.WithOpportunisticSMTPAuth(p.mechanisms()...))
	}
	// A dial changes the state of a client, so each connection has its own.
	client, err := mail.NewClient(p.config.Host, opts...)
	if err != nil {
		return nil, err
	}
	c.smtp, err = client.DialToSMTPClientWithContext(ctx)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		if c.raw != nil {
			c.raw.Close()
		}
		return nil, err
	}
	return c, nil
}

// mechanisms returns the authentication mechanisms, best first. A password is sent unencrypted
// only if TLS is "none".
func (p *pool) mechanisms() []mail.SMTPAuthType {
	ms := []mail.SMTPAuthType{mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthSCRAMSHA1, mail.SMTPAuthCramMD5}
	if p.config.TLS == "none" {
		return append(ms, mail.SMTPAuthPlainNoEnc, mail.SMTPAuthLoginNoEnc)
	}
	return append(ms, mail.SMTPAuthPlain, mail.SMTPAuthLogin)
}

// isStale reports whether the connection ended before any content of the mail was sent.
func isStale(err error) bool {
	e, ok := errors.AsType[*sendError](err)
	return ok && (e.step == stepMail || e.step == stepRcpt) && (e.code == 0 || e.code == 421)
}

// classify marks err for the retry logic of package notify:
//
// - Unavailable: the server is closing, or rejects our sender or authentication.
// - Permanent: the server permanently rejects the recipient or the content.
// - Other errors may pass: a 4xx reply, a timeout, a connection lost while sending.
func classify(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w while sending", ctx.Err())
	}
	e, ok := errors.AsType[*sendError](err)
	if !ok {
		return err
	}
	switch code := e.code; {
	case e.step == stepCompose:
		return notify.Permanent(err)
	case code == 421, code == 530, code == 535, code == 538:
		return notify.Unavailable(err)
	case code >= 500 && e.step == stepMail:
		return notify.Unavailable(err)
	case code >= 500:
		return notify.Permanent(err)
	}
	return err
}
