package signing_test

import (
	"bytes"
	"testing"
	"time"

	"punctual/account/signing"
)

// Links and cookies keep working after their key was replaced, until it expires.
func TestRing(t *testing.T) {
	t.Parallel()
	first := signing.Key{Generation: 1, Secret: bytes.Repeat([]byte{1}, 32)}
	second := signing.Key{Generation: 2, Secret: bytes.Repeat([]byte{2}, 32)}
	text := []byte("a link")
	ring := signing.NewRing(first)
	old := ring.Sign(text)

	first.ExpiresAt = time.Now().Add(time.Hour)
	ring.Set([]signing.Key{second, first})
	if bytes.Equal(ring.Sign(text), old) || ring.Generation() != 2 {
		t.Error("the old key still signs")
	}
	if !ring.Verify(text, old) || !ring.Verify(text, old[:20]) || !ring.Verify(text, ring.Sign(text)) {
		t.Error("a signature of a valid key is refused")
	}
	if again, ok := ring.SignAs(1, text); !ok || !bytes.Equal(again, old) {
		t.Error("the old key does not sign on request")
	}
	if ring.Verify([]byte("another"), old) || ring.Verify(text, append(old[:31:31], old[31]+1)) || ring.Verify(text, append(bytes.Clone(old), 0)) {
		t.Error("a false signature is accepted")
	}

	first.ExpiresAt = time.Now()
	ring.Set([]signing.Key{second, first})
	if _, ok := ring.SignAs(1, text); ok || ring.Verify(text, old) {
		t.Error("an expired key counts")
	}
	if _, ok := ring.SignAs(3, text); ok {
		t.Error("an unknown key signs")
	}
}
