package waitlist

import (
	"context"
	"time"

	"punctual/meeting"
)

// Store is the persistence of the waiting list, on the terms of [booking.Store].
type Store interface {
	// CreateWait sets ID, Version and Position. It locks the user, so that concurrent calls run one
	// after another, and calls the function with the user's number of open waits. An error of the
	// function undoes everything and is returned unchanged.
	CreateWait(ctx context.Context, w *meeting.Wait, fn func(open int) error) error
	Wait(ctx context.Context, id int64) (*meeting.Wait, error)
	ListWaits(ctx context.Context, q meeting.WaitQuery, p meeting.Page) (ws []*meeting.Wait, next string, err error) // by ID
	// FirstInLine returns at most limit waits for some of the rooms, after the given ID, that can
	// be served now because all that they want is free. The earliest come first. Their Position is
	// not read.
	FirstInLine(ctx context.Context, rooms []int64, at time.Time, after int64, limit int) ([]*meeting.Wait, error)
}
