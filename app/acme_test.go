package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/letsencrypt/pebble/v2/ca"
	acmedb "github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"

	"punctual/app/config"
	"punctual/app/database"
	"punctual/tests/testenv/testdb"
)

func init() { // the server neither sleeps nor refuses at random
	for name, value := range map[string]string{"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "0", "PEBBLE_AUTHZREUSE": "0"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
}

// resolver answers every name with this machine.
func resolver(t *testing.T) (address string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{Listener: l, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg)
		m.SetReply(q)
		if q.Question[0].Qtype == dns.TypeA {
			m.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.IPv4(127, 0, 0, 1)}}
		}
		_ = w.WriteMsg(m)
	})}
	go func() { _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown() })
	return l.Addr().String()
}

// authority starts an ACME server, which checks the challenges of names at the ports.
func authority(t *testing.T, httpPort, tlsPort int) (c config.ACME, roots *x509.CertPool) {
	t.Helper()
	quiet := log.New(t.Output(), "", 0)
	db := acmedb.NewMemoryStore()
	issuer := ca.New(quiet, db, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {}})
	server := wfe.New(quiet, db, va.New(quiet, httpPort, tlsPort, false, resolver(t), db), issuer, []string{"example.org"}, false, false, 1, 1)
	front := httptest.NewTLSServer(server.Handler())
	t.Cleanup(front.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	roots.AddCert(issuer.GetRootCert(0).Cert)
	return config.ACME{Domains: []string{"rooms.example.org"}, Email: "admin@example.org", Directory: front.URL + wfe.DirectoryPath, CAFile: file}, roots
}

func listenLocally(t *testing.T) (l net.Listener, port int) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	_, text, _ := net.SplitHostPort(l.Addr().String())
	port, _ = strconv.Atoi(text)
	return l, port
}

// An ACME server issues a certificate once it has reached the process, on the port of HTTPS or, behind a
// load balancer that ends TLS elsewhere, on that of plain HTTP. Another instance, and the same one after a
// restart, use it without asking again.
func TestCertificates(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		for _, by := range []string{"TLS-ALPN-01", "HTTP-01"} {
			t.Run(by, func(t *testing.T) {
				if err := db.Gorm.WithContext(t.Context()).Where("true").Delete(&certificateRow{}).Error; err != nil {
					t.Fatal(err)
				}
				plain, httpPort := listenLocally(t)
				secure, tlsPort := listenLocally(t)
				reachable := tlsPort
				if by == "HTTP-01" {
					_, reachable = listenLocally(t) // nobody answers there
				}
				c, roots := authority(t, httpPort, reachable)
				open := func() *certificates {
					t.Helper()
					got, err := newCertificates(c, db.Gorm, slog.New(slog.NewTextHandler(t.Output(), nil)))
					if err != nil {
						t.Fatal(err)
					}
					return got
				}
				one := open()
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				ended := make(chan error, 2)
				hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
				go func() { ended <- serveHTTP(ctx, tls.NewListener(secure, one.config()), hello) }()
				challenges := one.HTTPHandler(redirectTo("https://rooms.example.org"))
				asOnPort80 := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					r.Host = "rooms.example.org"
					challenges.ServeHTTP(w, r)
				})
				go func() { ended <- serveHTTP(ctx, plain, asOnPort80) }()
				if err := one.obtain(ctx); err != nil {
					t.Fatal(err)
				}
				shown := func(port int, name string) (string, error) {
					connection, err := (&tls.Dialer{Config: &tls.Config{ServerName: name, RootCAs: roots, NextProtos: []string{"h2"}}}).DialContext(
						ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
					if err != nil {
						return "", err
					}
					defer connection.Close()
					state := connection.(*tls.Conn).ConnectionState()
					return state.PeerCertificates[0].SerialNumber.String() + " " + state.NegotiatedProtocol, nil
				}
				first, err := shown(tlsPort, "rooms.example.org")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := shown(tlsPort, "others.example.org"); err == nil {
					t.Error("there is a certificate for a name that is not configured")
				}

				c.Directory = "https://127.0.0.1:1/nobody"
				other, otherPort := listenLocally(t)
				go func() { ended <- serveHTTP(ctx, tls.NewListener(other, open().config()), hello) }()
				if second, err := shown(otherPort, "rooms.example.org"); err != nil || second != first {
					t.Errorf("another instance shows %q, not %q: %v", second, first, err)
				}
				stop()
				for range 3 {
					if err := <-ended; err != nil {
						t.Error(err)
					}
				}
			})
		}
	})
}
