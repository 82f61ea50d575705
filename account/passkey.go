package account

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"punctual/account/fault"
)

// Passkey is a key on a user's device (WebAuthn). It replaces the password, because the device verifies
// its user.
type Passkey struct {
	ID         int64
	UserID     int64
	Domain     string // that browsers bind it to, see [Ceremonies]
	Credential []byte // its ID, unique within Domain
	PublicKey  []byte // COSE
	SignCount  uint32 // of the last sign-in; 0: the device does not count
	Flags      byte   // of the authenticator data
	Transports []string
	Model      string // of the device, as a UUID; "": unknown
	Name       string
	LastUsedAt time.Time // zero: never
	CreatedAt  time.Time
}

// Ceremony is a challenge that a browser must answer, once.
type Ceremony struct {
	Challenge string
	Content   []byte // what its answer is checked with, JSON
}

// Response is the unverified part of a browser's answer that identifies challenge and passkey.
type Response struct {
	Challenge  string
	Credential []byte
	Handle     []byte // of the user; nil: the browser did not say
}

// Ceremonies create challenges for passkeys of a domain and verify the answers. Safe for concurrent use.
type Ceremonies interface {
	Domain() string
	// Register returns the options for a new passkey of a user whom devices know by a handle. Devices
	// that hold one of known are left out.
	Register(u *User, handle []byte, known []*Passkey) (options json.RawMessage, c Ceremony, err error)
	// Registered verifies the answer to Register. It returns an error for any invalid answer.
	Registered(c Ceremony, handle, answer []byte) (*Passkey, error)
	// SignIn returns the options for a sign-in with one of allowed, or with any passkey if it is empty.
	SignIn(allowed []*Passkey, handle []byte) (options json.RawMessage, c Ceremony, err error)
	// SignedIn verifies the answer to SignIn with the passkey that it names, and updates the passkey. It
	// returns [ErrPasskeyCopied] if another device seems to use the same key.
	SignedIn(c Ceremony, handle, answer []byte, p *Passkey) error
	// Read parses an answer without verifying it.
	Read(answer []byte) (Response, error)
}

// Purpose is what a stored challenge is for.
type Purpose string

const (
	ToRegister Purpose = "register"
	ToSignIn   Purpose = "sign-in"
	ToConfirm  Purpose = "confirm" // a sign-in with a password
)

// StoredCeremony is a [Ceremony] until it is answered.
type StoredCeremony struct {
	Ceremony
	UserID    int64 // 0: whoever signs in
	Purpose   Purpose
	ExpiresAt time.Time
}

// PasskeyStore is the part of [Store] for passkeys.
type PasskeyStore interface {
	// Passkeys returns the passkeys of a user, the oldest first.
	Passkeys(ctx context.Context, userID int64) ([]*Passkey, error)
	// PasskeyHandle returns the handle of a user, which is fresh if there was none.
	PasskeyHandle(ctx context.Context, userID int64, fresh []byte) ([]byte, error)
	// AddPasskey locks the user, calls check with the passkeys, and stores p unless check fails. After
	// that, the caller's session has all rights. It returns [ErrPasskeyTaken] if the passkey is already
	// stored.
	AddPasskey(ctx context.Context, p *Passkey, check func(have []*Passkey) error) error
	RenamePasskey(ctx context.Context, userID, id int64, name string) (*Passkey, error)
	// RemovePasskey locks the user, calls check with the passkeys that would be left, and removes one
	// unless check fails.
	RemovePasskey(ctx context.Context, userID, id int64, r Revocation, check func(left []*Passkey) error) error
	// UsePasskey locks a passkey, calls fn with its user and handle, and saves its counter, flags and
	// last use.
	UsePasskey(ctx context.Context, domain string, credential []byte, fn func(u *User, handle []byte, p *Passkey) error) (*User, error)
	// StoreCeremony stores c by the hash of its challenge, and deletes those that expired before now.
	StoreCeremony(ctx context.Context, c *StoredCeremony, hash string, now time.Time) error
	// TakeCeremony deletes a challenge and returns it, so that it is answered once.
	TakeCeremony(ctx context.Context, hash string) (*StoredCeremony, error)
}

