package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"

	"punctual/account/fault"
)

// SecondFactorMode decides which sign-ins with a password also need a code.
type SecondFactorMode string

const (
	SecondFactorOptional SecondFactorMode = "optional" // those of users who have set up codes
	SecondFactorRequired SecondFactorMode = "required" // all; users without codes can only set them up
	SecondFactorOff      SecondFactorMode = "off"      // none
)

// SecondFactor is the authenticator app of a user, which shows a new code every 30 seconds (RFC 6238).
type SecondFactor struct {
	UserID        int64
	Secret        string    // base32; readable, because codes are computed from it
	ConfirmedAt   time.Time // zero: the app has not yet shown a right code, so sign-ins need none
	LastStep      int64     // of the code that was accepted last; it and older ones are not accepted again
	RecoveryCodes []string  // hashes of unused codes
	CreatedAt     time.Time
}

// Enabled reports whether sign-ins need a code. f may be nil.
func (f *SecondFactor) Enabled() bool { return f != nil && !f.ConfirmedAt.IsZero() }

const (
	codeStep      = 30 // seconds
	recoveryCodes = 10
	challengeTTL  = 5 * time.Minute
)

// ActionSecondFactorEnabled is what the audit log calls it when a user turns two-step verification on.
const ActionSecondFactorEnabled = "user.second_factor_enabled"

// SecondFactorStore is the part of [Store] for second factors.
type SecondFactorStore interface {
	SecondFactor(ctx context.Context, userID int64) (*SecondFactor, error)
	// ChangeSecondFactor locks the user, calls fn with the second factor, or nil if there is none, and
	// stores what fn returns. The caller's session can do everything once it is enabled. An error of
	// fn rolls back and is returned.
	ChangeSecondFactor(ctx context.Context, userID int64, fn func(*User, *SecondFactor) (SecondFactorChange, error)) error
}

// SecondFactorChange is the result of a change.
type SecondFactorChange struct {
	Factor  *SecondFactor // nil: none
	Action  string        // for the audit log; "": not recorded
	Revoked Revocation
}

// SecondFactorError means that the password was correct, and the sign-in must be confirmed by a code, see
// [Service.LoginWithCode], or by a passkey, see [Service.ConfirmWithPasskey].
type SecondFactorError struct {
	Challenge     string
	Code, Passkey bool // which of them the user has
}

func (e *SecondFactorError) Error() string { return "a second factor must confirm the sign-in" }

// ErrChallengeInvalid is an [ErrUnauthorized] for a challenge that is wrong or expired.
var ErrChallengeInvalid = fmt.Errorf("invalid challenge of a sign-in: %w", ErrUnauthorized)

var errWrongCode = fault.Invalid("body.code", "wrong_code", "must be the current code of your app, or an unused recovery code")

// SetSecondFactor changes which sign-ins need a code. Sessions stay as they are.
func (s *Service) SetSecondFactor(m SecondFactorMode) { s.secondFactor.Store(m) }

// SecondFactorMode returns which sign-ins need a code.
func (s *Service) SecondFactorMode() SecondFactorMode {
	return s.secondFactor.Load().(SecondFactorMode)
}

