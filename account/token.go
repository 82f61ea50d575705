package account

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"
)

// Cookies of a browser: its session, and what makes it a known device, see [devices].
const (
	sessionCookie = "punctual_session"
	deviceCookie  = "punctual_device"
)

// hostPrefix of a cookie's name keeps other hosts, such as sub-domains, from setting the cookie.
const hostPrefix = "__Host-"

// SessionCookie is the name of the cookie that carries a browser's session.
func SessionCookie(secure bool) string { return cookieName(sessionCookie, secure) }

// DeviceCookie is the name of the cookie by which a device is known, see [Client].
func DeviceCookie(secure bool) string { return cookieName(deviceCookie, secure) }

func cookieName(name string, secure bool) string {
	if secure { // browsers take the prefix over HTTPS alone
		return hostPrefix + name
	}
	return name
}

// TokenKind tells what a token is good for.
type TokenKind string

const (
	Session TokenKind = "session" // a sign-in by password
	API     TokenKind = "api"     // made by a user for a program
	Setup   TokenKind = "setup"   // makes the first admin, nothing else; belongs to nobody
)

// Token is what is stored of a secret.
type Token struct {
	ID         int64
	UserID     int64 // 0: a Setup token
	Kind       TokenKind
	Name       string
	Hash       string    // see [hashSecret]
	Scopes     []Scope   // nil: all rights of the user
	ExpiresAt  time.Time // zero: never
	LastUsedAt time.Time // zero: never; to the minute
	CreatedAt  time.Time
}

func (t *Token) expired(now time.Time) bool { return !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt) }

// NewToken is what CreateToken needs. Nil Scopes give all rights of the user; a zero
// ExpiresAt never expires.
type NewToken struct {
	Name      string
	Scopes    []Scope
	ExpiresAt time.Time
}

// secretPrefix makes a leaked secret recognisable to scanners.
const secretPrefix = "pq_"

// secretLength is the prefix and 256 bits in base64.
var secretLength = len(secretPrefix) + base64.RawURLEncoding.EncodedLen(32)

func newSecret() string {
	var b [32]byte
	rand.Read(b[:]) // never fails
	return secretPrefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// IsSecret reports whether s has the form of a secret.
func IsSecret(s string) bool { return len(s) == secretLength && strings.HasPrefix(s, secretPrefix) }

// hashSecret is the SHA-256 in hexadecimal. A slow hash with salt would add nothing: 256
// random bits cannot be guessed, however fast one tries.
func hashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
