package app

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"punctual/app/config"
)

// listenTLS answers the connections of l by TLS, with the certificate of the files as they are at
// that time.
func listenTLS(l net.Listener, c config.TLS, log *slog.Logger) (net.Listener, error) {
	files := &certificateFiles{TLS: c, log: log}
	if err := files.read(); err != nil {
		return nil, fmt.Errorf("http.tls: %w", err)
	}
	return tls.NewListener(l, &tls.Config{
		GetCertificate: files.certificate,
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
	}), nil
}

// certificateFiles holds the certificate of two files. It reads them again when they change. While they
// cannot be used, for instance because only one of them is new, it keeps the certificate that it has.
type certificateFiles struct {
	config.TLS
	log *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	seen    string // the fingerprints of the files when they were last read
	looked  time.Time
}

// certificateEvery is how often the files are looked at, at most.
const certificateEvery = time.Second

func (f *certificateFiles) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.looked) >= certificateEvery {
		f.looked = now
		if f.fingerprint() != f.seen {
			if err := f.read(); err != nil {
				f.log.Error("changed certificate invalid, old one stays in effect", "cert_file", f.CertFile, "key_file", f.KeyFile, "error", err)
			} else {
				f.log.Info("certificate reloaded", "cert_file", f.CertFile, "expires", f.current.Leaf.NotAfter)
			}
		}
	}
	return f.current, nil
}

func (f *certificateFiles) read() error {
	f.seen = f.fingerprint()
	c, err := tls.LoadX509KeyPair(f.CertFile, f.KeyFile)
	if err != nil {
		return err
	}
	f.current = &c
	return nil
}

func (f *certificateFiles) fingerprint() string {
	return config.Fingerprint(f.CertFile) + " " + config.Fingerprint(f.KeyFile)
}

// redirectTo answers plain HTTP: it sends browsers to the same path at base. It refuses what is not a
// read, because a program that sends a secret in plain text must notice.
func redirectTo(base string) http.Handler {
	base = strings.TrimSuffix(base, "/")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "use "+base, http.StatusForbidden)
			return
		}
		http.Redirect(w, r, base+r.URL.RequestURI(), http.StatusPermanentRedirect)
	})
}