// admit starts the session of a user whose password was correct. If the sign-in must be confirmed, it
// returns a [*SecondFactorError]. A user who has only passkeys needs no confirmation unless everyone does,
// because the user could not sign in on a device without a passkey.
func (s *Service) admit(ctx context.Context, u *User, from Client) (*SignIn, error) {
	mode := s.SecondFactorMode()
	if mode == SecondFactorOff {
		return s.startSession(ctx, u, from)
	}
	f, err := s.SecondFactor(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	passkeys, err := s.usablePasskeys(ctx, u.ID)
	switch {
	case err != nil:
		return nil, err
	case f.Enabled(), mode == SecondFactorRequired && len(passkeys) > 0:
		return nil, &SecondFactorError{Challenge: s.challenge(u, s.instant().Add(challengeTTL)), Code: f.Enabled(), Passkey: len(passkeys) > 0}
	case mode == SecondFactorRequired:
		return s.startSession(ctx, u, from, enrolling)
	}
	return s.startSession(ctx, u, from)
}

// challenge returns a secret by which the user can confirm a sign-in until a time. It ends with the
// password. Any process can check it.
func (s *Service) challenge(u *User, until time.Time) string {
	text := fmt.Sprintf("%d.%d", u.ID, until.Unix())
	return text + "." + hex.EncodeToString(s.devices.keys.Sign(signedChallenge(text, u)))
}

func signedChallenge(text string, u *User) []byte {
	return []byte("challenge " + text + " " + u.PasswordHash)
}

// challenged returns the active user of a challenge, or [ErrChallengeInvalid].
func (s *Service) challenged(ctx context.Context, challenge string) (*User, error) {
	part := strings.Split(challenge, ".")
	if len(part) != 3 {
		return nil, ErrChallengeInvalid
	}
	id, err1 := strconv.ParseInt(part[0], 10, 64)
	unix, err2 := strconv.ParseInt(part[1], 10, 64)
	signature, err3 := hex.DecodeString(part[2])
	until := time.Unix(unix, 0)
	if err1 != nil || err2 != nil || err3 != nil || !s.now().Before(until) {
		return nil, ErrChallengeInvalid
	}
	u, err := s.store.User(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, ErrChallengeInvalid
	case err != nil:
		return nil, err
	case len(signature) != sha256.Size || !s.devices.keys.Verify(signedChallenge(part[0]+"."+part[1], u), signature) || !u.Active():
		return nil, ErrChallengeInvalid
	}
	return u, nil
}

// LoginWithCode starts the session of a user whose password was correct, with a code of the app or a
// recovery code. Each is accepted once. It returns [ErrChallengeInvalid], an [*InvalidError] for a wrong
// code, or a [*RateLimitError] after too many wrong codes.
func (s *Service) LoginWithCode(ctx context.Context, challenge, code string, from Client) (*SignIn, error) {
	u, err := s.challenged(ctx, challenge)
	if err != nil {
		return nil, fmt.Errorf("confirm a sign-in: %w", err)
	}
	actor := WithPrincipal(ctx, principal(u, &Token{})) // for the audit log
	err = s.useCode(actor, u, code, from, func(f *SecondFactor) SecondFactorChange { return SecondFactorChange{Factor: f} })
	if invalid, ok := errors.AsType[*InvalidError](err); ok && s.refused != nil {
		s.refused(ctx, u, u.Email, invalid)
	}
	if err != nil {
		return nil, fmt.Errorf("confirm a sign-in: %w", err)
	}
	in, err := s.startSession(ctx, u, from)
	return in, wrap("confirm a sign-in", err)
}

// useCode accepts a code and stores what change returns. Wrong codes are limited per account, or per
// device on which the user has signed in before, and per network.
func (s *Service) useCode(ctx context.Context, u *User, code string, from Client, change func(*SecondFactor) SecondFactorChange) error {
	account := limitKey("code", strconv.FormatInt(u.ID, 10))
	if device := s.devices.known(from.Device, u.ID, s.instant()); device != "" {
		account = limitKey("code-device", device)
	}
	charges := []charge{{s.codes, account}}
	for _, n := range Networks(from.IP) {
		charges = append(charges, charge{s.wide, limitKey("code-ip", n)})
	}
	return s.attempts.limited(ctx, charges, func() error {
		return s.store.ChangeSecondFactor(ctx, u.ID, func(_ *User, f *SecondFactor) (SecondFactorChange, error) {
			if !f.Enabled() {
				return SecondFactorChange{}, fault.Invalid("body.code", "not_enabled", "is not needed: two-step verification is off")
			}
			if !f.accept(code, s.instant()) {
				return SecondFactorChange{}, errWrongCode
			}
			return change(f), nil
		})
	})
}

// accept reports whether code is right, and marks it as used.
func (f *SecondFactor) accept(code string, now time.Time) bool {
	code = strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(code))
	if step := f.timeStep(code, now); step > f.LastStep {
		f.LastStep = step
		return true
	}
	hash := hashSecret(code)
	for i, known := range f.RecoveryCodes {
		if subtle.ConstantTimeCompare([]byte(hash), []byte(known)) == 1 {
			f.RecoveryCodes = slices.Delete(slices.Clone(f.RecoveryCodes), i, i+1)
			return true
		}
	}
	return false
}

// timeStep returns the step whose code it is, or 0. Clocks may differ by one step either way.
func (f *SecondFactor) timeStep(code string, now time.Time) (found int64) {
	current := now.Unix() / codeStep
	for step := current - 1; step <= current+1; step++ {
		want, err := hotp.GenerateCode(f.Secret, uint64(step))
		if err == nil && subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			found = step
		}
	}
	return found
}

// SecondFactor returns the second factor of a user, or nil.
func (s *Service) SecondFactor(ctx context.Context, userID int64) (*SecondFactor, error) {
	f, err := s.store.SecondFactor(ctx, userID)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return f, wrap(fmt.Sprintf("second factor of user %d", userID), err)
}

