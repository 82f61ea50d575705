package transaction_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"gorm.io/gorm"

	"punctual/app/database"
	"punctual/app/database/transaction"
	"punctual/tests/testenv/testdb"
)

type note struct{ Text string }

// Parts of a transaction fail alone, and what happens after it happens once it is committed.
func TestRun(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		if err := db.Gorm.Exec("CREATE TABLE notes (text text NOT NULL UNIQUE)").Error; err != nil {
			t.Fatal(err)
		}
		write := func(ctx context.Context, texts ...string) error { // a use case: all or nothing
			return db.Gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
				for _, text := range texts {
					if err := tx.Create(&note{text}).Error; err != nil {
						return err
					}
				}
				return nil
			})
		}
		read := func(ctx context.Context) (texts []string) {
			t.Helper()
			if err := db.Gorm.WithContext(ctx).Table("notes").Order("text").Pluck("text", &texts).Error; err != nil {
				t.Error(err)
			}
			return texts
		}
		want := func(ctx context.Context, when string, texts ...string) {
			t.Helper()
			if got := read(ctx); !slices.Equal(got, texts) {
				t.Errorf("%s: %v, want %v", when, got, texts)
			}
		}
		after := 0
		failed := errors.New("failed")
		var late context.Context
		for _, end := range []error{failed, nil} {
			err := transaction.Run(t.Context(), db.Gorm, func(ctx context.Context) error {
				late = ctx
				transaction.AfterCommit(ctx, func() { after++ })
				if err := write(ctx, "a"); err != nil {
					t.Error(err)
				}
				if err := write(ctx, "b", "a"); err == nil {
					t.Error("a text is there twice")
				}
				if err := transaction.Run(ctx, db.Gorm, func(ctx context.Context) error { return write(ctx, "c") }); err != nil {
					t.Error(err)
				}
				err := transaction.Run(ctx, db.Gorm, func(ctx context.Context) error {
					transaction.AfterCommit(ctx, func() { after += 100 })
					return errors.Join(write(ctx, "e"), failed)
				})
				if !errors.Is(err, failed) {
					t.Errorf("a part: %v", err)
				}
				want(ctx, "within", "a", "c")
				want(t.Context(), "outside")
				if !transaction.In(ctx) || after != 0 {
					t.Error("the transaction ended early")
				}
				return end
			})
			if !errors.Is(err, end) {
				t.Errorf("%v, want %v", err, end)
			}
			if end != nil {
				want(t.Context(), "rolled back")
			}
		}
		want(t.Context(), "committed", "a", "c")
		if err := write(late, "d"); err != nil || transaction.In(late) || after != 1 {
			t.Errorf("after the end: %v, %d calls", err, after)
		}
		transaction.AfterCommit(t.Context(), func() { after++ })
		if want(t.Context(), "after the end", "a", "c", "d"); after != 2 {
			t.Error("without a transaction nothing was called")
		}
	})
}
