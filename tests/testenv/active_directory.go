//go:build activedirectory

package testenv

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/rand/v2"
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

// Active Directory of [ActiveDirectory]: its top, and the password of CN=Administrator,CN=Users,ADBase.
const (
	ADBase     = "DC=example,DC=org"
	ADPassword = "of the 1st Administrator"
)

// ADServer is a domain controller of Samba, with its LDAP service alone.
type ADServer struct {
	*process
	Address string // on which ports 389 (StartTLS) and 636 (LDAPS) listen
	CAFile  string // of its certificate
}

const sambaConf = `[global]
workgroup = EXAMPLE
realm = EXAMPLE.ORG
netbios name = DC
server role = active directory domain controller
server services = ldap
interfaces = ADDRESS/8
bind interfaces only = yes
private dir = DIR/private
state directory = DIR/state
cache directory = DIR/cache
lock directory = DIR
pid directory = DIR
ncalrpc dir = DIR/ncalrpc
log file = DIR/log.samba
tls enabled = yes
tls keyfile = DIR/key.pem
tls certfile = DIR/cert.pem
tls cafile = DIR/cert.pem
`

// ActiveDirectory starts a new domain. It is gone when the test ends. It needs root.
func ActiveDirectory(t testing.TB) *ADServer {
	t.Helper()
	dir, err := serverDir(baseDir, "samba")
	if err != nil {
		t.Fatal(err)
	}
	// Programs that speak LDAP with a domain expect its ports, so the address is what is free.
	s := &ADServer{Address: fmt.Sprintf("127.%d.%d.%d", 64+rand.IntN(64), 1+rand.IntN(250), 1+rand.IntN(250)), CAFile: filepath.Join(dir, "cert.pem")}
	provision := exec.Command("samba-tool", "domain", "provision", "--targetdir="+dir, "--realm=EXAMPLE.ORG", "--domain=EXAMPLE", "--server-role=dc",
		"--dns-backend=NONE", "--adminpass="+ADPassword, "--host-name=dc", "--host-ip="+s.Address, "--option=interfaces=lo", "--option=bind interfaces only=yes")
	if out, err := provision.CombinedOutput(); err != nil {
		t.Fatalf("make the domain: %v\n%s", err, out)
	}
	conf := filepath.Join(dir, "test.conf")
	text := strings.NewReplacer("DIR", dir, "ADDRESS", s.Address).Replace(sambaConf)
	for _, write := range []func() error{
		func() error { return os.MkdirAll(filepath.Join(dir, "cache"), 0o700) },
		func() error { return os.WriteFile(conf, []byte(text), 0o600) },
		func() error { return writeCertificate(dir, net.ParseIP(s.Address)) },
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	if s.process, err = startProcess(dir, "TERM", exec.Command("/usr/sbin/samba", "-i", "-M", "single", "--debug-stdout", "-s", conf)); err != nil {
		t.Fatalf("samba: %v", err)
	}
	t.Cleanup(func() {
		s.stop(syscall.SIGTERM)
		removeAll(t, dir)
	})
	err = s.ready(func() error {
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(s.Address, "636"), time.Second)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
	if err != nil {
		t.Fatalf("samba: %v", err)
	}
	return s
}

// Change runs changes as the administrator of the domain.
func (s *ADServer) Change(t testing.TB, change func(*ldap.Conn) error) {
	t.Helper()
	roots := x509.NewCertPool()
	pem, err := os.ReadFile(s.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	roots.AppendCertsFromPEM(pem)
	conn, err := ldap.DialURL("ldaps://"+s.Address, ldap.DialWithTLSConfig(&tls.Config{ServerName: s.Address, RootCAs: roots}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err = conn.Bind("CN=Administrator,CN=Users,"+ADBase, ADPassword); err == nil {
		err = change(conn)
	}
	if err != nil {
		t.Fatalf("change the domain: %v", err)
	}
}