// Enroll returns a new secret for the caller's authenticator app, and the otpauth address by which
// apps read it. It is in force after [Service.ConfirmSecondFactor]. It returns an [*InvalidError] if
// the caller has a second factor already, or signs in without a password.
func (s *Service) Enroll(ctx context.Context, by *Principal) (secret, address string, err error) {
	key, err := totp.Generate(totp.GenerateOpts{Issuer: "Punctual", AccountName: by.Email})
	if err != nil {
		return "", "", fmt.Errorf("set up a second factor: %w", err)
	}
	err = s.store.ChangeSecondFactor(ctx, by.UserID, func(u *User, f *SecondFactor) (SecondFactorChange, error) {
		switch {
		case s.SecondFactorMode() == SecondFactorOff:
			return SecondFactorChange{}, fault.Invalid("body", "second_factor_off", "is switched off here")
		case f.Enabled():
			return SecondFactorChange{}, fault.Invalid("body", "second_factor_on", "is set up already; turn it off first")
		case !s.hasPassword(u):
			return SecondFactorChange{}, fault.Invalid("body", "no_password", "is for users who sign in with a password")
		}
		return SecondFactorChange{Factor: &SecondFactor{UserID: u.ID, Secret: key.Secret(), CreatedAt: s.instant()}}, nil
	})
	if err != nil {
		return "", "", fmt.Errorf("set up a second factor: %w", err)
	}
	return key.Secret(), key.URL(), nil
}

func (s *Service) hasPassword(u *User) bool {
	return u.PasswordHash != "" || slices.ContainsFunc(s.directories, func(d Directory) bool { return d.Serves(u.Email) })
}

// ConfirmSecondFactor turns the caller's second factor on, with a code of the app. It returns the recovery
// codes, each usable once instead of a code. They are returned only here.
func (s *Service) ConfirmSecondFactor(ctx context.Context, by *Principal, code string) (recovery []string, err error) {
	err = s.store.ChangeSecondFactor(ctx, by.UserID, func(_ *User, f *SecondFactor) (SecondFactorChange, error) {
		now := s.instant()
		switch {
		case f == nil:
			return SecondFactorChange{}, fault.Invalid("body.code", "second_factor_off", "must follow the setup of an app")
		case f.Enabled():
			return SecondFactorChange{}, fault.Invalid("body.code", "second_factor_on", "is not needed: two-step verification is on already")
		case !f.accept(code, now):
			return SecondFactorChange{}, errWrongCode
		}
		f.ConfirmedAt = now
		recovery, f.RecoveryCodes = newRecoveryCodes()
		return SecondFactorChange{Factor: f, Action: ActionSecondFactorEnabled}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("confirm a second factor: %w", err)
	}
	return recovery, nil
}

// newRecoveryCodes returns codes of 80 random bits and their hashes.
func newRecoveryCodes() (codes, hashes []string) {
	for range recoveryCodes {
		code := rand.Text()[:16]
		codes = append(codes, code[:4]+"-"+code[4:8]+"-"+code[8:12]+"-"+code[12:])
		hashes = append(hashes, hashSecret(code))
	}
	return codes, hashes
}

// RenewRecoveryCodes replaces the caller's recovery codes. It requires the password and a code.
func (s *Service) RenewRecoveryCodes(ctx context.Context, by *Principal, password, code string, from Client) (recovery []string, err error) {
	err = s.withBoth(ctx, by, password, code, from, func(f *SecondFactor) SecondFactorChange {
		recovery, f.RecoveryCodes = newRecoveryCodes()
		return SecondFactorChange{Factor: f, Action: "user.recovery_codes_renewed"}
	})
	if err != nil {
		return nil, fmt.Errorf("renew recovery codes: %w", err)
	}
	return recovery, nil
}

// DisableSecondFactor turns the caller's second factor off. It requires the password and a code. It
// returns an [*InvalidError] if everyone must have one.
func (s *Service) DisableSecondFactor(ctx context.Context, by *Principal, password, code string, from Client) error {
	if s.SecondFactorMode() == SecondFactorRequired {
		return fault.Invalid("body", "second_factor_required", "must stay on: everybody here needs it")
	}
	err := s.withBoth(ctx, by, password, code, from, func(*SecondFactor) SecondFactorChange {
		return SecondFactorChange{Action: "user.second_factor_disabled"}
	})
	return wrap("turn a second factor off", err)
}

func (s *Service) withBoth(ctx context.Context, by *Principal, password, code string, from Client, change func(*SecondFactor) SecondFactorChange) error {
	u, err := s.store.User(ctx, by.UserID)
	if err != nil {
		return err
	}
	if err := s.confirmAnyPassword(ctx, u, password); err != nil {
		return err
	}
	return s.useCode(ctx, u, code, from, change)
}

// ResetSecondFactor removes the second factor of a user who has lost the app and the recovery codes,
// and ends the user's sessions. It returns [ErrNotFound] if there is none.
func (s *Service) ResetSecondFactor(ctx context.Context, userID int64) error {
	err := s.store.ChangeSecondFactor(ctx, userID, func(_ *User, f *SecondFactor) (SecondFactorChange, error) {
		if f == nil {
			return SecondFactorChange{}, ErrNotFound
		}
		return SecondFactorChange{Action: "user.second_factor_reset", Revoked: Revocation{Sessions: true}}, nil
	})
	return wrap(fmt.Sprintf("reset the second factor of user %d", userID), err)
}
