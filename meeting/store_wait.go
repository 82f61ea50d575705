package meeting

import (
	"context"
	"time"
)

// WaitStore is what the waiting list needs from persistence, on the terms of [Store].
type WaitStore interface {
	// CreateWait sets ID, Version and Position. It locks the person, so that they get one place
	// after the other, and calls the function with how many open waits they have; its error
	// undoes everything and is returned as it is.
	CreateWait(ctx context.Context, w *Wait, fn func(open int) error) error
	Wait(ctx context.Context, id int64) (*Wait, error)
	// UpdateWait locks the wait and calls the function. The meeting that it may return is
	// created as by CreateMeeting, in the same transaction and in place of what an offer held;
	// it gets its ID, and so does the wait. An [Offered] wait holds what it wants, or fails
	// with a [*ConflictError].
	UpdateWait(ctx context.Context, id int64, fn func(*Wait) (*Meeting, error)) (*Wait, *Meeting, []Notice, error)
	// UpdateWaits is UpdateWait for many, in one transaction and in the order of their IDs: all
	// that the function says it changed is saved, or nothing. It leaves out waits that are not there.
	UpdateWaits(ctx context.Context, ids []int64, fn func(*Wait) (m *Meeting, changed bool, err error)) ([]Notice, error)
	ListWaits(ctx context.Context, q WaitQuery, p Page) (ws []*Wait, next string, err error) // by ID

	// Awaited returns the rooms in which anyone waits for any of free, with a number that increases
	// from call to call, across all callers.
	Awaited(ctx context.Context, free []Occupancy, at time.Time) (rooms []int64, number int64, err error)
	// FirstInLine are the waits for some of the rooms that could be served now, since all that they
	// want is free. The earliest come first: at most limit, of those after the one of an ID.
	// Their Position is not read.
	FirstInLine(ctx context.Context, rooms []int64, at time.Time, after int64, limit int) ([]*Wait, error)
	// FreeAndAwaited are rooms for which [WaitStore.FirstInLine] would find something.
	FreeAndAwaited(ctx context.Context, at time.Time) (rooms []int64, number int64, err error)
}

// WaitQuery filters waits; a zero field does not filter.
type WaitQuery struct {
	UserID int64
	RoomID int64
	States []WaitState // as they are at Now; see [Wait.At]
	Now    time.Time
}
