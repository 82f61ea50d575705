package finding

import (
	"context"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// Store is the persistence that finding needs. It leaves out what has lapsed at an instant; see
// [meeting.Meeting.Lapses].
type Store interface {
	Rooms(ctx context.Context, ids []int64) ([]*meeting.Room, error) // in the order of ids, without unknown ones
	ListRooms(ctx context.Context, q meeting.RoomQuery, p meeting.Page) (rooms []*meeting.Room, next string, err error)
	ListSites(ctx context.Context, p meeting.Page) (sites []*meeting.Site, next string, err error)
	ListMeetings(ctx context.Context, q meeting.MeetingQuery, p meeting.Page) (ms []*meeting.Meeting, next string, err error)
	// BlackoutsWithin returns the blackouts of these rooms, and of their sites, that overlap a span, by start.
	BlackoutsWithin(ctx context.Context, rooms []int64, span clock.Slot) ([]policy.Blackout, error)
	// Held returns the slots that count for a claim. See [booking.RulesStore].
	Held(ctx context.Context, c policy.Claim, except meeting.ID, at time.Time) ([]clock.Slot, error)

	// Candidates returns active rooms that meet the need, best fit first: least surplus capacity,
	// unknown capacity last, then by name. after is the last room of the previous page; nil: none.
	Candidates(ctx context.Context, n Need, after *meeting.Room, limit int) ([]*meeting.Room, error)
	// Busy returns what overlaps span in each of the rooms, buffers included, by start.
	Busy(ctx context.Context, rooms []int64, span clock.Slot, at time.Time) (map[int64][]clock.Slot, error)
	// Kinds returns all active rooms that meet the need, grouped by what decides when they are
	// open.
	Kinds(ctx context.Context, n Need) ([]*Kind, error)
	// AllBusy calls each with what [Store.Busy] would return for all rooms: by start, and once or
	// more for each slot, with the rooms in which it is taken. It costs as much as all that takes
	// place within span.
	AllBusy(ctx context.Context, span clock.Slot, at time.Time, each func(taken clock.Slot, rooms []int64)) error
	// HeldBy returns when meetings of the user that hold or held each of the rooms take place
	// within span, without buffers. These count for the user's quotas.
	HeldBy(ctx context.Context, userID int64, rooms []int64, span clock.Slot, at time.Time) (map[int64][]clock.Slot, error)
	// Booked returns when meetings take place in each of the rooms within span, by start and
	// without buffers. A meeting that ended early counts until then. A pending meeting that does
	// not hold its slot does not count.
	Booked(ctx context.Context, rooms []int64, span clock.Slot, at time.Time) (map[int64][]clock.Slot, error)
	// FindPeople returns names and addresses of active users, and of people without an account whom
	// q.OrganizerID invited to meetings that began after q.Since. The organizer's most frequent
	// attendees come first. Only the latest 10,000 invitations count.
	FindPeople(ctx context.Context, q PeopleQuery) ([]meeting.Person, error)

	// HiddenRooms returns the rooms that the actor, whose groups are known, may not see.
	HiddenRooms(ctx context.Context, by meeting.Actor) ([]int64, error)
	// FavoriteRooms returns the IDs of a user's favorite rooms that were not deleted, in order.
	FavoriteRooms(ctx context.Context, userID int64) ([]int64, error)
	AddFavoriteRoom(ctx context.Context, userID, roomID int64) error    // no effect if it is one already
	RemoveFavoriteRoom(ctx context.Context, userID, roomID int64) error // no effect if it is none
	// UsedRooms are the rooms of at most limit meetings that a user organized and that started
	// before an instant, latest first. A room is repeated for each of its meetings.
	UsedRooms(ctx context.Context, userID int64, before time.Time, limit int) ([]RecentRoom, error)

	// BusyUsers returns, by address in lower case, when active users take part in meetings that
	// overlap span. A user without any has an entry, too.
	BusyUsers(ctx context.Context, emails []string, span clock.Slot) (map[string][]clock.Slot, error)
}
