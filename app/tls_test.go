package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"punctual/app/config"
)

// issue writes a certificate for localhost with a serial number, and its key, into two files.
func issue(t *testing.T, c config.TLS, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{c.CertFile: {Type: "CERTIFICATE", Bytes: der}, c.KeyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestListenTLS: HTTP/2 and TLS 1.2 or newer; a certificate that changes is used without a restart, and
// files that cannot be used change nothing.
func TestListenTLS(t *testing.T) {
	dir := t.TempDir()
	c := config.TLS{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	if _, err := listenTLS(plain, c, log); err == nil {
		t.Error("listens without files")
	}
	issue(t, c, 1)
	l, err := listenTLS(plain, c, log)
	if err != nil {
		t.Fatal(err)
	}
	server := newHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
	go server.Serve(l)
	defer server.Close()

	get := func(limit uint16) (proto string, serial int64, err error) {
		client := http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MaxVersion: limit}}}
		answer, err := client.Get("https://" + plain.Addr().String())
		if err != nil {
			return "", 0, err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		return string(body), answer.TLS.PeerCertificates[0].SerialNumber.Int64(), err
	}
	if proto, serial, err := get(0); proto != "HTTP/2.0" || serial != 1 || err != nil {
		t.Errorf("%s, certificate %d, %v", proto, serial, err)
	}
	if _, _, err := get(tls.VersionTLS11); err == nil {
		t.Error("speaks TLS 1.1")
	}
	becomes := func(want int64) {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
			_, serial, err := get(0)
			if err != nil {
				t.Fatal(err)
			}
			if serial == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("certificate %d, want %d", serial, want)
			}
		}
	}
	issue(t, c, 2)
	becomes(2)
	if err := os.WriteFile(c.KeyFile, []byte("half a k"), 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(certificateEvery) // until the files are looked at again
	becomes(2)
	issue(t, c, 3)
	becomes(3)
}

func TestRedirectTo(t *testing.T) {
	h := redirectTo("https://rooms.example.org/")
	for _, c := range []struct{ method, path, to string }{
		{"GET", "/rooms/7?date=2027-01-02", "https://rooms.example.org/rooms/7?date=2027-01-02"},
		{"HEAD", "/", "https://rooms.example.org/"},
		{"GET", "//example.com/", "https://rooms.example.org//example.com/"},
		{"POST", "/api/v1/auth/login", ""},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, "http://rooms.example.org"+c.path, nil))
		status := http.StatusPermanentRedirect
		if c.to == "" {
			status = http.StatusForbidden
		}
		if got := w.Header().Get("Location"); got != c.to || w.Code != status {
			t.Errorf("%s %s: %d to %q", c.method, c.path, w.Code, got)
		}
	}
}
