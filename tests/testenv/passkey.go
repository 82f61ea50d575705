package testenv

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	bin "encoding/binary"
	"encoding/json"
	"testing"
)

// Authenticator is a device with passkeys, together with the browser that uses it, as the standard
// describes both (Web Authentication, level 3). Its fields may be changed to make it misbehave.
type Authenticator struct {
	Origin     string // of the page that the browser shows
	Domain     string // "": the one that the server asks for
	Unverified bool   // it does not check who uses it
	Counter    uint32 // of the next use; it rises with each
	Type       string // of what the browser does; "": the right one
	Handle     []byte // of the user; nil: the one that the passkey was made with
	Signature  []byte // nil: the right one

	keys []passkey
}

type passkey struct {
	id, handle []byte
	key        *ecdsa.PrivateKey
}

var base64url = base64.RawURLEncoding

type passkeyOptions struct {
	Challenge string `json:"challenge"`
	RPID      string `json:"rpId"`
	RP        struct {
		ID string `json:"id"`
	} `json:"rp"`
	User struct {
		ID string `json:"id"`
	} `json:"user"`
	Allow []struct {
		ID string `json:"id"`
	} `json:"allowCredentials"`
}

// Create makes a passkey for the options of a server, and returns the answer of the browser.
func (a *Authenticator) Create(t testing.TB, options []byte) []byte {
	t.Helper()
	o := readOptions(t, options)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	k := passkey{id: make([]byte, 16), key: key}
	rand.Read(k.id)
	if k.handle, err = base64url.DecodeString(o.User.ID); err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	// A COSE key (RFC 9052): EC2, ES256, P-256, and its coordinates.
	cose := append([]byte{0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20}, point[1:33]...)
	cose = append(append(cose, 0x22, 0x58, 0x20), point[33:65]...)
	data := a.data(o.RP.ID, 0x40)
	data = append(data, make([]byte, 16)...) // the model: unknown
	data = bin.BigEndian.AppendUint16(data, uint16(len(k.id)))
	data = append(append(data, k.id...), cose...)
	// CBOR: {"fmt": "none", "attStmt": {}, "authData": data}
	object := append([]byte("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59"), byte(len(data)>>8), byte(len(data)))
	object = append(object, data...)
	a.keys = append(a.keys, k)
	return answerOf(t, k.id, map[string]any{
		"clientDataJSON": base64url.EncodeToString(a.client(t, "webauthn.create", o.Challenge)), "attestationObject": base64url.EncodeToString(object),
		"transports": []string{"internal"},
	})
}

// Use signs in with the first passkey that the options of a server allow.
func (a *Authenticator) Use(t testing.TB, options []byte) []byte {
	t.Helper()
	o := readOptions(t, options)
	k := a.find(t, o)
	client, data := a.client(t, "webauthn.get", o.Challenge), a.data(o.RPID, 0)
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(append([]byte{}, data...), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, k.key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	if a.Signature != nil {
		signature = a.Signature
	}
	handle := k.handle
	if a.Handle != nil {
		handle = a.Handle
	}
	return answerOf(t, k.id, map[string]any{
		"clientDataJSON": base64url.EncodeToString(client), "authenticatorData": base64url.EncodeToString(data),
		"signature": base64url.EncodeToString(signature), "userHandle": base64url.EncodeToString(handle),
	})
}

// Copy returns another device with the same passkeys.
func (a *Authenticator) Copy() *Authenticator { return new(*a) }

func (a *Authenticator) find(t testing.TB, o passkeyOptions) passkey {
	t.Helper()
	for _, k := range a.keys {
		allowed := len(o.Allow) == 0
		for _, c := range o.Allow {
			allowed = allowed || c.ID == base64url.EncodeToString(k.id)
		}
		if allowed {
			return k
		}
	}
	t.Fatal("the device has no passkey for this")
	return passkey{}
}

// data is the beginning of authenticator data.
func (a *Authenticator) data(domain string, flags byte) []byte {
	if a.Domain != "" {
		domain = a.Domain
	}
	flags |= 0x01 // somebody is there
	if !a.Unverified {
		flags |= 0x04
	}
	hash := sha256.Sum256([]byte(domain))
	data := bin.BigEndian.AppendUint32(append(hash[:], flags), a.Counter)
	if a.Counter > 0 {
		a.Counter++
	}
	return data
}

func (a *Authenticator) client(t testing.TB, kind, challenge string) []byte {
	t.Helper()
	if a.Type != "" {
		kind = a.Type
	}
	b, err := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": a.Origin, "crossOrigin": false})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func readOptions(t testing.TB, options []byte) (o passkeyOptions) {
	t.Helper()
	if err := json.Unmarshal(options, &o); err != nil || o.Challenge == "" {
		t.Fatalf("options %s: %v", options, err)
	}
	return o
}

func answerOf(t testing.TB, id []byte, response map[string]any) []byte {
	t.Helper()
	text := base64url.EncodeToString(id)
	b, err := json.Marshal(map[string]any{"id": text, "rawId": text, "type": "public-key", "clientExtensionResults": map[string]any{}, "response": response})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
