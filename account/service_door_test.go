package account_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"punctual/account"
	"punctual/account/gormstore"
	"punctual/app/database"
	"punctual/tests/testenv/testdb"
)

// TestDoorCodes: a code is good once, for ten minutes and for the latest of a room, however many
// wrong ones are tried.
func TestDoorCodes(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		now := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
		s := account.New(gormstore.New(db.Gorm), account.Config{Now: func() time.Time { return now }})
		for id := range int64(2) {
			err := db.Gorm.Exec("INSERT INTO rooms (id, name, created_at, updated_at) VALUES (?, ?, ?, ?)", id+1, fmt.Sprint("Room ", id+1), now, now).Error
			if err != nil {
				t.Fatal(err)
			}
		}
		code := func(room int64, name string) string {
			t.Helper()
			c, err := s.NewDoorCode(t.Context(), room, name)
			if err != nil {
				t.Fatal(err)
			}
			return c.Code
		}
		guesses := 0
		pair := func(code string) (room int64, secret string, err error) {
			guesses++
			room, _, secret, err = s.PairDoor(t.Context(), code, "", fmt.Sprintf("192.0.2.%d", guesses%250)) // from everywhere
			return room, secret, err
		}
		refused := func(what, code string) {
			t.Helper()
			if _, _, err := pair(code); !invalidAt(err, "body.code") {
				t.Errorf("%s: %v", what, err)
			}
		}
		first, second, neighbour := code(1, "Ada"), code(1, "Bohr"), code(2, "Curie")
		refused("replaced", first)
		room, secret, err := pair(second[:3] + " " + second[3:])
		if err != nil || room != 1 {
			t.Fatalf("paired with %d: %v", room, err)
		}
		refused("used", second)
		for _, text := range []string{"", "none", "\x00", "00000000000\x00", "०००००००००००० "} {
			refused("no code", text)
		}
		p, err := s.Authenticate(t.Context(), secret)
		if err != nil || p.Door() != 1 || p.Name != "Door of Bohr" || p.Role != account.Member {
			t.Fatalf("authenticated %+v: %v", p, err)
		}
		if err := account.Authorize(p, "me"); !errors.Is(err, account.ErrForbidden) {
			t.Errorf("a device asks who it is: %v", err)
		}

		now = now.Add(10 * time.Minute)
		refused("expired", neighbour)
		guessed := code(2, "Curie")
		for range 200 {
			refused("a guess", "000000000000")

		}
		if room, _, err := pair(guessed); err != nil || room != 2 || len(guessed) != 12 {
			t.Errorf("%s after 200 guesses: %d, %v", guessed, room, err)
		}

		if err := s.DeleteDoorDevice(t.Context(), 2, p.TokenID); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("removed from another room's door: %v", err)
		}
		if err := s.DeleteDoorDevice(t.Context(), 1, p.TokenID); err != nil {
			t.Error(err)
		}
		if _, err := s.Authenticate(t.Context(), secret); !errors.Is(err, account.ErrUnauthorized) {
			t.Errorf("a device that was removed: %v", err)
		}
	})
}

func invalidAt(err error, location string) bool {
	e, ok := errors.AsType[*account.InvalidError](err)
	return ok && e.Faults[0].Location == location
}