// Reasons why a passkey does not sign in. Each is an [ErrUnauthorized].
var (
	// ErrPasskeyUnknown is for a passkey that was removed here but not on the device.
	ErrPasskeyUnknown = fmt.Errorf("unknown passkey: %w", ErrUnauthorized)
	ErrPasskeyRefused = fmt.Errorf("passkey refused: %w", ErrUnauthorized)
	ErrPasskeyCopied  = fmt.Errorf("the counter of the passkey went backwards, so another device may hold a copy: %w", ErrPasskeyRefused)
)

var (
	// ErrPasskeyTaken is what a [Store] returns for a passkey that it has already.
	ErrPasskeyTaken = fault.Invalid("body.credential", "taken", "must be a new passkey; this one is set up already")

	errPasskeysOff = fault.Invalid("body", "passkeys_off", "cannot be used: passkeys are switched off, or the address of this site does not allow them")
	errNotVerified = fault.Invalid("body.credential", "invalid", "is not the answer of a device to this challenge")
)

// MaxPasskeys limits the passkeys of a user.
const MaxPasskeys = 20

const (
	ceremonyTTL = 10 * time.Minute
	// recently is how long after a sign-in nothing more is needed to add a passkey.
	recently = 10 * time.Minute
)

// CeremonyRate is how many challenges one network may get. A page that offers passkeys gets one.
var CeremonyRate = Rate{Count: 1000, Per: time.Minute}

// PasskeyDomain returns the domain of passkeys, or "" if there are none here.
func (s *Service) PasskeyDomain() string {
	if s.ceremonies == nil {
		return ""
	}
	return s.ceremonies.Domain()
}

// Passkeys returns the passkeys of a user, oldest first, including those of other domains.
func (s *Service) Passkeys(ctx context.Context, userID int64) ([]*Passkey, error) {
	if _, err := s.store.User(ctx, userID); err != nil {
		return nil, wrap("list passkeys", err)
	}
	list, err := s.store.Passkeys(ctx, userID)
	return list, wrap("list passkeys", err)
}

// usablePasskeys returns those of the current domain.
func (s *Service) usablePasskeys(ctx context.Context, userID int64) ([]*Passkey, error) {
	if s.ceremonies == nil {
		return nil, nil
	}
	list, err := s.store.Passkeys(ctx, userID)
	return s.usable(list), err
}

func (s *Service) usable(list []*Passkey) []*Passkey {
	domain := s.PasskeyDomain()
	return slices.DeleteFunc(slices.Clone(list), func(p *Passkey) bool { return domain == "" || p.Domain != domain })
}

// BeginPasskey returns the options with which the caller's browser creates a passkey, see
// [Service.AddPasskey]. It requires the password unless the caller signed in within the last ten minutes.
// It returns [ErrForbidden] for a caller without a session, and an [*InvalidError] if passkeys are off or
// the caller has no password.
func (s *Service) BeginPasskey(ctx context.Context, by *Principal, password string) (json.RawMessage, error) {
	options, err := s.beginPasskey(ctx, by, password)
	return options, wrap("begin to add a passkey", err)
}

