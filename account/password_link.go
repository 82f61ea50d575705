package account

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"time"
)

// LinkKind says what a [PasswordLink] is for.
type LinkKind string

const (
	InvitationLink LinkKind = "invitation" // a new user chooses a name and a password
	ResetLink      LinkKind = "reset"      // a user who forgot the password chooses another
)

// TTL is the lifetime of a link.
func (k LinkKind) TTL() time.Duration {
	if k == InvitationLink {
		return 7 * 24 * time.Hour
	}
	return time.Hour
}

// PasswordLink is a stored one-time link by which a user chooses a password without signing in. Its
// secret is no [Token]: it authenticates no request.
type PasswordLink struct {
	ID        int64
	UserID    int64
	Kind      LinkKind
	Hash      string
	ExpiresAt time.Time
	CreatedAt time.Time
}

// LinkMail is the mail that carries a link. It holds the seed of the secret instead of the secret:
// mails are stored until they are sent, and lists of them must not let anybody in.
type LinkMail struct {
	Link *PasswordLink
	Seed string
	To   *User
	By   string // name of the user who invites; "" for a reset
}

// LinkSecrets derives the secrets of links from random seeds. Both the link's mail and the key are
// needed to know a secret.
type LinkSecrets struct{ key []byte }

// NewLinkSecrets returns LinkSecrets with a key that all processes share.
func NewLinkSecrets(key []byte) LinkSecrets { return LinkSecrets{key} }

// Secret returns the secret of the link whose mail has this seed.
func (s LinkSecrets) Secret(seed string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte("password link\x00" + seed))
	return secretPrefix + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// newMail returns a new link for u and its mail.
func (s LinkSecrets) newMail(u *User, kind LinkKind, by string, now time.Time) *LinkMail {
	seed := rand.Text() + rand.Text() // 256 bits
	link := &PasswordLink{UserID: u.ID, Kind: kind, Hash: hashSecret(s.Secret(seed)), ExpiresAt: now.Add(kind.TTL()), CreatedAt: now}
	return &LinkMail{Link: link, Seed: seed, To: u, By: by}
}
