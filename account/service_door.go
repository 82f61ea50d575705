package account

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"punctual/account/fault"
)

// A code is typed in by hand, and good for one device and a few minutes. It is long enough that no
// number of guesses in that time finds one, so wrong codes need not end the open ones: a stranger
// could do that.
const (
	doorCodeTTL    = 10 * time.Minute
	doorCodeDigits = 12
)

// DoorCode pairs one device with the door of a room.
type DoorCode struct {
	RoomID    int64
	UserID    int64 // the room's own, see [DoorEmail]
	Code      string
	ExpiresAt time.Time
}

// DoorStore is the part of [Store] about codes for doors.
type DoorStore interface {
	// SaveDoorCode replaces the code of the room. It tells false if another room has this one.
	SaveDoorCode(ctx context.Context, c *DoorCode, now time.Time) (bool, error)
	// TakeDoorCode removes and returns a code that is good, or returns [ErrNotFound].
	TakeDoorCode(ctx context.Context, code string, now time.Time) (*DoorCode, error)
}

// DoorEmail is the address of the user in whose name the devices at a room's door act. Nobody
// can sign in as it, and mail to .invalid goes nowhere (RFC 2606).
func DoorEmail(roomID int64) string { return fmt.Sprintf("door-%d@door.invalid", roomID) }

// NewDoorCode makes a code that pairs a device with the door of a room, in place of an earlier one.
func (s *Service) NewDoorCode(ctx context.Context, roomID int64, room string) (*DoorCode, error) {
	u, err := s.doorUser(ctx, roomID, "Door of "+room)
	if err != nil {
		return nil, fmt.Errorf("code for the door of room %d: %w", roomID, err)
	}
	now := s.instant()
	for range 10 {
		c := &DoorCode{RoomID: roomID, UserID: u.ID, Code: newDoorCode(), ExpiresAt: now.Add(doorCodeTTL)}
		saved, err := s.store.SaveDoorCode(ctx, c, now)
		if err != nil {
			return nil, fmt.Errorf("code for the door of room %d: %w", roomID, err)
		}
		if saved {
			return c, nil
		}
	}
	return nil, fmt.Errorf("code for the door of room %d: all that were tried are in use", roomID)
}

func newDoorCode() string {
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000_000_000))
	if err != nil {
		panic(err) // never fails
	}
	return fmt.Sprintf("%0*d", doorCodeDigits, n.Int64())
}

// isDoorCode reports whether a text has the form of a code. No other text reaches the database,
// which refuses some, such as those with a NUL.
func isDoorCode(s string) bool {
	return len(s) == doorCodeDigits && strings.Trim(s, "0123456789") == ""
}

// doorUser finds or makes the user of a room's door, and gives it the name.
func (s *Service) doorUser(ctx context.Context, roomID int64, name string) (*User, error) {
	if r := []rune(name); len(r) > maxName {
		name = string(r[:maxName])
	}
	u, err := s.store.UserByEmail(ctx, DoorEmail(roomID))
	if errors.Is(err, ErrNotFound) {
		u, err = s.CreateUser(ctx, NewUser{Email: DoorEmail(roomID), Name: name, Role: Member})
		if errors.Is(err, ErrEmailTaken) { // by another request
			u, err = s.store.UserByEmail(ctx, DoorEmail(roomID))
		}
	}
	switch {
	case err != nil:
		return nil, err
	case !u.Active():
		return nil, fault.Invalid("path.id", "disabled", "the user %s of this door is disabled", DoorEmail(roomID))
	case u.Name == name:
		return u, nil
	}
	return s.store.UpdateUser(ctx, u.ID, func(u *User, _ int) (Revocation, error) {
		u.Name, u.UpdatedAt = name, s.instant()
		return Revocation{}, nil
	})
}

// PairDoor makes a token of a device at the door for which the code is, and returns its secret,
// which is told only now. Wrong codes count against the network, not against the codes.
func (s *Service) PairDoor(ctx context.Context, code, name, clientIP string) (roomID int64, t *Token, secret string, err error) {
	code = strings.ReplaceAll(code, " ", "")
	var fs faults
	if name = strings.TrimSpace(name); name != "" {
		name = fs.text("name", name)
	}
	if err := fs.Err(); err != nil {
		return 0, nil, "", fmt.Errorf("pair a door: %w", err)
	}
	var c *DoorCode
	err = s.attempts.limited(ctx, []charge{{s.wide, limitKey("door", Networks(clientIP)[0])}}, func() error {
		err := ErrNotFound
		if isDoorCode(code) {
			c, err = s.store.TakeDoorCode(ctx, code, s.instant())
		}
		if errors.Is(err, ErrNotFound) {
			return fault.Invalid("body.code", "wrong_code", "is no code, or no longer")
		}
		return err
	})
	if err != nil {
		return 0, nil, "", fmt.Errorf("pair a door: %w", err)
	}
	secret = newSecret()
	t = &Token{
		UserID: c.UserID, Kind: API, Name: name, Hash: hashSecret(secret), CreatedAt: s.instant(),
		Scopes: []Scope{atDoor + ":" + Scope(strconv.FormatInt(c.RoomID, 10))},
	}
	if err := s.store.CreateToken(ctx, t); err != nil {
		return 0, nil, "", fmt.Errorf("pair a door: %w", err)
	}
	return c.RoomID, t, secret, nil
}

// DoorDevices lists the tokens of the devices at a room's door.
func (s *Service) DoorDevices(ctx context.Context, roomID int64, p Page) (tokens []*Token, next string, err error) {
	u, err := s.store.UserByEmail(ctx, DoorEmail(roomID))
	if errors.Is(err, ErrNotFound) {
		return nil, "", nil
	}
	if err == nil {
		tokens, next, err = s.store.ListTokens(ctx, u.ID, API, p.bounded())
	}
	return tokens, next, wrap("list devices at a door", err)
}

// DeleteDoorDevice ends the token of a device at a room's door.
func (s *Service) DeleteDoorDevice(ctx context.Context, roomID, id int64) error {
	u, err := s.store.UserByEmail(ctx, DoorEmail(roomID))
	if err == nil {
		err = s.store.DeleteToken(ctx, u.ID, id, API)
	}
	return wrap("remove a device at a door", err)
}