func (s *Service) beginPasskey(ctx context.Context, by *Principal, password string) (json.RawMessage, error) {
	if s.ceremonies == nil {
		return nil, errPasskeysOff
	}
	if by.Kind != Session { // a stolen API token must not open the account for good
		return nil, ErrForbidden
	}
	u, err := s.store.User(ctx, by.UserID)
	if err != nil {
		return nil, err
	}
	if !s.hasPassword(u) {
		return nil, fault.Invalid("body", "no_password", "is for users who sign in with a password")
	}
	if s.instant().Sub(by.Since) >= recently {
		if password == "" {
			return nil, fault.Invalid("body.current_password", "required", "is required, because you signed in a while ago")
		}
		if err := s.confirmAnyPassword(ctx, u, password); err != nil {
			return nil, err
		}
	}
	known, err := s.usablePasskeys(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	if err := checkCount(known); err != nil {
		return nil, err
	}
	handle, err := s.store.PasskeyHandle(ctx, u.ID, newHandle())
	if err != nil {
		return nil, err
	}
	options, c, err := s.ceremonies.Register(u, handle, known)
	if err != nil {
		return nil, err
	}
	return options, s.storeCeremony(ctx, c, u.ID, ToRegister)
}

func checkCount(have []*Passkey) error {
	if len(have) >= MaxPasskeys {
		return fault.Invalid("body", "too_many", "must not exceed %d passkeys; remove one first", MaxPasskeys)
	}
	return nil
}

// AddPasskey stores the passkey that the caller's browser has created. An empty name means the name of
// the device's model. It returns an [*InvalidError] if the answer is invalid or too late.
func (s *Service) AddPasskey(ctx context.Context, by *Principal, name string, answer []byte) (*Passkey, error) {
	p, err := s.addPasskey(ctx, by, name, answer)
	return p, wrap("add a passkey", err)
}

func (s *Service) addPasskey(ctx context.Context, by *Principal, name string, answer []byte) (*Passkey, error) {
	if by.Kind != Session {
		return nil, ErrForbidden
	}
	if s.ceremonies == nil {
		return nil, errPasskeysOff
	}
	if name != "" {
		var fs faults
		if name = fs.text("name", name); fs.Err() != nil {
			return nil, fs.Err()
		}
	}
	c, _, err := s.take(ctx, answer, ToRegister, by.UserID)
	if errors.Is(err, ErrUnauthorized) {
		return nil, errNotVerified
	}
	if err != nil {
		return nil, err
	}
	handle, err := s.store.PasskeyHandle(ctx, by.UserID, newHandle())
	if err != nil {
		return nil, err
	}
	p, err := s.ceremonies.Registered(c.Ceremony, handle, answer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotVerified, err)
	}
	p.UserID, p.Domain, p.CreatedAt = by.UserID, s.ceremonies.Domain(), s.instant()
	if p.Name = name; name == "" {
		p.Name = modelName(p.Model)
	}
	return p, s.store.AddPasskey(ctx, p, func(have []*Passkey) error { return checkCount(s.usable(have)) })
}

// RenamePasskey changes the name of a passkey of the caller. For one of another user it returns
// [ErrNotFound].
func (s *Service) RenamePasskey(ctx context.Context, by *Principal, id int64, name string) (*Passkey, error) {
	var fs faults
	if name = fs.text("name", name); fs.Err() != nil {
		return nil, wrap("rename a passkey", fs.Err())
	}
	p, err := s.store.RenamePasskey(ctx, by.UserID, id, name)
	return p, wrap("rename a passkey", err)
}

// RemovePasskey removes a passkey of the caller. It returns [ErrNotFound] for a passkey of another user,
// and an [*InvalidError] for the caller's only second factor if everyone must have one.
func (s *Service) RemovePasskey(ctx context.Context, by *Principal, id int64) error {
	f, err := s.SecondFactor(ctx, by.UserID)
	if err != nil {
		return wrap("remove a passkey", err)
	}
	err = s.store.RemovePasskey(ctx, by.UserID, id, Revocation{}, func(left []*Passkey) error {
		if s.SecondFactorMode() == SecondFactorRequired && !f.Enabled() && len(s.usable(left)) == 0 {
			return fault.Invalid("path.id", "second_factor_required", "must stay: everybody here needs a second factor, and this is your only one")
		}
		return nil
	})
	return wrap("remove a passkey", err)
}

// RemoveUserPasskey removes a passkey of a user, for admins, and ends the user's sessions.
func (s *Service) RemoveUserPasskey(ctx context.Context, userID, id int64) error {
	err := s.store.RemovePasskey(ctx, userID, id, Revocation{Sessions: true}, func([]*Passkey) error { return nil })
	return wrap(fmt.Sprintf("remove a passkey of user %d", userID), err)
}

