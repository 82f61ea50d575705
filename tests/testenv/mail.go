package testenv

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// MailConfig of a mail server; the zero value takes mails in clear from anybody.
type MailConfig struct {
	TLS                string // "" or "none", "starttls" (offered), "tls" (from the first byte); see CA
	Username, Password string // asked for if Username is not empty
}

// Answer to a mail; the zero value accepts it.
type Answer struct {
	Code int           // 0: accepted; else the SMTP code to refuse with
	Bad  bool          // the address does not exist: with Code, the reply says so (x.1.1)
	Wait time.Duration // before answering; longer than the client waits: the server hangs
	Drop bool          // accept the mail, then close the connection instead of saying so
}

// MailServer records the mails it accepts. Safe for concurrent use.
type MailServer struct {
	CA   *x509.CertPool // knows the server's certificate, for host 127.0.0.1
	Cert []byte         // the certificate, PEM

	addr   *net.TCPAddr
	closed chan struct{}

	mu      sync.Mutex
	onRcpt  func(to string) Answer
	onData  func(Message) Answer
	fail    []Answer
	got     []Message
	news    chan struct{} // closed and replaced with every mail
	read    int           // how many Next has handed out
	tried   int
	dialled int
}

// Message is an accepted mail.
type Message struct {
	From   string
	To     []string
	Raw    []byte
	Header mail.Header
	At     time.Time // when it was accepted
	TLS    bool
	User   string // who signed in
}

// ID is the Message-ID.
func (m Message) ID() string { return m.Header.Get("Message-Id") }

// Kind is X-Punctual-Kind.
func (m Message) Kind() string { return m.Header.Get("X-Punctual-Kind") }

// Subject is the decoded subject.
func (m Message) Subject() string {
	s, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil {
		return m.Header.Get("Subject")
	}
	return s
}

// Part is the decoded text of the first part of a content type, e.g. "text/plain"; empty if
// there is none.
func (m Message) Part(contentType string) string {
	_, body, _ := bytes.Cut(m.Raw, []byte("\r\n\r\n"))
	return part(contentType, m.Header.Get("Content-Type"), m.Header.Get("Content-Transfer-Encoding"), body)
}

func part(want, contentType, encoding string, body []byte) string {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind = "text/plain"
	}
	if strings.HasPrefix(kind, "multipart/") {
		r := multipart.NewReader(bytes.NewReader(body), params["boundary"])
		for {
			p, err := r.NextRawPart()
			if err != nil {
				return ""
			}
			b, _ := io.ReadAll(p)
			if s := part(want, p.Header.Get("Content-Type"), p.Header.Get("Content-Transfer-Encoding"), b); s != "" {
				return s
			}
		}
	}
	if kind != want {
		return ""
	}
	switch strings.ToLower(encoding) {
	case "base64":
		b, _ := io.ReadAll(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(body)))
		return string(b)
	case "quoted-printable":
		b, _ := io.ReadAll(quotedprintable.NewReader(bytes.NewReader(body)))
		return string(b)
	}
	return string(body)
}

// Mail starts a mail server that accepts everything, in clear. It is gone when the test ends.
func Mail(t testing.TB) *MailServer {
	t.Helper()
	return MailWith(t, MailConfig{})
}

// MailWith starts a mail server.
func MailWith(t testing.TB, c MailConfig) *MailServer {
	t.Helper()
	s := &MailServer{closed: make(chan struct{}), news: make(chan struct{})}
	server := smtp.NewServer(smtp.BackendFunc(func(conn *smtp.Conn) (smtp.Session, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.dialled++
		return &session{server: s, config: c, conn: conn}, nil
	}))
	server.Domain = "mail.test"
	server.AllowInsecureAuth = true
	server.ErrorLog = log.New(io.Discard, "", 0) // clients that give up are part of the tests
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("mail server: %v", err)
	}
	s.addr = l.Addr().(*net.TCPAddr)
	if c.TLS == "starttls" || c.TLS == "tls" {
		cert, err := s.certificate()
		if err != nil {
			t.Fatalf("mail server: %v", err)
		}
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}}
		if c.TLS == "tls" {
			l = tls.NewListener(l, server.TLSConfig)
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { server.Serve(l) })
	t.Cleanup(func() {
		close(s.closed)
		server.Close()
		l.Close() // Close knows no listener that Serve has not reached yet
		wg.Wait()
	})
	return s
}

// Host and Port are where it listens.
func (s *MailServer) Host() string { return s.addr.IP.String() }
func (s *MailServer) Port() int    { return s.addr.Port }

