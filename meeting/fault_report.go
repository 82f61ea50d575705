package meeting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
)

// FaultReport says that something in a room is broken.
type FaultReport struct {
	ID        int64
	RoomID    int64
	Room      string // its name, read only
	Category  FaultCategory
	Text      string
	By        int64     // user who reported it; 0: erased since
	ByName    string    // read only
	DoneAt    time.Time // zero: open
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// FaultCategory says who can help.
type FaultCategory string

// FaultCategories lists all categories. Other needs a text.
var FaultCategories = []FaultCategory{"equipment", "cleanliness", "temperature", OtherFault}

// OtherFault is the category of a fault that only its text describes.
const OtherFault FaultCategory = "other"

const (
	maxFaultText = 500
	// maxOpenFaults is how many open reports a room can have: more tell nothing new.
	maxOpenFaults = 50
)

// FaultReportFields are the content of a new report.
type FaultReportFields struct {
	RoomID   int64
	Category FaultCategory
	Text     string

	Faults []Fault // found while decoding
}

// FaultReportQuery filters reports; a zero field does not filter.
type FaultReportQuery struct {
	RoomID int64
	Open   bool
	Done   bool
}

// ReportFault records that something in a room is broken, and mails it to the facility contact of the
// room or of its site, if there is one.
func (s *Service) ReportFault(ctx context.Context, by Actor, f FaultReportFields) (*FaultReport, error) {
	var found fault.List
	room, err := s.store.Rooms(ctx, []int64{f.RoomID})
	if err != nil {
		return nil, fmt.Errorf("look up room: %w", err)
	}
	if len(room) == 0 {
		found.Add("room_id", "unknown_room", "room %d does not exist", f.RoomID)
	}
	if !slices.Contains(FaultCategories, f.Category) {
		found.Add("category", "unknown_value", "must be equipment, cleanliness, temperature or other")
	}
	f.Text = strings.TrimSpace(f.Text)
	if found.Text("text", f.Text, maxFaultText); f.Text == "" && f.Category == OtherFault {
		found.Add("text", "required", "is required for the category other")
	}
	if err := fault.Merge(f.Faults, found).Err(); err != nil {
		return nil, err
	}
	at := s.clock()
	r := &FaultReport{RoomID: f.RoomID, Room: room[0].Name, Category: f.Category, Text: f.Text, By: by.ID, ByName: by.Name, CreatedAt: at, UpdatedAt: at}
	to, zone, err := s.facility(ctx, room[0])
	if err != nil {
		return nil, err
	}
	var notices []Notice
	if to != "" {
		notices = []Notice{{
			Kind: NoticeFaultReport, Channel: Email, To: Person{Email: to}, Due: at,
			Facts: Facts{By: by.Name, Rooms: []string{r.Room}, Reason: string(r.Category), Comment: r.Text, Timezone: zone},
		}}
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
	s.scheduler.Schedule(ctx, Deliveries(notices)...)
	return r, nil
}

// facility returns the mail address to which faults of a room go, empty for none, and the room's zone.
func (s *Service) facility(ctx context.Context, r *Room) (address, zone string, err error) {
	address, zone = r.Facility, cmp.Or(r.Zone, s.conf().Timezone)
	if address == "" && r.SiteID != 0 {
		site, err := s.store.Site(ctx, r.SiteID)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return "", "", fmt.Errorf("look up site: %w", err)
		}
		if err == nil {
			address = site.Facility
		}
	}
	return address, zone, nil
}

// FaultReport finds a report.
func (s *Service) FaultReport(ctx context.Context, by Actor, id int64) (*FaultReport, error) {
	r, err := s.store.FaultReport(ctx, id)
	if err != nil {
		return nil, err
	}
	return r.shown(by), nil
}

// FaultReports lists reports, latest first. Only managers, admins and the reporter see who reported one.
func (s *Service) FaultReports(ctx context.Context, by Actor, q FaultReportQuery, p Page) (rs []*FaultReport, next string, err error) {
	rs, next, err = s.store.ListFaultReports(ctx, q, p)
	for i := range rs {
		rs[i] = rs[i].shown(by)
	}
	return rs, next, err
}

// shown returns the report as the actor may see it.
func (r *FaultReport) shown(by Actor) *FaultReport {
	if ranks[by.Role] < ranks[Manager] && by.ID != r.By {
		seen := *r
		seen.By, seen.ByName = 0, ""
		return &seen
	}
	return r
}

// CloseFault marks a report as done, or as open again. Admins may do so, and approvers of the room.
// ifMatch, unless nil, is the expected version.
func (s *Service) CloseFault(ctx context.Context, by Actor, id int64, ifMatch *int64, done bool) (*FaultReport, error) {
	seen, err := s.store.FaultReport(ctx, id)
	if err != nil {
		return nil, err
	}
	rooms, err := s.store.Rooms(ctx, []int64{seen.RoomID})
	if err != nil {
		return nil, fmt.Errorf("look up room: %w", err)
	}
	if !by.MayReject(rooms) {
		return nil, ErrForbidden
	}
	var same *FaultReport
	r, err := s.store.UpdateFaultReport(ctx, id, func(r *FaultReport) error {
		if err := checkVersion(ifMatch, r.Version); err != nil {
			return err
		}
		if done == !r.DoneAt.IsZero() {
			same = r
			return errUnchanged
		}
		r.UpdatedAt = s.clock()
		r.DoneAt = time.Time{}
		if done {
			r.DoneAt = r.UpdatedAt
		}
		return nil
	})
	if errors.Is(err, errUnchanged) {
		return same, nil
	}
	return r, err
}
