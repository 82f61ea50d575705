package caldav

import (
	"context"
	"encoding/xml"
	"strconv"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// Collection is a calendar: all meetings of a user or of a room.
type Collection struct {
	UserID int64
	Email  string // of the user
	RoomID int64  // 0: of a user
}

func (c Collection) key() string {
	if c.RoomID != 0 {
		return "room-" + strconv.FormatInt(c.RoomID, 10)
	}
	return "user-" + strconv.FormatInt(c.UserID, 10)
}

// Member is an object of a calendar: a meeting, a series, or an event without a room. One of the IDs is
// set.
type Member struct {
	MeetingID, SeriesID, ObjectID int64
	Fingerprint                   string // changes with each change of the content
}

func (m Member) key() string {
	switch {
	case m.SeriesID != 0:
		return "series-" + strconv.FormatInt(m.SeriesID, 10)
	case m.MeetingID != 0:
		return "meeting-" + strconv.FormatInt(m.MeetingID, 10)
	default:
		return "object-" + strconv.FormatInt(m.ObjectID, 10)
	}
}

// Stored is an event as a calendar program stored it.
type Stored struct {
	ID                  int64
	UserID              int64
	Name                string // last part of its address
	UID                 string
	MeetingID, SeriesID int64     // that it books; both 0: none
	Start, End          time.Time // of an event without a room; zero End: it has none
	ICS                 string
	Version             int64
	CreatedAt           time.Time
	UpdatedAt           time.Time
}

// Known is what is recorded of a collection.
type Known struct {
	Number int64 // of the last change; 0: nothing is recorded
	Oldest int64 // lowest number from which all changes are recorded
	State  string
}

// Change is the last change of an object in a collection.
type Change struct {
	Object      string // key of the member
	Name        string
	Fingerprint string
	ETag        string
	Number      int64
	Gone        bool
}

// Store is the persistence of calendars. Safe for concurrent use.
type Store interface {
	// Atomically runs f in one transaction: what the stores and the use cases do with the context of f
	// is kept as a whole, or not at all. It may run f several times.
	Atomically(ctx context.Context, f func(context.Context) error) error
	// State returns a text that changes whenever a member of the collection with an end after from
	// does. It is much cheaper than Members.
	State(ctx context.Context, c Collection, from time.Time) (string, error)
	// Members returns what overlaps a span, except canceled, rejected and released meetings and those that
	// the user declined. A zero end is no bound. Then events without a meeting are returned whatever their
	// age, because they are stored nowhere else.
	Members(ctx context.Context, c Collection, span clock.Slot) ([]Member, error)
	Known(ctx context.Context, collection string) (Known, error)
	// Changes returns what changed after a number, by number.
	Changes(ctx context.Context, collection string, after int64) ([]Change, error)
	// ChangesNamed returns what is recorded of objects with these names.
	ChangesNamed(ctx context.Context, collection string, names []string) ([]Change, error)
	// Record notes changes and the state, unless the number of the collection is no longer seen; then
	// it returns false. The changes have their numbers. It forgets what was gone before forget.
	Record(ctx context.Context, collection string, seen int64, now Known, cs []Change, at, forget time.Time) (bool, error)

	Objects(ctx context.Context, userID int64) ([]*Stored, error) // without ICS
	// ObjectsByID returns objects with their ICS; unknown IDs are left out.
	ObjectsByID(ctx context.Context, ids []int64) ([]*Stored, error)
	// SaveObject creates an object without ID, or changes it if it still has its version. It returns
	// [ErrChanged] otherwise, also if another object of the user has its name or UID, and [ErrFull] if the user
	// would store too much.
	SaveObject(ctx context.Context, o *Stored) error
	DeleteObject(ctx context.Context, o *Stored) error

	// Adopt hands the meeting or series that invitations by mail booked for an event of a user over to the user's
	// calendar program, which keeps the event over CalDAV from then on. It returns no member if nothing is booked.
	Adopt(ctx context.Context, uid, organizer string) (Member, error)

	// Properties returns what a user named and colored, by the name of the property. The values are XML.
	Properties(ctx context.Context, userID int64, path string) (map[xml.Name]string, error)
	// SaveProperties sets and removes properties, all or none.
	SaveProperties(ctx context.Context, userID int64, path string, set map[xml.Name]string, remove []xml.Name) error

	// Origins returns the origins of meetings and series by ID.
	Origins(ctx context.Context, meetings, series []int64) (ofMeetings, ofSeries map[int64]meeting.Origin, err error)
	MeetingsByID(ctx context.Context, ids []meeting.ID) ([]*meeting.Meeting, error)
	Series(ctx context.Context, id int64) (*meeting.Series, error)
	SeriesMeetings(ctx context.Context, id int64) ([]*meeting.Meeting, error)
	Rooms(ctx context.Context, ids []int64) ([]*meeting.Room, error)
	// ByAddress returns the room or the site with a mail address, given as its local part in lower
	// case. Both are 0 if there is none.
	ByAddress(ctx context.Context, local string) (roomID, siteID int64, err error)
	// FeaturesAsked returns the features that an address of a site asks for.
	FeaturesAsked(ctx context.Context, siteID int64, local string) ([]string, error)
}
