package linkpages

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"punctual/meeting"
)

// Links makes and reads the addresses at which readers of a mail decide or check in. Each holds what it
// is for and a signature, so that nothing has to be kept for it; that it is good only once
// follows from the request that it names. Safe for concurrent use.
type Links struct {
	base string
	key  []byte
}

// NewLinks returns links below the address of the installation. The key is a secret that all
// its instances share.
func NewLinks(baseURL string, key []byte) *Links {
	return &Links{base: strings.TrimRight(baseURL, "/"), key: key}
}

// signatureSize is enough that nobody guesses one, and short enough for a mail.
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

// What a link is for is signed with it, so that none passes for another.
const (
	forDecision   = "punctual decision\x00"
	forArrival    = "punctual check-in\x00"
	forInvitation = "punctual invitation as seen\x00"
	forOffer      = "punctual offer\x00"

	forInvitationBefore = "punctual invitation\x00" // of mails that did not say yet what was seen
)

func (l *Links) seal(purpose string, content []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(content, l.sign(purpose, content)...))
}

// open returns what seal was given; ok is false if we did not make the token, or for something else.
func (l *Links) open(purpose, token string) (content []byte, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) <= signatureSize {
		return nil, false
	}
	content, signature := b[:len(b)-signatureSize], b[len(b)-signatureSize:]
	return content, hmac.Equal(signature, l.sign(purpose, content))
}

func (l *Links) sign(purpose string, b []byte) []byte {
	mac := hmac.New(sha256.New, l.key)
	mac.Write([]byte(purpose))
	mac.Write(b)
	return mac.Sum(nil)[:signatureSize]
}

// read returns what a token names; ok is false if we did not make it.
func (l *Links) read(token string) (link meeting.Link, ok bool) {
	content, ok := l.open(forDecision, token)
	if !ok {
		return link, false
	}
	content, ok = readInts(content, &link.MeetingID, &link.Number, &link.UserID)
	return link, ok && len(content) == 0
}
