package testenv

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// echo answers with what it is asked.
func echo(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); c.Close() }()
		}
	}()
	return ln.Addr().String()
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// ask sends text and returns what comes back within limit, and how long it took.
func ask(t *testing.T, c net.Conn, text string, limit time.Duration) (string, time.Duration, error) {
	t.Helper()
	begin := time.Now()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(begin.Add(limit))
	buf := make([]byte, len(text))
	n, err := io.ReadFull(c, buf)
	return string(buf[:n]), time.Since(begin), err
}

func TestProxy(t *testing.T) {
	t.Parallel()
	p := NewProxy(t, echo(t))
	c := dial(t, p)
	if got, _, err := ask(t, c, "hello", startTimeout); got != "hello" {
		t.Fatalf("%q, %v", got, err)
	}

	p.Set(Fault{Latency: 50 * time.Millisecond})
	if got, took, err := ask(t, c, "slow", startTimeout); got != "slow" || took < 100*time.Millisecond {
		t.Errorf("%q after %v, %v; want it after two times the latency", got, took, err)
	}
	p.Set(Fault{Rate: 1000})
	text := string(bytes.Repeat([]byte("x"), 100))
	if got, took, err := ask(t, c, text, startTimeout); got != text || took < 200*time.Millisecond {
		t.Errorf("%d bytes after %v, %v; want 200 ms for 100 bytes each way", len(got), took, err)
	}

	p.Set(Fault{Vanish: true})
	if got, _, err := ask(t, c, "lost", 100*time.Millisecond); got != "" || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%q, %v; want silence", got, err)
	}
	p.Set(Fault{})
	buf := make([]byte, 4)
	_ = c.SetReadDeadline(time.Now().Add(startTimeout))
	if _, err := io.ReadFull(c, buf); err != nil || string(buf) != "lost" {
		t.Errorf("%q, %v; want what was held back", buf, err)
	}

	p.Cut(2)
	if got, _, err := ask(t, c, "cut", startTimeout); got != "cu" || !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q, %v; want two bytes and a reset", got, err)
	}
	c = dial(t, p)
	if got, _, err := ask(t, c, "again", startTimeout); got != "again" {
		t.Errorf("%q, %v", got, err)
	}
	for deadline := time.Now().Add(startTimeout); p.Open() != 1; time.Sleep(time.Millisecond) { // the one that was cut may be just ending
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are open, want 1", p.Open())
		}
	}
	p.Reset()
	if _, err := c.Read(buf); err == nil {
		t.Error("a connection survived the reset")
	}
	p.Set(Fault{Refuse: true})
	if c, err := net.Dial("tcp", p.Addr()); err == nil { // it may be reset while it dials
		defer c.Close()
		_ = c.SetReadDeadline(time.Now().Add(startTimeout))
		if _, err := c.Read(buf); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%v; want a new connection to be reset", err)
		}
	}
}