// BeginPasskeyLogin returns the options by which a browser asks for a passkey. With the challenge of a
// [*SecondFactorError] they are for the passkeys of that user, see [Service.ConfirmWithPasskey],
// else for any, see [Service.LoginWithPasskey]. It returns [ErrChallengeInvalid], an [*InvalidError]
// if there are no passkeys here, and after too many calls a [*RateLimitError].
func (s *Service) BeginPasskeyLogin(ctx context.Context, challenge string, from Client) (json.RawMessage, error) {
	options, err := s.beginPasskeyLogin(ctx, challenge, from)
	return options, wrap("begin a sign-in with a passkey", err)
}

func (s *Service) beginPasskeyLogin(ctx context.Context, challenge string, from Client) (json.RawMessage, error) {
	if s.ceremonies == nil {
		return nil, errPasskeysOff
	}
	for _, n := range Networks(from.IP) {
		if ok, after := s.begins.Allow(ctx, limitKey("passkey", n)); !ok {
			return nil, &RateLimitError{RetryAfter: after}
		}
	}
	if challenge == "" {
		options, c, err := s.ceremonies.SignIn(nil, nil)
		if err != nil {
			return nil, err
		}
		return options, s.storeCeremony(ctx, c, 0, ToSignIn)
	}
	u, err := s.challenged(ctx, challenge)
	if err != nil {
		return nil, err
	}
	allowed, err := s.usablePasskeys(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	if len(allowed) == 0 {
		return nil, fault.Invalid("body.challenge", "no_passkey", "is of a user without a passkey")
	}
	handle, err := s.store.PasskeyHandle(ctx, u.ID, newHandle())
	if err != nil {
		return nil, err
	}
	options, c, err := s.ceremonies.SignIn(allowed, handle)
	if err != nil {
		return nil, err
	}
	return options, s.storeCeremony(ctx, c, u.ID, ToConfirm)
}

// LoginWithPasskey starts a session for the owner of a passkey. The device has checked who uses it, so
// neither a password nor a code is needed. It returns [ErrChallengeInvalid], [ErrPasskeyUnknown], or
// an [ErrPasskeyRefused] for any other answer that is not right, for a disabled user, and for a user
// without a password here: a company that checks passwords itself must be asked. After too many
// failures it returns a [*RateLimitError].
func (s *Service) LoginWithPasskey(ctx context.Context, answer []byte, from Client) (*SignIn, error) {
	in, err := s.loginByPasskey(ctx, answer, ToSignIn, 0, from)
	return in, wrap("sign in with a passkey", err)
}

// ConfirmWithPasskey is [Service.LoginWithCode] with a passkey instead of a code.
func (s *Service) ConfirmWithPasskey(ctx context.Context, challenge string, answer []byte, from Client) (*SignIn, error) {
	u, err := s.challenged(ctx, challenge)
	if err != nil {
		return nil, fmt.Errorf("confirm a sign-in: %w", err)
	}
	in, err := s.loginByPasskey(ctx, answer, ToConfirm, u.ID, from)
	return in, wrap("confirm a sign-in", err)
}

func (s *Service) loginByPasskey(ctx context.Context, answer []byte, purpose Purpose, userID int64, from Client) (in *SignIn, err error) {
	if s.ceremonies == nil {
		return nil, errPasskeysOff
	}
	var charges []charge
	for _, n := range Networks(from.IP) {
		charges = append(charges, charge{s.wide, limitKey("passkey-ip", n)})
	}
	err = s.attempts.limited(ctx, charges, func() error {
		u, err := s.passkeyOwner(ctx, answer, purpose, userID)
		if err != nil {
			return err
		}
		in, err = s.startSession(ctx, u, from)
		return err
	})
	return in, err
}

// passkeyOwner returns the user whose passkey has answered a challenge.
func (s *Service) passkeyOwner(ctx context.Context, answer []byte, purpose Purpose, userID int64) (*User, error) {
	c, r, err := s.take(ctx, answer, purpose, userID)
	if err != nil {
		return nil, err
	}
	owner := &User{}
	u, err := s.store.UsePasskey(ctx, s.ceremonies.Domain(), r.Credential, func(u *User, handle []byte, p *Passkey) error {
		owner = u
		switch {
		case userID != 0 && u.ID != userID:
			return fmt.Errorf("the passkey is of user %d: %w", u.ID, ErrPasskeyRefused)
		case !u.Active():
			return fmt.Errorf("%w: %w", ErrPasskeyRefused, ErrDisabled)
		case purpose == ToSignIn && u.PasswordHash == "":
			return fmt.Errorf("the user has no password here: %w", ErrPasskeyRefused)
		}
		if err := s.ceremonies.SignedIn(c.Ceremony, handle, answer, p); err != nil {
			if errors.Is(err, ErrUnauthorized) {
				return err
			}
			return fmt.Errorf("%w: %w", ErrPasskeyRefused, err)
		}
		p.LastUsedAt = s.instant()
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		return nil, ErrPasskeyUnknown
	}
	if errors.Is(err, ErrPasskeyRefused) && s.refused != nil {
		s.refused(ctx, owner, owner.Email, err)
	}
	return u, err
}

// take returns the stored challenge that an answer is about, once. It returns [ErrChallengeInvalid] if
// there is none, or one for something else.
func (s *Service) take(ctx context.Context, answer []byte, purpose Purpose, userID int64) (*StoredCeremony, Response, error) {
	r, err := s.ceremonies.Read(answer)
	if err != nil {
		return nil, Response{}, fmt.Errorf("%w: %w", ErrPasskeyRefused, err)
	}
	c, err := s.store.TakeCeremony(ctx, hashSecret(r.Challenge))
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, Response{}, ErrChallengeInvalid
	case err != nil:
		return nil, Response{}, err
	case c.Purpose != purpose, c.UserID != userID, !s.now().Before(c.ExpiresAt):
		return nil, Response{}, ErrChallengeInvalid
	}
	c.Challenge = r.Challenge
	return c, r, nil
}

func (s *Service) storeCeremony(ctx context.Context, c Ceremony, userID int64, purpose Purpose) error {
	now := s.instant()
	return s.store.StoreCeremony(ctx, &StoredCeremony{Ceremony: c, UserID: userID, Purpose: purpose, ExpiresAt: now.Add(ceremonyTTL)}, hashSecret(c.Challenge), now)
}

// newHandle returns a random name by which devices know a user.
func newHandle() []byte {
	handle, _ := base64.RawURLEncoding.DecodeString(newSecret()[len(secretPrefix):])
	return handle
}

// models are names of devices and programs that hold passkeys, by their AAGUID.
var models = map[string]string{
	"fbfc3007-154e-4ecc-8c0b-6e020557d7bd": "iCloud Keychain",
	"dd4ec289-e01d-41c9-bb89-70fa845d4bf2": "iCloud Keychain",
	"ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4": "Google Password Manager",
	"adce0002-35bc-c60a-648b-0b25f1f05503": "Chrome on Mac",
	"08987058-cadc-4b81-b6e1-30de50dcbe96": "Windows Hello",
	"9ddd1817-af5a-4672-a2b9-3e3dd95000a9": "Windows Hello",
	"6028b017-b1d4-4c02-b4b3-afcdafc96bb2": "Windows Hello",
	"53414d53-554e-4700-0000-000000000000": "Samsung Pass",
	"bada5566-a7aa-401f-bd96-45619a55120d": "1Password",
	"d548826e-79b4-db40-a3d8-11116f7e8349": "Bitwarden",
	"531126d6-e717-415c-9320-3d9aa6981239": "Dashlane",
}

func modelName(model string) string {
	if name := models[model]; name != "" {
		return name
	}
	return "Passkey"
}
