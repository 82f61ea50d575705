package app

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"punctual/migrations"
	"punctual/tests/testenv/testdb"
)

// proxy stands between the program and a server, and can go away.
type proxy struct {
	addr, target string

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	p := &proxy{addr: "127.0.0.1:0", target: target}
	p.up(t)
	t.Cleanup(p.down)
	return p
}

func (p *proxy) up(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	p.addr, p.listener = l.Addr().String(), l
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.join(c)
		}
	}()
}

func (p *proxy) join(c net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = c.Close()
		return
	}
	p.mu.Lock()
	p.conns = append(p.conns, c, server)
	p.mu.Unlock()
	go func() { _, _ = io.Copy(server, c); _ = server.Close() }()
	_, _ = io.Copy(c, server)
	_ = c.Close()
}

func (p *proxy) down() {
	_ = p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// While the database is away clients are told to try again, with nothing of the inside, and
// when it is back everything goes on by itself.
func TestOutageOfTheDatabase(t *testing.T) {
	u, err := url.Parse(testdb.URL(t, migrations.Postgres))
	if err != nil {
		t.Fatal(err)
	}
	p := newProxy(t, u.Host)
	u.Host = p.addr
	a, s := startApplication(t, func(c *Config) { c.Database.URL = u.String() })
	token := signIn(t, a, s)
	ask := func(method, path, body string) answer {
		t.Helper()
		return send(t, s, method, path, body, "Authorization", "Bearer "+token, "Idempotency-Key", "k")
	}
	p.down()
	for _, r := range [][3]string{
		{"GET", "/api/v1/me", ""},
		{"GET", "/api/v1/rooms", ""},
		{"POST", "/api/v1/rooms", `{"name":"Turing"}`},
		{"POST", "/api/v1/auth/login", `{"email":"root@example.org","password":"a long password"}`},
		{"GET", "/readyz", ""},
	} {
		if res := ask(r[0], r[1], r[2]); res.status != 503 || res.Code != "unavailable" {
			t.Errorf("%s %s: %d %s", r[0], r[1], res.status, res.body)
		}
	}
	if res := ask("GET", "/healthz", ""); res.status != 200 {
		t.Errorf("healthz: %d", res.status)
	}
	p.up(t)
	for deadline := time.Now().Add(10 * time.Second); ; {
		res := ask("POST", "/api/v1/rooms", `{"name":"Turing"}`)
		if res.status == 201 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still %d %s", res.status, res.body)
		}
	}
}
