// Package signing holds the keys by which an installation recognizes what it signed: links in mails, and
// the cookies of known devices.
package signing

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"sync/atomic"
	"time"
)

// Key is one generation of a secret.
type Key struct {
	Generation int64
	Secret     []byte    // 32 random bytes
	ExpiresAt  time.Time // what it signed is refused from then on; zero: never
}

// NewKey returns a random key that does not expire.
func NewKey(generation int64) Key {
	k := Key{Generation: generation, Secret: make([]byte, 32)}
	rand.Read(k.Secret) // never fails
	return k
}

// Ring is the generations of one secret. Signatures are HMAC-SHA256 (RFC 2104) and may be truncated. Safe
// for concurrent use.
type Ring struct{ keys atomic.Pointer[[]Key] }

// NewRing returns a ring with the keys, the newest first. There must be at least one.
func NewRing(newestFirst ...Key) *Ring {
	r := &Ring{}
	r.Set(newestFirst)
	return r
}

// Set replaces the keys; see [NewRing].
func (r *Ring) Set(newestFirst []Key) {
	keys := slices.Clone(newestFirst)
	r.keys.Store(&keys)
}

// Sign signs text with the newest key.
func (r *Ring) Sign(text []byte) []byte { return sign((*r.keys.Load())[0], text) }

// Verify reports whether signature, or what a truncation left of it, is that of text by a key that has
// not expired. The caller makes sure that it is long enough.
func (r *Ring) Verify(text, signature []byte) bool {
	now := time.Now()
	for _, k := range *r.keys.Load() {
		if k.validAt(now) && len(signature) <= sha256.Size && hmac.Equal(signature, sign(k, text)[:len(signature)]) {
			return true
		}
	}
	return false
}

// Generation returns the number of the newest key, for [Ring.SignAs].
func (r *Ring) Generation() int64 { return (*r.keys.Load())[0].Generation }

// SignAs signs text with the key of a generation. ok is false if that key is unknown or has expired.
func (r *Ring) SignAs(generation int64, text []byte) (signature []byte, ok bool) {
	now := time.Now()
	for _, k := range *r.keys.Load() {
		if k.Generation == generation && k.validAt(now) {
			return sign(k, text), true
		}
	}
	return nil, false
}

func (k *Key) validAt(now time.Time) bool { return k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt) }

func sign(k Key, text []byte) []byte {
	mac := hmac.New(sha256.New, k.Secret)
	mac.Write(text)
	return mac.Sum(nil)
}
