package places

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
)

const (
	maxFaultText = 500
	// maxOpenFaults is how many open reports a room can have: further ones add nothing.
	maxOpenFaults = 50
)

// FaultReportFields are the content of a new report.
type FaultReportFields struct {
	RoomID   int64
	Category meeting.FaultCategory
	Text     string

	Faults []meeting.Fault // found while decoding
}

// ReportFault records that something in a room is broken, mails it to the facility contact of the
// room or of its site, if there is one, and posts it in their chat channels.
func (s *Service) ReportFault(ctx context.Context, by meeting.Actor, f FaultReportFields) (*meeting.FaultReport, error) {
	var found fault.List
	room, err := s.store.Rooms(ctx, []int64{f.RoomID})
	if err != nil {
		return nil, fmt.Errorf("look up room: %w", err)
	}
	if by, err = s.booking.WithDeputies(ctx, by); err != nil {
		return nil, err
	}
	if room = by.VisibleRooms(room); len(room) == 0 {
		found.Add("room_id", "unknown_room", "room %d does not exist", f.RoomID)
	}
	if !slices.Contains(meeting.FaultCategories, f.Category) {
		found.Add("category", "unknown_value", "must be equipment, cleanliness, temperature or other")
	}
	f.Text = strings.TrimSpace(f.Text)
	if found.Text("text", f.Text, maxFaultText); f.Text == "" && f.Category == meeting.OtherFault {
		found.Add("text", "required", "is required for the category other")
	}
	if err := fault.Merge(f.Faults, found).Err(); err != nil {
		return nil, err
	}
	at := s.booking.Now()
	r := &meeting.FaultReport{RoomID: f.RoomID, Room: room[0].Name, Category: f.Category, Text: f.Text, By: by.ID, ByName: by.Name, CreatedAt: at, UpdatedAt: at}
	to, zone, err := s.facility(ctx, room[0])
	if err != nil {
		return nil, err
	}
	channels, err := s.store.ChatChannels(ctx, []int64{r.RoomID})
	if err != nil {
		return nil, err
	}
	facts := meeting.Facts{By: by.Name, Rooms: []string{r.Room}, Reason: string(r.Category), Comment: r.Text, Timezone: zone}
	notices := meeting.PostFault(room[0], channels, facts, at)
	if to != "" {
		notices = append(notices, meeting.Notice{
			Kind: meeting.NoticeFaultReport, Channel: meeting.Email, To: meeting.Person{Email: to}, Due: at, Facts: facts,
		})
	}
	err = s.store.CreateFaultReport(ctx, r, notices, func(open int64) error {
		if open >= maxOpenFaults {
			return fault.Invalid("room_id", "too_many", "must be a room with fewer than %d open reports", maxOpenFaults)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.scheduler.Schedule(ctx, booking.Deliveries(notices)...)
	return r, nil
}

// facility returns the mail address to which faults of a room go, empty for none, and the room's zone.
func (s *Service) facility(ctx context.Context, r *meeting.Room) (address, zone string, err error) {
	address, zone = r.Facility, cmp.Or(r.Zone, s.booking.Settings().Timezone)
	if address == "" && r.SiteID != 0 {
		site, err := s.store.Site(ctx, r.SiteID)
		if err != nil && !errors.Is(err, meeting.ErrNotFound) {
			return "", "", fmt.Errorf("look up site: %w", err)
		}
		if err == nil {
			address = site.Facility
		}
	}
	return address, zone, nil
}

// FaultReport finds a report.
func (s *Service) FaultReport(ctx context.Context, by meeting.Actor, id int64) (*meeting.FaultReport, error) {
	r, err := s.store.FaultReport(ctx, id)
	if err == nil {
		_, err = s.booking.VisibleRoom(ctx, by, r.RoomID)
	}
	if err != nil {
		return nil, err
	}
	return r.Shown(by), nil
}

// FaultReports lists reports, latest first. Only managers, admins and the reporter see who reported one.
func (s *Service) FaultReports(ctx context.Context, by meeting.Actor, q meeting.FaultReportQuery, p meeting.Page) (rs []*meeting.FaultReport, next string, err error) {
	if by, err = s.booking.WithDeputies(ctx, by); err != nil {
		return nil, "", err
	}
	q.Viewer = &by
	rs, next, err = s.store.ListFaultReports(ctx, q, p)
	for i := range rs {
		rs[i] = rs[i].Shown(by)
	}
	return rs, next, err
}

// CloseFault marks a report as done, or as open again. Admins may do so, and approvers of the room.
// ifMatch, unless nil, is the expected version.
func (s *Service) CloseFault(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, done bool) (*meeting.FaultReport, error) {
	if _, err := s.FaultReport(ctx, by, id); err != nil {
		return nil, err
	}
	var same *meeting.FaultReport
	r, err := s.store.UpdateFaultReport(ctx, id, func(r *meeting.FaultReport, room *meeting.Room) error {
		if !by.MayReject([]*meeting.Room{room}) {
			return meeting.ErrForbidden
		}
		if err := fault.CheckVersion(ifMatch, r.Version); err != nil {
			return err
		}
		if done == !r.DoneAt.IsZero() {
			same = r
			return booking.ErrUnchanged
		}
		r.UpdatedAt = s.booking.Now()
		r.DoneAt = time.Time{}
		if done {
			r.DoneAt = r.UpdatedAt
		}
		return nil
	})
	if errors.Is(err, booking.ErrUnchanged) {
		return same, nil
	}
	return r, err
}
