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

// Users type in a code by hand. It is valid for one device and a few minutes. Twelve digits cannot
// be guessed in that time, so wrong codes need not invalidate open ones, which would let a
// stranger block pairing.
const (
	doorCodeTTL    = 10 * time.Minute
	doorCodeDigits = 12
)

// DoorCode pairs one device with the door of a room.
type DoorCode struct {
	RoomID    int64
	UserID    int64 // the user of the door, see [DoorEmail]
	Code      string
	ExpiresAt time.Time
}

// DoorStore is the part of [Store] for door codes.
type DoorStore interface {
	// SaveDoorCode replaces the code of the room. It returns false if another room has this code.
	SaveDoorCode(ctx context.Context, c *DoorCode, now time.Time) (bool, error)
	// TakeDoorCode removes and returns a valid code, or returns [ErrNotFound].
	TakeDoorCode(ctx context.Context, code string, now time.Time) (*DoorCode, error)
}

// DoorEmail returns the address of the user that the devices at a room's door act as. Nobody can
// sign in as this user, and mail to .invalid is never delivered (RFC 2606).
func DoorEmail(roomID int64) string { return fmt.Sprintf("door-%d@door.invalid", roomID) }

// isDoor reports whether devices at a door act as the user.
func isDoor(u *User) bool { return strings.HasSuffix(u.Email, "@door.invalid") }

// NewDoorCode creates a code that pairs a device with the door of a room. It replaces an earlier
// code.
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
	return nil, fmt.Errorf("code for the door of room %d: no unused code found", roomID)
}

func newDoorCode() string {
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000_000_000))
	if err != nil {
		panic(err) // never fails
	}
	return fmt.Sprintf("%0*d", doorCodeDigits, n.Int64())
}

// isDoorCode reports whether s has the form of a code. Other text must not reach the database,
// which rejects some of it, such as NUL.
func isDoorCode(s string) bool {
	return len(s) == doorCodeDigits && strings.Trim(s, "0123456789") == ""
}

// doorUser returns the user of a room's door. It creates or renames the user as needed.
func (s *Service) doorUser(ctx context.Context, roomID int64, name string) (*User, error) {
	if r := []rune(name); len(r) > maxName {
		name = string(r[:maxName])
	}
	u, err := s.store.UserByEmail(ctx, DoorEmail(roomID))
	if errors.Is(err, ErrNotFound) {
		u, err = s.CreateUser(ctx, NewUser{Email: DoorEmail(roomID), Name: name, Role: Member})
		if errors.Is(err, ErrEmailTaken) { // by a concurrent request
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

// PairDoor exchanges a code for the token of a device at a door. The secret is returned only here.
// Wrong codes count against the network, not against the codes.
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

// DeleteDoorDevice deletes the token of a device at a room's door.
func (s *Service) DeleteDoorDevice(ctx context.Context, roomID, id int64) error {
	u, err := s.store.UserByEmail(ctx, DoorEmail(roomID))
	if err == nil {
		err = s.store.DeleteToken(ctx, u.ID, id, API)
	}
	return wrap("remove a device at a door", err)
}
