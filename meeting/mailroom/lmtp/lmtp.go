// Package lmtp receives mails from a mail server, over LMTP or SMTP.
package lmtp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-smtp"
	"golang.org/x/net/netutil"

	"punctual/meeting/mailroom"
)

// Address is where the mailroom listens.
type Address struct {
	Network string // tcp or unix
	Address string // host:port, or the path of a socket
	SMTP    bool   // instead of LMTP
}

// ParseAddress reads lmtp:HOST:PORT, lmtp+unix:PATH or smtp:HOST:PORT.
func ParseAddress(s string) (Address, error) {
	scheme, rest, _ := strings.Cut(s, ":")
	switch scheme {
	case "lmtp", "smtp":
		if _, port, err := net.SplitHostPort(rest); err != nil || port == "" {
			return Address{}, fmt.Errorf("must be like %s:127.0.0.1:2424", scheme)
		}
		return Address{Network: "tcp", Address: rest, SMTP: scheme == "smtp"}, nil
	case "lmtp+unix":
		if rest == "" {
			return Address{}, errors.New("must be like lmtp+unix:/run/punctual.sock")
		}
		return Address{Network: "unix", Address: rest}, nil
	}
	return Address{}, errors.New("must be like lmtp:127.0.0.1:2424, lmtp+unix:/run/punctual.sock or smtp:127.0.0.1:2525")
}

const (
	maxConnections = 100
	maxRecipients  = 100
	idleTime       = 5 * time.Minute
	storeTime      = 30 * time.Second // for one statement of the store; a mail server waits for minutes
)

// Receiver stores the mails.
type Receiver interface {
	Known(ctx context.Context, address string) (bool, error)
	Receive(ctx context.Context, e mailroom.Envelope, raw []byte) ([]*mailroom.Mail, error)
	MaxSize() int64
}

// Server accepts mails from allowed networks.
type Server struct {
	server   *smtp.Server
	listener net.Listener
	receiver Receiver
	allowed  []netip.Prefix
	log      *slog.Logger
}

// Listen opens the address, but accepts nothing before Run. hostname is what the server calls itself. It
// accepts connections from these networks only, and all that can reach a Unix socket.
func Listen(ctx context.Context, at Address, hostname string, allowed []netip.Prefix, r Receiver, log *slog.Logger) (*Server, error) {
	if at.Network == "unix" { // left behind by a process that was killed
		if info, err := os.Stat(at.Address); err == nil && info.Mode().Type() == os.ModeSocket {
			if c, err := net.Dial("unix", at.Address); err == nil {
				return nil, errors.Join(fmt.Errorf("another process listens on %s", at.Address), c.Close())
			}
			if err := os.Remove(at.Address); err != nil {
				return nil, err
			}
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, at.Network, at.Address)
	if err != nil {
		return nil, err
	}
	s := &Server{listener: netutil.LimitListener(l, maxConnections), receiver: r, allowed: allowed, log: log}
	s.server = smtp.NewServer(smtp.BackendFunc(s.session))
	s.server.LMTP, s.server.Network, s.server.Domain = !at.SMTP, at.Network, hostname
	s.server.MaxMessageBytes, s.server.MaxRecipients = r.MaxSize(), maxRecipients
	s.server.ReadTimeout, s.server.WriteTimeout = idleTime, idleTime
	s.server.EnableSMTPUTF8 = true
	s.server.ErrorLog = errorLog{log}
	return s, nil
}

// Addr returns where the server listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close closes the listener. A second call does nothing.
func (s *Server) Close() error {
	if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Run accepts mails until ctx ends. Then mails that are being received may finish within grace.
func (s *Server) Run(ctx context.Context, grace time.Duration) error {
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if s.server.Shutdown(ctx) != nil {
			_ = s.server.Close()
		}
		_ = s.listener.Close() // which Shutdown leaves open if Serve has not begun
	})
	err := s.server.Serve(s.listener)
	if !stop() {
		<-stopped
		return nil
	}
	return fmt.Errorf("receive mails: %w", err)
}

type errorLog struct{ log *slog.Logger }

func (l errorLog) Printf(format string, v ...any) {
	l.log.Warn("receiving a mail failed", "error", fmt.Sprintf(format, v...))
}
func (l errorLog) Println(v ...any) { l.Printf("%s", fmt.Sprint(v...)) }

func (s *Server) session(c *smtp.Conn) (smtp.Session, error) {
	if peer, ok := c.Conn().RemoteAddr().(*net.TCPAddr); ok {
		ip, _ := netip.AddrFromSlice(peer.IP)
		if !slices.ContainsFunc(s.allowed, func(p netip.Prefix) bool { return p.Contains(ip.Unmap()) }) {
			s.log.Warn("refused a connection to the mailroom", "address", peer.IP.String(), "setting", "mailroom.allow_networks")
			return nil, &smtp.SMTPError{Code: 554, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "This address may not deliver mail here"}
		}
	}
	return &session{server: s}, nil
}

// session is one mail at a time.
type session struct {
	server     *Server
	sender     string
	recipients []string
}

var (
	errUnknown = &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "There is no room with this address"}
	errPerson  = &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "Calendar programs respond to this address. Nobody reads it: write to the organizer of the meeting"}
	errLater   = &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "The mail cannot be stored now, try again later"}
)

func (s *session) Reset()        { s.sender, s.recipients = "", nil }
func (s *session) Logout() error { return nil }

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.Reset()
	s.sender = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	known, err := s.server.receiver.Known(ctx, to)
	if err != nil {
		s.server.log.Warn("looking up the recipient of a mail failed, its server will try again", "error", err)
		return errLater
	}
	if !known {
		return errUnknown
	}
	s.recipients = append(s.recipients, to)
	return nil
}

// Data implements [smtp.Session]. The mail is stored for all recipients or for none, so over LMTP all
// have the same status.
func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return s.store(raw)
}

func (s *session) store(raw []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	unique := slices.Compact(slices.Sorted(slices.Values(s.recipients)))
	_, err := s.server.receiver.Receive(ctx, mailroom.Envelope{Source: mailroom.LMTP, Sender: s.sender, Recipients: unique}, raw)
	if errors.Is(err, mailroom.ErrNoResponse) {
		return errPerson
	}
	if err != nil {
		s.server.log.Warn("storing a mail failed, its server will try again", "error", err)
		return errLater
	}
	return nil
}
