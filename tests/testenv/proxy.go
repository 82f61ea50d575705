package testenv

import (
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"
)

// Fault is what a [Proxy] does to its connections; the zero value passes everything on.
type Fault struct {
	Latency time.Duration // each piece is held up for so long, each way
	Rate    int           // bytes per second, each way; 0: no limit
	Vanish  bool          // nothing arrives any more, either way, and nobody is told: the peer seems to be there
	Refuse  bool          // new connections are reset
}

// A Proxy passes TCP connections on to one server, and fails as a network does. Safe for
// concurrent use.
type Proxy struct {
	target string
	ln     net.Listener

	mu      sync.Mutex
	fault   Fault
	changed chan struct{} // closed and replaced when fault changes
	links   map[*link]struct{}
	ended   bool
	running sync.WaitGroup
}

// link is one connection, seen from both sides.
type link struct {
	client, server net.Conn
	done           chan struct{} // closed with it
	once           sync.Once
	answers        int // bytes of answers that may still pass before it is reset; negative: any number
}

// NewProxy listens in front of the server at addr (host:port). It is gone when the test ends.
func NewProxy(t testing.TB, addr string) *Proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("proxy: %v", err)
	}
	p := &Proxy{target: addr, ln: ln, changed: make(chan struct{}), links: map[*link]struct{}{}}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		p.mu.Lock()
		p.ended = true
		p.mu.Unlock()
		ln.Close()
		p.Reset()
		p.running.Wait()
	})
	return p
}

// Addr is host:port of the proxy.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Host is host:port of a URL.
func Host(t testing.TB, server string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// Before is the URL of a server with the proxy in its place.
func (p *Proxy) Before(t testing.TB, server string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = p.Addr()
	return u.String()
}

// Set makes f the fault of all connections, open and new ones.
func (p *Proxy) Set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
	close(p.changed)
	p.changed = make(chan struct{})
}

// Reset ends all open connections with a reset.
func (p *Proxy) Reset() {
	for _, l := range p.open() {
		l.end(true)
	}
}

// Cut lets n more bytes of answers through on each open connection and resets it instead of
// passing on the next: with 0, what is asked now arrives and its answer does not.
func (p *Proxy) Cut(n int) {
	for _, l := range p.open() {
		p.mu.Lock()
		l.answers = n
		p.mu.Unlock()
	}
}

// Open is the number of open connections.
func (p *Proxy) Open() int { return len(p.open()) }

func (p *Proxy) open() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*link, 0, len(p.links))
	for l := range p.links {
		all = append(all, l)
	}
	return all
}

func (p *Proxy) accept() {
	for {
		c, err := p.ln.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		ended, refuse := p.ended, p.fault.Refuse
		p.mu.Unlock()
		l := &link{client: c, done: make(chan struct{}), answers: -1}
		if ended || refuse {
			l.end(true)
			continue
		}
		p.running.Go(func() { p.join(l) })
	}
}

// join passes on both ways until one side ends.
func (p *Proxy) join(l *link) {
	server, err := net.DialTimeout("tcp", p.target, time.Minute)
	if err != nil {
		l.end(true)
		return
	}
	p.mu.Lock()
	l.server = server
	p.links[l] = struct{}{}
	refused := p.ended || p.fault.Refuse // a Reset since it was accepted missed it
	p.mu.Unlock()
	if refused {
		l.end(true)
	}
	var both sync.WaitGroup
	both.Go(func() { p.pass(l, l.server, l.client, false) })
	p.pass(l, l.client, l.server, true)
	both.Wait()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

func (p *Proxy) pass(l *link, to, from net.Conn, answers bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if !p.held(l, n) {
			return
		}
		piece, cut := buf[:n], false
		if answers {
			piece, cut = p.allowed(l, piece)
		}
		if _, werr := to.Write(piece); werr != nil || err != nil || cut {
			l.end(cut)
			return
		}
	}
}

// held waits as the fault of the moment wants it, and tells whether the connection still lives.
func (p *Proxy) held(l *link, n int) bool {
	wait := time.Duration(-1)
	for {
		p.mu.Lock()
		f, changed := p.fault, p.changed
		p.mu.Unlock()
		var timer <-chan time.Time
		if !f.Vanish {
			if wait < 0 {
				if wait = f.Latency; f.Rate > 0 {
					wait += time.Duration(n) * time.Second / time.Duration(f.Rate)
				}
			}
			if wait == 0 {
				return true
			}
			timer = time.After(wait)
		}
		select {
		case <-timer:
			return true
		case <-changed:
		case <-l.done:
			return false
		}
	}
}

// allowed is the part of an answer that passes before the connection is cut.
func (p *Proxy) allowed(l *link, piece []byte) (part []byte, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.answers < 0 {
		return piece, false
	}
	part = slices.Clone(piece[:min(len(piece), l.answers)])
	l.answers -= len(part)
	return part, len(part) < len(piece)
}

// end closes both sides, with a reset or in order.
func (l *link) end(reset bool) {
	l.once.Do(func() {
		close(l.done)
		for _, c := range []net.Conn{l.client, l.server} {
			if c == nil {
				continue
			}
			if tcp, ok := c.(*net.TCPConn); ok && reset {
				_ = tcp.SetLinger(0)
			}
			c.Close()
		}
	})
}
