package testenv

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

func pemCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// SMSGateway is an HTTP gateway that takes {"id", "to", "text"} and records it. Safe for
// concurrent use.
type SMSGateway struct {
	URL string

	mu     sync.Mutex
	script []int
	got    []SMSMessage
	tried  int
	closed chan struct{}
}

// SMSMessage is an accepted message.
type SMSMessage struct {
	ID     string `json:"id"`
	To     string `json:"to"`
	Text   string `json:"text"`
	Header http.Header
	At     time.Time // when it was accepted
}

// SMSHang as a scripted answer means none at all.
const SMSHang = -1

// SMS starts a gateway that accepts everything. It is gone when the test ends.
func SMS(t testing.TB) *SMSGateway {
	t.Helper()
	g := &SMSGateway{closed: make(chan struct{})}
	s := httptest.NewServer(http.HandlerFunc(g.serve))
	g.URL = s.URL + "/messages"
	t.Cleanup(func() {
		close(g.closed)
		s.Close()
	})
	return g
}

// Script sets the status codes of the next answers, or [SMSHang]; after them all is accepted.
func (g *SMSGateway) Script(codes ...int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.script = codes
}

// Messages are the accepted messages in order.
func (g *SMSGateway) Messages() []SMSMessage {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.got)
}

// Tried is the number of requests, accepted or not.
func (g *SMSGateway) Tried() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tried
}

func (g *SMSGateway) serve(w http.ResponseWriter, r *http.Request) {
	m := SMSMessage{Header: r.Header.Clone()}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch code := g.answer(m); {
	case code == SMSHang:
		select {
		case <-r.Context().Done():
		case <-g.closed:
		}
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		io.WriteString(w, `{"ok":true}`)
	}
}

func (g *SMSGateway) answer(m SMSMessage) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tried++
	code := http.StatusAccepted
	if len(g.script) > 0 {
		code, g.script = g.script[0], g.script[1:]
	}
	if code/100 == 2 {
		m.At = time.Now()
		g.got = append(g.got, m)
	}
	return code
}
