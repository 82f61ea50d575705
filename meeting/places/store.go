package places

import (
	"context"
	"time"

	"punctual/meeting"
	"punctual/meeting/photo"
	"punctual/meeting/policy"
)

// Store is the persistence of the administration of rooms, on the terms of [booking.Store].
type Store interface {
	CreateSite(ctx context.Context, s *meeting.Site) error
	Site(ctx context.Context, id int64) (*meeting.Site, error)
	UpdateSite(ctx context.Context, id int64, fn func(*meeting.Site) error) (*meeting.Site, error)
	// DeleteSite and DeleteRoom call the function with the locked content; an error prevents the
	// deletion.
	DeleteSite(ctx context.Context, id int64, fn func(*meeting.Site) error) error // [*meeting.InUseError] while it has rooms
	ListSites(ctx context.Context, p meeting.Page) (sites []*meeting.Site, next string, err error)
	CreateType(ctx context.Context, t *meeting.Type) error
	Type(ctx context.Context, id int64) (*meeting.Type, error)
	Types(ctx context.Context) ([]*meeting.Type, error) // by name
	UpdateType(ctx context.Context, id int64, fn func(*meeting.Type) error) (*meeting.Type, error)
	DeleteType(ctx context.Context, id int64, fn func(*meeting.Type) error) error // [*meeting.InUseError] if a meeting has it
	CreateCustomField(ctx context.Context, c *meeting.CustomField) error          // a fault of name if it is taken
	CustomField(ctx context.Context, id int64) (*meeting.CustomField, error)
	CustomFields(ctx context.Context) ([]*meeting.CustomField, error) // by position and label
	UpdateCustomField(ctx context.Context, id int64, fn func(*meeting.CustomField) error) (*meeting.CustomField, error)
	DeleteCustomField(ctx context.Context, id int64, fn func(*meeting.CustomField) error) error // [*meeting.InUseError] if a meeting has a value of it
	CreateRooms(ctx context.Context, rooms []*meeting.Room) error                               // all or none; sets their IDs
	Rooms(ctx context.Context, ids []int64) ([]*meeting.Room, error)                            // in the order of ids, without unknown ones
	HiddenRooms(ctx context.Context, by meeting.Actor) ([]int64, error)                         // that the actor, whose groups are known, may not see
	// UpdateRoom also updates the check-in of the room's coming meetings.
	UpdateRoom(ctx context.Context, id int64, fn func(*meeting.Room) error) (*meeting.Room, error)
	DeleteRoom(ctx context.Context, id int64, at time.Time, fn func(*meeting.Room) error) error // [*meeting.InUseError] while meetings after at hold it; its history stays
	// SetRoomPhoto stores a photo, or removes it (nil). It calls the function with the locked room, without its
	// approvers, and the bytes of the other rooms' photos, and saves [meeting.Room.Photo]; an error prevents the change.
	SetRoomPhoto(ctx context.Context, id int64, p *photo.Photo, fn func(r *meeting.Room, others int64) error) error
	RoomPhoto(ctx context.Context, id int64, small bool) (picture []byte, version string, err error) // [meeting.ErrNotFound] without one
	ListRooms(ctx context.Context, q meeting.RoomQuery, p meeting.Page) (rooms []*meeting.Room, next string, err error)
	// CreateBlackout, UpdateBlackout and DeleteBlackout exclude concurrent bookings in the rooms of
	// the blackout: each booking either was saved before, or fails with [meeting.ErrRoomsChanged]. They
	// return [meeting.ErrNotFound] if the room or site does not exist.
	CreateBlackout(ctx context.Context, b *policy.Blackout) error
	UpdateBlackout(ctx context.Context, id int64, fn func(*policy.Blackout) error) (*policy.Blackout, error)
	DeleteBlackout(ctx context.Context, id int64, at time.Time, fn func(*policy.Blackout) error) error // fn gets it locked; an error prevents the deletion
	Blackout(ctx context.Context, id int64) (*policy.Blackout, error)
	ListBlackouts(ctx context.Context, q meeting.BlackoutQuery, p meeting.Page) (bs []*policy.Blackout, next string, err error) // by start
	HolidayCalendars(ctx context.Context) ([]*meeting.HolidayCalendar, error)                                                   // by name
	HolidayCalendar(ctx context.Context, id int64) (*meeting.HolidayCalendar, error)
	// CreateHolidays, UpdateHolidays and DeleteHolidays save a calendar with the coming blackouts of all
	// places, on the terms of CreateBlackout. Blackouts that are over stay.
	CreateHolidays(ctx context.Context, c *meeting.HolidayCalendar, places []meeting.HolidayPlace) error
	UpdateHolidays(ctx context.Context, id int64, places []meeting.HolidayPlace, fn func(*meeting.HolidayCalendar) error) (*meeting.HolidayCalendar, error)
	DeleteHolidays(ctx context.Context, id int64, at time.Time, fn func(*meeting.HolidayCalendar) error) error
	// FollowHolidays saves the coming blackouts of some places.
	FollowHolidays(ctx context.Context, places []meeting.HolidayPlace, at time.Time) error
	// WaitingMoves returns the meetings with a pending move.
	WaitingMoves(ctx context.Context) ([]*meeting.Meeting, error)

	// CreateFaultReport calls the function with the number of open reports of the room, and sets the IDs of
	// the report and of the notices. An error of the function prevents the creation.
	CreateFaultReport(ctx context.Context, r *meeting.FaultReport, notices []meeting.Notice, fn func(open int64) error) error
	ChatChannels(ctx context.Context, roomIDs []int64) ([]meeting.ChatChannel, error) // that are about some rooms
	FaultReport(ctx context.Context, id int64) (*meeting.FaultReport, error)
	ListFaultReports(ctx context.Context, q meeting.FaultReportQuery, p meeting.Page) (rs []*meeting.FaultReport, next string, err error) // latest first
	// UpdateFaultReport calls the function with the locked report, and with its room as it is then.
	UpdateFaultReport(ctx context.Context, id int64, fn func(*meeting.FaultReport, *meeting.Room) error) (*meeting.FaultReport, error)

	CreateFloorPlan(ctx context.Context, p *meeting.FloorPlan, picture *photo.Picture) error
	FloorPlan(ctx context.Context, id int64) (*meeting.FloorPlan, error)
	FloorPlans(ctx context.Context) ([]*meeting.FloorPlan, error) // by site and floor
	// UpdateFloorPlan also replaces the picture, unless it is nil.
	UpdateFloorPlan(ctx context.Context, id int64, picture *photo.Picture, fn func(*meeting.FloorPlan) error) (*meeting.FloorPlan, error)
	DeleteFloorPlan(ctx context.Context, id int64, fn func(*meeting.FloorPlan) error) error
	FloorPlanPicture(ctx context.Context, id int64) (picture *photo.Picture, version string, err error)
}
