// Package syslog sends messages to a syslog server in the format of RFC 5424: over UDP (RFC 5426), TCP
// with octet counting (RFC 6587), TLS (RFC 5425), or a socket of this machine.
package syslog

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Destination is a syslog server.
type Destination struct {
	network, address string // of package net
	secure           *tls.Config
}

// Parse reads udp://host:514, tcp://host:601, tls://host:6514 or unix:///dev/log. A port may be left out:
// then it is the one shown here. caFile has the certificates of a TLS server in PEM; empty: those of the
// system.
func Parse(address, caFile string) (*Destination, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("is no URL")
	}
	if u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, errors.New("must have nothing but a scheme, a host and a port")
	}
	if caFile != "" && u.Scheme != "tls" {
		return nil, errors.New("must begin with tls:// if there is a ca_file")
	}
	ports := map[string]string{"udp": "514", "tcp": "601", "tls": "6514"}
	switch {
	case u.Scheme == "unix" && u.Host == "" && u.Path != "":
		return &Destination{network: "unixgram", address: u.Path}, nil
	case ports[u.Scheme] == "":
		return nil, errors.New("must begin with udp://, tcp://, tls:// or unix:///")
	case u.Hostname() == "" || strings.Trim(u.Path, "/") != "":
		return nil, fmt.Errorf("must be of the form %s://host:%s", u.Scheme, ports[u.Scheme])
	}
	port := cmp.Or(u.Port(), ports[u.Scheme])
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strings.Contains(u.Hostname(), ":") != strings.HasPrefix(u.Host, "[") {
		return nil, fmt.Errorf("must be of the form %s://host:%s", u.Scheme, ports[u.Scheme])
	}
	d := &Destination{network: u.Scheme, address: net.JoinHostPort(u.Hostname(), port)}
	if u.Scheme == "tls" {
		d.network, d.secure = "tcp", &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
		if caFile != "" {
			pem, err := os.ReadFile(caFile)
			if err != nil {
				return nil, err
			}
			d.secure.RootCAs = x509.NewCertPool()
			if !d.secure.RootCAs.AppendCertsFromPEM(pem) {
				return nil, fmt.Errorf("%s has no certificate in PEM", caFile)
			}
		}
	}
	return d, nil
}

// Severities of RFC 5424.
const (
	Warning = 4
	Info    = 6
)

// logAudit is the facility "log audit" of RFC 5424.
const logAudit = 13

// Message is one message.
type Message struct {
	At       time.Time
	Severity int
	ID       string // printable ASCII without spaces, at most 32 characters
	Text     string // UTF-8
}

// MaxDatagram is the largest text for UDP and local sockets, in bytes.
const MaxDatagram = 60_000

// Datagrams reports whether a message must not exceed [MaxDatagram].
func (d *Destination) Datagrams() bool { return d.network == "udp" || d.network == "unixgram" }

// Send sends messages over one connection. An error means that some may not have arrived. The protocol
// has no acknowledgments: without an error, a server may still have lost them.
func (d *Destination) Send(ctx context.Context, from string, ms []Message) (err error) {
	dialer := &net.Dialer{}
	c, err := dialer.DialContext(ctx, d.network, d.address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if until, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(until); err != nil {
			return err
		}
	}
	if d.secure != nil {
		c = tls.Client(c, d.secure)
	}
	host, _ := os.Hostname()
	if d.Datagrams() {
		for _, m := range ms {
			if _, err := c.Write([]byte(m.format(host, from))); err != nil {
				return err
			}
		}
		return nil
	}
	var stream strings.Builder
	for _, m := range ms {
		line := m.format(host, from)
		fmt.Fprintf(&stream, "%d %s", len(line), line)
	}
	_, err = c.Write([]byte(stream.String()))
	return err
}

func (m *Message) format(host, from string) string {
	return fmt.Sprintf("<%d>1 %s %s %s %d %s - %s", logAudit*8+m.Severity, m.At.UTC().Format("2006-01-02T15:04:05.000000Z"),
		header(host, 255), header(from, 48), os.Getpid(), header(m.ID, 32), m.Text)
}

// header returns a value as RFC 5424 allows it in the header.
func header(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r < 33 || r > 126 {
			return '_'
		}
		return r
	}, s)
	if s == "" {
		return "-"
	}
	return s[:min(len(s), most)]
}
