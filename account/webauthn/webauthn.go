// Package webauthn registers and verifies passkeys (Web Authentication, level 3). Every passkey is
// discoverable and verifies its user, so that it can replace both password and code.
package webauthn

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/google/uuid"

	"punctual/account"
)

// Ceremonies implements [account.Ceremonies] for one site.
type Ceremonies struct{ party *webauthn.WebAuthn }

var _ account.Ceremonies = (*Ceremonies)(nil)

// New returns the ceremonies of the site at an origin, such as https://rooms.example.org. Passkeys are
// bound to domain: the host of the origin, or a domain above it.
func New(origin *url.URL, domain string) (*Ceremonies, error) {
	party, err := webauthn.New(&webauthn.Config{
		RPID: domain, RPDisplayName: "Punctual", RPOrigins: []string{origin.Scheme + "://" + origin.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(),
			UserVerification: protocol.VerificationRequired,
		},
		// Password managers send outputs of extensions that were not requested.
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore,
	})
	if err != nil {
		return nil, fmt.Errorf("passkeys of %s: %w", domain, err)
	}
	return &Ceremonies{party}, nil
}

// Domain implements [account.Ceremonies].
func (c *Ceremonies) Domain() string { return c.party.Config.RPID }

// Register implements [account.Ceremonies].
func (c *Ceremonies) Register(u *account.User, handle []byte, known []*account.Passkey) (json.RawMessage, account.Ceremony, error) {
	p := person{handle: handle, email: u.Email, name: u.Name, passkeys: known}
	var exclude []protocol.CredentialDescriptor
	for _, k := range p.WebAuthnCredentials() {
		exclude = append(exclude, k.Descriptor())
	}
	options, session, err := c.party.BeginRegistration(p, webauthn.WithExclusions(exclude))
	if err != nil {
		return nil, account.Ceremony{}, fmt.Errorf("begin a registration: %w", err)
	}
	return ceremony(options.Response, session)
}

// Registered implements [account.Ceremonies].
func (c *Ceremonies) Registered(begun account.Ceremony, handle, answer []byte) (*account.Passkey, error) {
	session, err := sessionOf(begun)
	if err != nil {
		return nil, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return nil, detailed(err)
	}
	k, err := c.party.CreateCredential(person{handle: handle}, session, parsed)
	if err != nil {
		return nil, detailed(err)
	}
	p := &account.Passkey{Credential: k.ID, PublicKey: k.PublicKey, SignCount: k.Authenticator.SignCount, Flags: byte(k.Flags.ProtocolValue())}
	for _, t := range k.Transport {
		p.Transports = append(p.Transports, string(t))
	}
	if model, err := uuid.FromBytes(k.Authenticator.AAGUID); err == nil && model != uuid.Nil {
		p.Model = model.String()
	}
	return p, nil
}

// SignIn implements [account.Ceremonies].
func (c *Ceremonies) SignIn(allowed []*account.Passkey, handle []byte) (json.RawMessage, account.Ceremony, error) {
	var options *protocol.CredentialAssertion
	var session *webauthn.SessionData
	var err error
	if len(allowed) == 0 {
		options, session, err = c.party.BeginDiscoverableLogin()
	} else {
		options, session, err = c.party.BeginLogin(person{handle: handle, passkeys: allowed})
	}
	if err != nil {
		return nil, account.Ceremony{}, fmt.Errorf("begin a sign-in: %w", err)
	}
	return ceremony(options.Response, session)
}

// SignedIn implements [account.Ceremonies].
func (c *Ceremonies) SignedIn(begun account.Ceremony, handle, answer []byte, p *account.Passkey) error {
	session, err := sessionOf(begun)
	if err != nil {
		return err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return detailed(err)
	}
	owner := person{handle: handle, passkeys: []*account.Passkey{p}}
	var k *webauthn.Credential
	if len(session.UserID) == 0 {
		_, k, err = c.party.ValidatePasskeyLogin(func([]byte, []byte) (webauthn.User, error) { return owner, nil }, session, parsed)
	} else {
		session.AllowedCredentialIDs = [][]byte{p.Credential} // the store has found it among those of the user
		k, err = c.party.ValidateLogin(owner, session, parsed)
	}
	if err != nil {
		return detailed(err)
	}
	if k.Authenticator.CloneWarning {
		return account.ErrPasskeyCopied
	}
	p.SignCount, p.Flags = k.Authenticator.SignCount, byte(k.Flags.ProtocolValue())
	return nil
}

// Read implements [account.Ceremonies].
func (c *Ceremonies) Read(answer []byte) (account.Response, error) {
	var a struct {
		RawID    protocol.URLEncodedBase64 `json:"rawId"`
		Response struct {
			ClientData protocol.URLEncodedBase64 `json:"clientDataJSON"`
			Handle     protocol.URLEncodedBase64 `json:"userHandle"`
		} `json:"response"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return account.Response{}, fmt.Errorf("read an answer: %w", err)
	}
	var client struct {
		Challenge string `json:"challenge"`
	}
	if err := json.Unmarshal(a.Response.ClientData, &client); err != nil {
		return account.Response{}, fmt.Errorf("read an answer: %w", err)
	}
	return account.Response{Challenge: client.Challenge, Credential: a.RawID, Handle: a.Response.Handle}, nil
}

func ceremony(options any, session *webauthn.SessionData) (json.RawMessage, account.Ceremony, error) {
	text, err := json.Marshal(options)
	if err != nil {
		return nil, account.Ceremony{}, err
	}
	content, err := json.Marshal(session)
	return text, account.Ceremony{Challenge: session.Challenge, Content: content}, err
}

func sessionOf(begun account.Ceremony) (s webauthn.SessionData, err error) {
	if err = json.Unmarshal(begun.Content, &s); err != nil {
		return s, fmt.Errorf("read a challenge: %w", err)
	}
	return s, nil
}

// detailed adds the details of the library's error, which its message leaves out.
func detailed(err error) error {
	if e, ok := errors.AsType[*protocol.Error](err); ok && e.DevInfo != "" {
		return fmt.Errorf("%s: %s", e.Details, e.DevInfo)
	}
	return err
}

// person implements the library's interface for users.
type person struct {
	handle      []byte
	email, name string
	passkeys    []*account.Passkey
}

func (p person) WebAuthnID() []byte          { return p.handle }
func (p person) WebAuthnName() string        { return p.email }
func (p person) WebAuthnDisplayName() string { return p.name }

func (p person) WebAuthnCredentials() []webauthn.Credential {
	list := make([]webauthn.Credential, len(p.passkeys))
	for i, k := range p.passkeys {
		list[i] = webauthn.Credential{
			ID: k.Credential, PublicKey: k.PublicKey, Flags: webauthn.NewCredentialFlags(protocol.AuthenticatorFlags(k.Flags)),
			Authenticator: webauthn.Authenticator{SignCount: k.SignCount},
		}
		for _, t := range k.Transports {
			list[i].Transport = append(list[i].Transport, protocol.AuthenticatorTransport(t))
		}
	}
	return list
}
