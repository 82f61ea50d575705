package account

import (
	"crypto/rand"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"punctual/account/signing"
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
// needed to know a secret. A seed begins with the generation of its key and a dot; seeds of earlier
// releases have neither and belong to the first.
type LinkSecrets struct{ keys *signing.Ring }

// NewLinkSecrets returns LinkSecrets with keys that all processes share.
func NewLinkSecrets(keys *signing.Ring) LinkSecrets { return LinkSecrets{keys} }

// Secret returns the secret of the link whose mail has this seed. If the key of the seed has expired, it
// is a secret that opens nothing.
func (s LinkSecrets) Secret(seed string) string {
	text := []byte("password link\x00" + seed)
	generation := int64(1)
	if number, _, ok := strings.Cut(seed, "."); ok {
		generation, _ = strconv.ParseInt(number, 10, 64)
	}
	derived, ok := s.keys.SignAs(generation, text)
	if !ok {
		derived = s.keys.Sign(text)
	}
	return secretPrefix + base64.RawURLEncoding.EncodeToString(derived)
}

// newMail returns a new link for u and its mail.
func (s LinkSecrets) newMail(u *User, kind LinkKind, by string, now time.Time) *LinkMail {
	seed := strconv.FormatInt(s.keys.Generation(), 10) + "." + rand.Text() + rand.Text() // 256 bits
	link := &PasswordLink{UserID: u.ID, Kind: kind, Hash: hashSecret(s.Secret(seed)), ExpiresAt: now.Add(kind.TTL()), CreatedAt: now}
	return &LinkMail{Link: link, Seed: seed, To: u, By: by}
}
