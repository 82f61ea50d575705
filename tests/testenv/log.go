package testenv

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// LogBuffer is a log that a test may read while it is written. The zero value is ready.
type LogBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *LogBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *LogBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Await waits until the log holds want.
func (l *LogBuffer) Await(t *testing.T, want string) {
	t.Helper()
	for deadline := time.Now().Add(startTimeout); !strings.Contains(l.String(), want); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %q in the log:\n%s", want, l)
		}
	}
}
