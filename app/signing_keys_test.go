package app

import (
	"errors"
	"slices"
	"testing"
	"time"

	"punctual/account/signing"
	"punctual/app/database"
	"punctual/tests/testenv/testdb"
)

// A new key signs at once, and in the other instances when they look again. What the old one signed
// stays valid for the grace period; a second rotation ends it early, and never extends it.
func TestSigningKeys(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		open := func() *Application {
			t.Helper()
			keys, err := openSigningKeys(ctx, db.Gorm)
			if err != nil {
				t.Fatal(err)
			}
			return &Application{db: db, keys: keys}
		}
		one, two := open(), open()
		text := []byte("text")
		links := func(a *Application) *signing.Ring { return a.keys.rings[linkKeys] }
		first := links(one).Sign(text)
		if !links(two).Verify(text, first) {
			t.Fatal("two instances have different keys")
		}
		rotate := func(grace time.Duration, names ...string) {
			t.Helper()
			if err := one.RotateSigningKeys(ctx, grace, names...); err != nil {
				t.Fatal(err)
			}
		}
		rotate(time.Hour, linkKeys)
		second := links(one).Sign(text)
		if slices.Equal(first, second) || !links(one).Verify(text, first) || links(two).Verify(text, second) {
			t.Error("after a rotation: the key did not change, or the other instance has it before it looks")
		}
		if err := errors.Join(two.keys.refresh(ctx), one.keys.refresh(ctx)); err != nil {
			t.Fatal(err)
		}
		if !links(two).Verify(text, first) || !links(two).Verify(text, second) || one.keys.rings[deviceKeys].Generation() != 1 {
			t.Error("the other instance does not accept both keys, or another key changed too")
		}

		rotate(2*time.Hour, linkKeys)
		keys, err := one.SigningKeys(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var generations []int64
		var left []time.Duration
		for _, k := range keys {
			if k.Name == linkKeys {
				generations = append(generations, k.Generation)
				if k.ExpiresAt != nil {
					left = append(left, time.Until(*k.ExpiresAt))
				}
			}
		}
		if !slices.Equal(generations, []int64{3, 2, 1}) || len(left) != 2 || left[0] <= time.Hour || left[1] > time.Hour {
			t.Errorf("generations %v expire in %v", generations, left)
		}

		rotate(0) // a leak: all at once
		for _, a := range []*Application{one, open()} {
			if links(a).Verify(text, first) || links(a).Verify(text, second) {
				t.Error("a leaked key is still accepted")
			}
		}
		if one.keys.rings[deviceKeys].Generation() != 2 || one.keys.rings[passwordKeys].Generation() != 2 || links(one).Generation() != 4 {
			t.Error("without a name, not all keys were replaced")
		}
		if err := one.RotateSigningKeys(ctx, 0, "moon"); err == nil {
			t.Error("a key that does not exist was replaced")
		}
	})
}