// Addr is host:port.
func (s *MailServer) Addr() string { return s.addr.String() }

// OnRcpt decides about each recipient, OnData about each mail; nil accepts all.
func (s *MailServer) OnRcpt(f func(to string) Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onRcpt = f
}

func (s *MailServer) OnData(f func(Message) Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onData = f
}

// Script sets the answers to the next mails; after them OnData decides again.
func (s *MailServer) Script(as ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = as
}

// Messages are the accepted mails in order.
func (s *MailServer) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// Where are the accepted mails to one address, of one kind (X-Punctual-Kind); an empty
// argument means any.
func (s *MailServer) Where(to, kind string) []Message {
	return slices.DeleteFunc(s.Messages(), func(m Message) bool {
		return to != "" && !slices.Contains(m.To, to) || kind != "" && m.Kind() != kind
	})
}

// Counts tells how often each Message-ID was accepted.
func (s *MailServer) Counts() map[string]int {
	n := map[string]int{}
	for _, m := range s.Messages() {
		n[m.ID()]++
	}
	return n
}

// Tried is the number of mails sent to the server, accepted or not.
func (s *MailServer) Tried() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tried
}

// Dialled is the number of connections so far.
func (s *MailServer) Dialled() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dialled
}

// Next waits for the next mail that Next has not returned yet.
func (s *MailServer) Next(t testing.TB, timeout time.Duration) Message {
	t.Helper()
	end := time.After(timeout)
	for {
		s.mu.Lock()
		if s.read < len(s.got) {
			s.read++
			m := s.got[s.read-1]
			s.mu.Unlock()
			return m
		}
		news := s.news
		s.mu.Unlock()
		select {
		case <-news:
		case <-end:
			t.Fatalf("no mail within %v", timeout)
		}
	}
}

func (s *MailServer) accept(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.At = time.Now()
	s.got = append(s.got, m)
	close(s.news)
	s.news = make(chan struct{})
}

func (s *MailServer) answerData(m Message) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried++
	if len(s.fail) > 0 {
		a := s.fail[0]
		s.fail = s.fail[1:]
		return a
	}
	if s.onData != nil {
		return s.onData(m)
	}
	return Answer{}
}

func (s *MailServer) answerRcpt(to string) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.onRcpt != nil {
		return s.onRcpt(to)
	}
	return Answer{}
}

// certificate makes a certificate for 127.0.0.1 that is its own authority.
func (s *MailServer) certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mail.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{s.addr.IP}, DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, err
	}
	s.CA = x509.NewCertPool()
	s.CA.AddCert(cert)
	s.Cert = pemCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// session is one connection's conversation.
type session struct {
	server *MailServer
	config MailConfig
	conn   *smtp.Conn
	user   string
	from   string
	to     []string
}

func (s *session) Reset()        { s.from, s.to = "", nil }
func (s *session) Logout() error { return nil }

func (s *session) AuthMechanisms() []string {
	if s.config.Username == "" {
		return nil
	}
	return []string{sasl.Plain}
}

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, username, password string) error {
		if username != s.config.Username || password != s.config.Password {
			return smtp.ErrAuthFailed
		}
		s.user = username
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if s.config.Username != "" && s.user == "" {
		return smtp.ErrAuthRequired
	}
	s.from = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if err := s.wait(s.server.answerRcpt(to)); err != nil {
		return err
	}
	s.to = append(s.to, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	parsed, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return &smtp.SMTPError{Code: 554, EnhancedCode: smtp.EnhancedCode{5, 6, 0}, Message: err.Error()}
	}
	_, encrypted := s.conn.TLSConnectionState()
	m := Message{From: s.from, To: slices.Clone(s.to), Raw: raw, Header: parsed.Header, TLS: encrypted, User: s.user}
	a := s.server.answerData(m)
	if err := s.wait(a); err != nil {
		return err
	}
	s.server.accept(m)
	if a.Drop {
		s.conn.Close()
		return errors.New("dropped")
	}
	return nil
}

func (s *session) wait(a Answer) error {
	if a.Wait > 0 {
		select {
		case <-time.After(a.Wait):
		case <-s.server.closed:
			return errors.New("closed")
		}
	}
	if a.Code == 0 {
		return nil
	}
	enhanced := smtp.EnhancedCode{a.Code / 100, 0, 0}
	if a.Bad {
		enhanced = smtp.EnhancedCode{a.Code / 100, 1, 1}
	}
	return &smtp.SMTPError{Code: a.Code, EnhancedCode: enhanced, Message: fmt.Sprintf("scripted answer %d", a.Code)}
}
