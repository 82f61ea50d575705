package gormstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"punctual/app/database"
	"punctual/delayjob"
	"punctual/delayjob/admin"
	"punctual/delayjob/gormstore"
	"punctual/tests/testenv/testdb"
)

func died(key string, version int64, at time.Time, text string) delayjob.Failure {
	return delayjob.Failure{
		Message: delayjob.Message{Job: "meeting.start", Key: key, Version: version, Due: at, Attempt: 8},
		Error:   text, At: at,
	}
}

func TestFailures_aLaterDeathReplacesAnEarlierOne(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s, ctx := gormstore.NewDeadLetters(db.Gorm), t.Context()
		at := time.Date(2027, 1, 2, 3, 4, 5, 678901000, time.FixedZone("", 3600))
		if err := s.RecordFailures(ctx, died("1", 1, at, "first"), died("2", 1, at, "other"), died("1", 2, at.Add(time.Second), "second")); err != nil {
			t.Fatal(err)
		}
		if err := s.RecordFailures(ctx, died("2", 5, at.Add(time.Minute), "again")); err != nil {
			t.Fatal(err)
		}
		got, next, err := s.List(ctx, admin.Filter{Job: "meeting.start"}, "", 10)
		if err != nil || next != "" || len(got) != 2 {
			t.Fatalf("List = %v, %q, %v; want two", got, next, err)
		}
		want := admin.DeadLetter{Job: "meeting.start", Key: "2", Version: 5, Attempts: 8, Error: "again", DeadAt: at.Add(time.Minute).UTC()}
		if got[0] != want {
			t.Errorf("latest = %+v, want %+v", got[0], want)
		}
		if got[1].Version != 2 || got[1].Error != "second" {
			t.Errorf("earlier = %+v, want the second death of 1", got[1])
		}
	})
}

func TestFailures_pages(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s, ctx := gormstore.NewDeadLetters(db.Gorm), t.Context()
		at := time.Now()
		var fs []delayjob.Failure
		for i := range 25 {
			fs = append(fs, died(fmt.Sprint(i), 1, at.Add(time.Duration(i/10)*time.Second), "x")) // ten at one instant
		}
		if err := s.RecordFailures(ctx, fs...); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Discard(ctx, "meeting.start:24", at); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Count(ctx); err != nil || len(n) != 1 || n["meeting.start"] != 24 {
			t.Errorf("Count = %v, %v", n, err)
		}
		if err := s.RecordFailures(ctx, fs[24]); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		cursor, pages := "", 0
		for {
			page, next, err := s.List(ctx, admin.Filter{}, cursor, 7)
			if err != nil {
				t.Fatal(err)
			}
			pages++
			for _, f := range page {
				if seen[f.ID()] {
					t.Errorf("%s comes twice", f.ID())
				}
				seen[f.ID()] = true
			}
			if cursor = next; cursor == "" {
				break
			}
		}
		if len(seen) != 25 || pages != 4 {
			t.Errorf("%d dead letters on %d pages, want 25 on 4", len(seen), pages)
		}
		if none, _, err := s.List(ctx, admin.Filter{Job: "meeting.end"}, "", 7); err != nil || len(none) != 0 {
			t.Errorf("List of another job = %v, %v", none, err)
		}
		if _, _, err := s.List(ctx, admin.Filter{}, "nonsense", 7); !errors.Is(err, admin.ErrCursor) {
			t.Errorf("List with a malformed cursor: %v", err)
		}
	})
}

func TestFailures_forget(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s, ctx := gormstore.NewDeadLetters(db.Gorm), t.Context()
		if err := s.RecordFailures(ctx, died("1:start:900", 1, time.Now(), "x"), died("2", 1, time.Now(), "x")); err != nil {
			t.Fatal(err)
		}
		recorded, err := s.Get(ctx, "meeting.start:1:start:900")
		if err != nil {
			t.Fatal(err)
		}
		n, err := s.Forget(ctx, recorded, admin.DeadLetter{Job: "meeting.start", Key: "3"})
		if err != nil || n != 1 {
			t.Errorf("Forget = %d, %v; want the one that is there", n, err)
		}
		if left, _, err := s.List(ctx, admin.Filter{}, "", 7); err != nil || len(left) != 1 || left[0].Key != "2" {
			t.Errorf("left: %v, %v", left, err)
		}
	})
}

func TestFailures_cutsLongErrorsBetweenCharacters(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s, ctx := gormstore.NewDeadLetters(db.Gorm), t.Context()
		if err := s.RecordFailures(ctx, died("1", 1, time.Now(), "x"+strings.Repeat("钟", 3000))); err != nil {
			t.Fatal(err)
		}
		got, _, err := s.List(ctx, admin.Filter{}, "", 1)
		if err != nil || len(got) != 1 || !utf8.ValidString(got[0].Error) || len(got[0].Error) < 3990 {
			t.Errorf("kept %d bytes, %v", len(got[0].Error), err)
		}
	})
}
