package meeting

import (
	"context"
	"errors"
	"slices"
	"time"
)

// ErrOutdated says that what a change of a series was planned on has changed meanwhile.
var ErrOutdated = errors.New("changed meanwhile")

// SeriesStore is what series need from persistence, on the terms of [Store].
type SeriesStore interface {
	Series(ctx context.Context, id int64) (*Series, error)
	// ListSeries lists series that are not cancelled as a whole, the latest first.
	ListSeries(ctx context.Context, q SeriesQuery, p Page) (series []*Series, next string, err error)
	// SeriesMeetings are all meetings of a series, by start, those cancelled included.
	SeriesMeetings(ctx context.Context, id int64) ([]*Meeting, error)
	// Presence returns the dates of several series that begin before an instant, by start. It reads
	// only what shows whether anyone came.
	Presence(ctx context.Context, series []int64, before time.Time) (map[int64][]*Meeting, error)
	// Taken returns for each wanted occupancy what is in its way, and when that lapses. It leaves out
	// the meetings of except.
	Taken(ctx context.Context, wanted []Occupancy, except []ID) ([][]Occupancy, error)
	// SaveSeries saves all of a change or nothing. It fails with [ErrOutdated] if the series or
	// a meeting is not as it was when it was read, and with a [*ConflictError] if a room is
	// taken. It returns what there is to send.
	SaveSeries(ctx context.Context, c *SeriesChange) ([]Notice, error)
}

// SeriesQuery filters series; a zero field does not filter.
type SeriesQuery struct {
	OrganizerID int64
	Flagged     bool // nobody came to the latest dates, as many as [FlaggedAfter] or more
}

// SeriesChange is a change of a series with all that it brings about, planned in full. IDs and
// versions are set in it when it is saved.
type SeriesChange struct {
	Series *Series    // new if its ID is 0
	Split  *Series    // new: takes over dates of Series; nil: none does
	Update []*Meeting // as they are to be, with the versions they had; one with SeriesID 0 belongs to Split from now on
	Create []*Meeting // of Split, or else of Series
}

// RaisesSequence reports whether a notice changes the series or one of its dates in calendars, so
// that the store must raise [Series.Sequence].
func (c *SeriesChange) RaisesSequence() bool {
	return c.Series != nil && slices.ContainsFunc(c.Series.notices, Notice.forCalendars) || slices.ContainsFunc(c.Update, (*Meeting).RaisesSequence)
}

// Target is the series that new dates belong to.
func (c *SeriesChange) Target() *Series {
	if c.Split != nil {
		return c.Split
	}
	return c.Series
}
