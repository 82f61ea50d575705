package linkpages

import (
	"encoding/base64"
	"encoding/binary"
	"strings"

	"punctual/account/signing"
	"punctual/meeting"
)

// Links creates and verifies the addresses at which readers of a mail decide or check in. Each
// contains what it is for and a signature, so nothing is stored for it. That it works only once
// follows from the state of its request. Safe for concurrent use.
type Links struct {
	base string
	keys *signing.Ring
}

// NewLinks returns links below the address of the installation. All its instances share the keys.
func NewLinks(baseURL string, keys *signing.Ring) *Links {
	return &Links{base: strings.TrimRight(baseURL, "/"), keys: keys}
}

// signatureSize is long enough to prevent guessing, and short enough for a mail.
const signatureSize = 20

// URL of the page on which the reader decides.
func (l *Links) URL(link meeting.Link) string { return l.base + decidePath + "?token=" + l.token(link) }

func (l *Links) token(link meeting.Link) string {
	return l.seal(forDecision, appendInts(link.MeetingID, link.Number, link.UserID))
}

func appendInts(ns ...int64) (b []byte) {
	for _, n := range ns {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

// readInts returns what follows the numbers.
func readInts(b []byte, into ...*int64) (rest []byte, ok bool) {
	for _, to := range into {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			return nil, false
		}
		*to, b = int64(n), b[size:]
	}
	return b, true
}

// The purpose of a link is part of its signature, so that no link works for another purpose.
const (
	forDecision   = "punctual decision\x00"
	forArrival    = "punctual check-in\x00"
	forInvitation = "punctual invitation as seen\x00"
	forOffer      = "punctual offer\x00"
	forMail       = "punctual mail\x00"

	forSubscription = "punctual subscription\x00"

	forInvitationBefore = "punctual invitation\x00" // of earlier releases, without the version that was seen
)

func (l *Links) seal(purpose string, content []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(content, l.keys.Sign(signed(purpose, content))[:signatureSize]...))
}

// open returns the content of a token made by seal. ok is false if the token is not ours, or for
// another purpose.
func (l *Links) open(purpose, token string) (content []byte, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) <= signatureSize {
		return nil, false
	}
	content, signature := b[:len(b)-signatureSize], b[len(b)-signatureSize:]
	return content, l.keys.Verify(signed(purpose, content), signature)
}

func signed(purpose string, content []byte) []byte { return append([]byte(purpose), content...) }

// read returns the content of a token. ok is false if it is not ours.
func (l *Links) read(token string) (link meeting.Link, ok bool) {
	content, ok := l.open(forDecision, token)
	if !ok {
		return link, false
	}
	content, ok = readInts(content, &link.MeetingID, &link.Number, &link.UserID)
	return link, ok && len(content) == 0
}
