package syslog_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"punctual/app/syslog"
)

var messages = []syslog.Message{
	{At: time.Date(2027, 2, 10, 9, 0, 0, 123456789, time.UTC), Severity: syslog.Info, ID: "room.changed", Text: `{"name":"Größe\nTuring"}`},
	{At: time.Date(2027, 2, 10, 10, 0, 0, 0, time.FixedZone("", 3600)), Severity: syslog.Warning, ID: "session.refused and something quite long", Text: `{}`},
}

// want are the messages as RFC 5424 writes them.
var want = []*regexp.Regexp{
	regexp.MustCompile(`^<110>1 2027-02-10T09:00:00\.123456Z \S+ punctual \d+ room\.changed - \{"name":"Größe\\nTuring"\}$`),
	regexp.MustCompile(`^<108>1 2027-02-10T09:00:00\.000000Z \S+ punctual \d+ session\.refused_and_something_qu - \{\}$`),
}

func check(t *testing.T, got []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d messages: %q", len(got), got)
	}
	for i, re := range want {
		if !re.MatchString(got[i]) {
			t.Errorf("message %d: %s", i, got[i])
		}
	}
}

func send(t *testing.T, address, caFile string) {
	t.Helper()
	d, err := syslog.Parse(address, caFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Send(t.Context(), "punctual", messages); err != nil {
		t.Error(err)
	}
}

func TestSend_datagrams(t *testing.T) {
	t.Parallel()
	local := filepath.Join(t.TempDir(), "log")
	for _, network := range []string{"udp", "unixgram"} {
		address := map[string]string{"udp": "127.0.0.1:0", "unixgram": local}[network]
		l, err := (&net.ListenConfig{}).ListenPacket(t.Context(), network, address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if network == "udp" {
			send(t, "udp://"+l.LocalAddr().String(), "")
		} else {
			send(t, "unix://"+local, "")
		}
		var got []string
		b := make([]byte, 2000)
		for range messages {
			n, _, err := l.ReadFrom(b)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(b[:n]))
		}
		check(t, got)
	}
}

// received reads messages with octet counting until the connection ends.
func received(t *testing.T, l net.Listener) (got []string) {
	t.Helper()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		var n int
		if _, err := fmt.Fscanf(r, "%d ", &n); err != nil {
			return got
		}
		b := make([]byte, n)
		if _, err := io.ReadFull(r, b); err != nil {
			t.Fatal(err)
		}
		got = append(got, string(b))
	}
}

func TestSend_streams(t *testing.T) {
	t.Parallel()
	certificate, caFile := certified(t)
	for _, scheme := range []string{"tcp", "tls"} {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ca := ""
		if scheme == "tls" {
			l, ca = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{certificate}}), caFile
		}
		defer l.Close()
		got := make(chan []string, 1)
		go func() { got <- received(t, l) }()
		send(t, scheme+"://"+l.Addr().String(), ca)
		check(t, <-got)
	}
}

func TestSend_fails(t *testing.T) {
	t.Parallel()
	certificate, _ := certified(t)
	_, otherCA := certified(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, _ = io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	d, err := syslog.Parse("tls://"+l.Addr().String(), otherCA)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Send(t.Context(), "punctual", messages); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server that nobody vouches for: %v", err)
	}
	l.Close()
	if err := d.Send(t.Context(), "punctual", messages); err == nil {
		t.Error("nobody listens, and there is no error")
	}
}

func TestParse_faults(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"host:514":           "udp://",
		"http://host":        "udp://",
		"udp://":             "udp://host:514",
		"tcp://host/path":    "tcp://host:601",
		"unix://dev/log":     "udp://",
		"tls://u:p@host":     "nothing but",
		"udp://host?x=1":     "nothing but",
		"udp://host:514:514": "udp://host:514",
		"udp://host:70000":   "udp://host:514",
	} {
		if _, err := syslog.Parse(address, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := syslog.Parse("udp://host", "ca.pem"); err == nil || !strings.Contains(err.Error(), "tls://") {
		t.Errorf("certificates without TLS: %v", err)
	}
	if _, err := syslog.Parse("tls://host", filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a missing file of certificates is no fault")
	}
}

// certified returns a certificate for 127.0.0.1, and a file with the one that vouches for it: itself.
func certified(t *testing.T) (c tls.Certificate, caFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	as := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, as, as, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, caFile
}
