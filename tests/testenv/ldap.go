package testenv

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-ldap/ldap/v3"
)

// The directory of [LDAP]: its top, the account that may search, and its administrator.
const (
	LDAPBase     = "dc=example,dc=org"
	LDAPReader   = "cn=reader," + LDAPBase
	LDAPPassword = "of the reader: *()\\"
	ldapRoot     = "cn=root," + LDAPBase
)

// LDAPServer is a slapd of one's own. It accepts passwords over TLS only, and lets only
// [LDAPReader] search.
type LDAPServer struct {
	*process
	URL    string // ldap://127.0.0.1:PORT
	CAFile string // of its certificate
	dir    string
}

const slapdConf = `
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCertificateFile DIR/cert.pem
TLSCertificateKeyFile DIR/key.pem
security simple_bind=128
database mdb
directory DIR/data
maxsize 16777216
dbnosync
suffix BASE
rootdn ROOT
rootpw root
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="READER" read by * none
`

// LDAP starts a directory with entries in LDIF (RFC 2849) below [LDAPBase]. It is gone when the test
// ends.
func LDAP(t testing.TB, entries string) *LDAPServer {
	t.Helper()
	s, err := startLDAP(entries)
	if err != nil {
		t.Fatalf("slapd: %v", err)
	}
	t.Cleanup(func() {
		s.stop(syscall.SIGTERM)
		removeAll(t, s.dir)
	})
	return s
}

func startLDAP(entries string) (*LDAPServer, error) {
	slapd, err := binary("/usr/sbin/slapd", "slapd")
	if err != nil {
		return nil, err
	}
	s := &LDAPServer{}
	if s.dir, err = serverDir(baseDir, "ldap"); err != nil {
		return nil, err
	}
	s.CAFile = filepath.Join(s.dir, "cert.pem")
	conf, ldif := filepath.Join(s.dir, "slapd.conf"), filepath.Join(s.dir, "entries.ldif")
	text := strings.NewReplacer("DIR", s.dir, "BASE", LDAPBase, "ROOT", ldapRoot, "READER", LDAPReader).Replace(slapdConf)
	entries = "dn: " + LDAPBase + "\nobjectClass: dcObject\nobjectClass: organization\no: Example\n\ndn: " + LDAPReader +
		"\nobjectClass: organizationalRole\nobjectClass: simpleSecurityObject\nuserPassword: " + LDAPPassword + "\n\n" + entries
	for _, write := range []func() error{
		func() error { return os.Mkdir(filepath.Join(s.dir, "data"), 0o700) },
		func() error { return os.WriteFile(conf, []byte(text), 0o600) },
		func() error { return os.WriteFile(ldif, []byte(entries), 0o600) },
		func() error { return writeCertificate(s.dir, net.IPv4(127, 0, 0, 1)) },
	} {
		if err := write(); err != nil {
			return nil, err
		}
	}
	// As slapadd, which fills the database without a server.
	load := exec.Command(slapd, "-Tadd", "-q", "-f", conf, "-l", ldif)
	if out, err := load.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("load the directory: %w\n%s", err, out)
	}
	return onFreePort(func(port int) (*LDAPServer, error) {
		s.URL = fmt.Sprintf("ldap://127.0.0.1:%d", port)
		if s.process, err = startProcess(s.dir, "TERM", exec.Command(slapd, "-f", conf, "-h", s.URL+"/", "-d", "0")); err != nil {
			return nil, err
		}
		return s, s.ready(func() error {
			conn, err := ldap.DialURL(s.URL)
			if err == nil {
				err = conn.Close()
			}
			return err
		})
	})
}

// writeCertificate writes cert.pem and key.pem for an address, which is its own authority.
func writeCertificate(dir string, ip net.IP) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "slapd"}, IPAddresses: []net.IP{ip},
		NotBefore: time.Now().AddDate(-50, 0, 0), NotAfter: time.Now().AddDate(50, 0, 0), // wherever a test moves the clock
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	cert, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "cert.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o644)
}

// Set replaces the values of an attribute.
func (s *LDAPServer) Set(t testing.TB, dn, attribute string, values ...string) {
	t.Helper()
	change := ldap.NewModifyRequest(dn, nil)
	change.Replace(attribute, values)
	if err := s.change(change); err != nil {
		t.Fatalf("set %s of %s: %v", attribute, dn, err)
	}
}

func (s *LDAPServer) change(change *ldap.ModifyRequest) error {
	pool := x509.NewCertPool()
	cert, err := os.ReadFile(s.CAFile)
	if err != nil {
		return err
	}
	pool.AppendCertsFromPEM(cert)
	conn, err := ldap.DialURL(s.URL)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.StartTLS(&tls.Config{ServerName: "127.0.0.1", RootCAs: pool}); err != nil {
		return err
	}
	if err := conn.Bind(ldapRoot, "root"); err != nil {
		return err
	}
	return conn.Modify(change)
}

// Stop ends the server.
func (s *LDAPServer) Stop() { s.stop(syscall.SIGTERM) }
