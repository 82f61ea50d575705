package account

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
)

func TestHasher(t *testing.T) {
	t.Parallel()
	h := newHasher()
	hash, err := h.hash(t.Context(), "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("hash %s", hash)
	}
	tests := []struct {
		name, password, hash string
		want                 bool
	}{
		{"right", "correct horse", hash, true},
		{"wrong", "correct horsE", hash, false},
		{"empty", "", hash, false},
		{"nobody's", "correct horse", "", false},
		{"nobody's, the empty password", "", "", false},
		{"too long", strings.Repeat("x", 1<<20), hash, false},
	}
	for _, tt := range tests {
		got, err := h.matches(t.Context(), tt.password, tt.hash)
		if err != nil || got != tt.want {
			t.Errorf("%s: %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
	if _, err := h.matches(t.Context(), "x", "plain text"); err == nil {
		t.Error("what is no hash was compared without an error")
	}
}

// An unknown address costs what a wrong password does.
func TestNobodysHash(t *testing.T) {
	t.Parallel()
	got, _, key, err := argon2id.DecodeHash(nobodysHash)
	if err != nil {
		t.Fatal(err)
	}
	if *got != *passwordParams || len(key) != int(passwordParams.KeyLength) {
		t.Errorf("params %+v, want %+v", *got, *passwordParams)
	}
}

func TestHasher_bounded(t *testing.T) {
	t.Parallel()
	h := &hasher{slots: make(chan struct{}, 1)}
	h.slots <- struct{}{} // somebody is hashing
	errs := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	for range maxHashWaiters {
		go func() { errs <- h.do(ctx, func() error { return nil }) }()
	}
	for h.waiting.Load() < maxHashWaiters {
		time.Sleep(time.Millisecond)
	}
	if _, ok := errors.AsType[*RateLimitError](h.do(t.Context(), func() error { return nil })); !ok {
		t.Error("one more may wait")
	}
	cancel()
	for range maxHashWaiters {
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("who left while waiting got %v", err)
		}
	}
	<-h.slots
	if err := h.do(t.Context(), func() error { return nil }); err != nil {
		t.Errorf("with a free slot: %v", err)
	}
}
