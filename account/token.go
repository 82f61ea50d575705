package account

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"
)

// Cookies of a browser: its session, the device cookie, see [devices], and a sign-in with a provider
// that has begun.
const (
	sessionCookie = "punctual_session"
	deviceCookie  = "punctual_device"
	attemptCookie = "punctual_sign_in"
)

// hostPrefix of a cookie's name keeps other hosts, such as subdomains, from setting the cookie.
const hostPrefix = "__Host-"

// SessionCookie returns the name of the session cookie.
func SessionCookie(secure bool) string { return cookieName(sessionCookie, secure) }

// DeviceCookie returns the name of the device cookie, see [Client].
func DeviceCookie(secure bool) string { return cookieName(deviceCookie, secure) }

// AttemptCookie returns the name of the cookie for a sign-in with a provider that has begun.
func AttemptCookie(secure bool) string { return cookieName(attemptCookie, secure) }

func cookieName(name string, secure bool) string {
	if secure { // browsers accept the prefix over HTTPS only
		return hostPrefix + name
	}
	return name
}

// TokenKind says what a token is for.
type TokenKind string

const (
	Session TokenKind = "session" // a sign-in of a person
	API     TokenKind = "api"     // created by a user for a program
	Setup   TokenKind = "setup"   // creates the first admin; has no user
)

// Token is a stored secret.
type Token struct {
	ID         int64
	UserID     int64 // 0 for a Setup token
	Kind       TokenKind
	Name       string
	Hash       string
	Scopes     []Scope   // nil: all rights of the user
	ExpiresAt  time.Time // zero: never
	LastUsedAt time.Time // zero: never; rounded to the minute
	CreatedAt  time.Time
	Address    string // of the client that began a session
	Device     string // of that client, such as "Firefox on Windows"; "": unknown
	Issuer     string // the identity provider with which a session began; "": none
	// ProviderSession is the SHA-256 of the issuer and its session (sid) with which a session began; "": unknown.
	ProviderSession string
}

func (t *Token) expired(now time.Time) bool { return !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt) }

// NewToken is the input of [Service.CreateToken]. Nil Scopes grant all rights of the user. A zero
// ExpiresAt means the default lifetime.
type NewToken struct {
	Name      string
	Scopes    []Scope
	ExpiresAt time.Time
}

// secretPrefix lets scanners recognize a leaked secret.
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

// hashSecret returns the SHA-256 in hexadecimal. A slow, salted hash would add nothing: 256 random
// bits cannot be guessed.
func hashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
