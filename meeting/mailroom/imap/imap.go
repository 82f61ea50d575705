// Package imap reads the mails for rooms from a mailbox.
package imap

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"punctual/meeting/mailroom"
)

// Config is the mailbox to read.
type Config struct {
	Host               string
	Port               int
	Username, Password string
	TLS                string // tls, starttls or none
	Mailbox            string
	Done               string        // folder for mails that are stored; it is created if there is none
	Poll               time.Duration // how often to look, besides IDLE
}

const (
	connectTime = 30 * time.Second
	storeTime   = 30 * time.Second
	idleTime    = 25 * time.Minute // servers end longer ones
	retryLeast  = 2 * time.Second
	retryMost   = 2 * time.Minute
)

// Receiver stores the mails.
type Receiver interface {
	Addressed(ctx context.Context, raw []byte) ([]string, error)
	Receive(ctx context.Context, e mailroom.Envelope, raw []byte) ([]*mailroom.Mail, error)
	MaxSize() int64
}

// Reader reads a mailbox. Several processes may read the same one: a mail that two of them see is stored
// once.
type Reader struct {
	config   Config
	receiver Receiver
	log      *slog.Logger
}

// NewReader returns a Reader.
func NewReader(c Config, r Receiver, log *slog.Logger) *Reader { return &Reader{c, r, log} }

// Run reads the mailbox until ctx ends, and connects again whenever that fails. The error is always nil.
func (r *Reader) Run(ctx context.Context) error {
	wait := retryLeast
	for {
		began := time.Now()
		err := r.session(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) > retryMost {
			wait = retryLeast
		}
		r.log.Warn("reading the mailbox failed, connecting again later", "host", r.config.Host, "error", err, "wait", wait)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		wait = min(2*wait, retryMost)
	}
}

// session reads the mailbox over one connection until that fails.
func (r *Reader) session(ctx context.Context) error {
	arrived := make(chan struct{}, 1)
	c, err := r.connect(ctx, &imapclient.UnilateralDataHandler{Mailbox: func(d *imapclient.UnilateralDataMailbox) {
		if d.NumMessages == nil {
			return
		}
		select {
		case arrived <- struct{}{}:
		default:
		}
	}})
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if err := c.Login(r.config.Username, r.config.Password).Wait(); err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	if err := c.Create(r.config.Done, nil).Wait(); err != nil {
		if e, ok := errors.AsType[*imap.Error](err); !ok || e.Type == imap.StatusResponseTypeBye {
			return fmt.Errorf("create folder %s: %w", r.config.Done, err)
		}
		// It exists. If it does not, moving the first mail says so.
	}
	if _, err := c.Select(r.config.Mailbox, nil).Wait(); err != nil {
		return fmt.Errorf("open %s: %w", r.config.Mailbox, err)
	}
	r.log.Info("reading the mailbox", "host", r.config.Host, "mailbox", r.config.Mailbox)
	for {
		if err := r.drain(ctx, c); err != nil {
			return err
		}
		if err := r.await(ctx, c, arrived); err != nil {
			return err
		}
	}
}

func (r *Reader) connect(ctx context.Context, h *imapclient.UnilateralDataHandler) (*imapclient.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(r.config.Host, strconv.Itoa(r.config.Port)))
	if err != nil {
		return nil, err
	}
	secure := &tls.Config{ServerName: r.config.Host, NextProtos: []string{"imap"}}
	options := &imapclient.Options{TLSConfig: secure, UnilateralDataHandler: h}
	switch r.config.TLS {
	case "none":
		return imapclient.New(conn, options), nil
	case "starttls":
		return imapclient.NewStartTLS(conn, options)
	}
	over := tls.Client(conn, secure)
	if err := over.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return imapclient.New(over, options), nil
}

// await returns when a mail arrived, or when it is time to look.
func (r *Reader) await(ctx context.Context, c *imapclient.Client, arrived <-chan struct{}) error {
	timer := time.NewTimer(min(r.config.Poll, idleTime))
	defer timer.Stop()
	var idle *imapclient.IdleCommand
	if c.Caps().Has(imap.CapIdle) {
		var err error
		if idle, err = c.Idle(); err != nil {
			return fmt.Errorf("wait for mails: %w", err)
		}
	}
	select {
	case <-ctx.Done():
	case <-c.Closed():
	case <-arrived:
	case <-timer.C:
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if idle == nil {
		return c.Noop().Wait()
	}
	if err := idle.Close(); err != nil {
		return fmt.Errorf("wait for mails: %w", err)
	}
	return idle.Wait()
}

// drain stores all mails of the mailbox and moves each to the folder of stored mails. After a crash in
// between, the mail is stored again, which has no effect.
func (r *Reader) drain(ctx context.Context, c *imapclient.Client) error {
	found, err := c.UIDSearch(&imap.SearchCriteria{}, nil).Wait()
	if err != nil {
		return fmt.Errorf("look for mails: %w", err)
	}
	for _, uid := range found.AllUIDs() {
		if err := r.one(ctx, c, uid); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) one(ctx context.Context, c *imapclient.Client, uid imap.UID) error {
	which := imap.UIDSetNum(uid)
	sizes, err := c.Fetch(which, &imap.FetchOptions{UID: true, RFC822Size: true}).Collect()
	if err != nil {
		return fmt.Errorf("look at mail %d: %w", uid, err)
	}
	if len(sizes) == 0 { // somebody moved it
		return nil
	}
	if size := sizes[0].RFC822Size; size > r.receiver.MaxSize() {
		r.log.Warn("a mail is too large for the mailroom", "uid", uid, "size", size, "setting", "mailroom.limits.size")
	} else if err := r.store(ctx, c, which); err != nil {
		return err
	}
	if _, err := c.Move(which, r.config.Done).Wait(); err != nil {
		return fmt.Errorf("move mail %d to %s: %w", uid, r.config.Done, err)
	}
	return nil
}

func (r *Reader) store(ctx context.Context, c *imapclient.Client, which imap.UIDSet) error {
	whole := &imap.FetchItemBodySection{Peek: true}
	mails, err := c.Fetch(which, &imap.FetchOptions{UID: true, BodySection: []*imap.FetchItemBodySection{whole}}).Collect()
	if err != nil {
		return fmt.Errorf("read mail %s: %w", which, err)
	}
	if len(mails) == 0 {
		return nil
	}
	raw := mails[0].FindBodySection(whole)
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	to, err := r.receiver.Addressed(ctx, raw)
	if err != nil {
		return err
	}
	if len(to) == 0 {
		r.log.Info("a mail in the mailbox names no room", "mail", strings.TrimSpace(which.String()))
		return nil
	}
	_, err = r.receiver.Receive(ctx, mailroom.Envelope{Source: mailroom.IMAP, Recipients: to}, raw)
	return err
}
