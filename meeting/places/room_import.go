package places

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"punctual/account/fault"
	"punctual/account/table"
	"punctual/meeting"
	"punctual/meeting/policy"
)

// maxImported limits the rooms of one import.
const maxImported = 1000

// roomColumns are the columns of a list of rooms, in the order of lists without a header.
var roomColumns = []string{"name", "capacity", "floor", "features", "site"}

// RoomList is a list of rooms to create.
type RoomList struct {
	CSV          string                // see [Service.ImportRooms]
	SiteID       int64                 // of rooms that name no site; 0: none
	OpeningHours []policy.OpeningHours // of the created rooms; none: always open
}

// ImportedRoom is one row of an imported list.
type ImportedRoom struct {
	Line     int
	Room     *meeting.Room
	SiteName string
	Exists   bool // a room with this name at this site; left as it is
	Faults   []meeting.Fault
}

// ImportRooms creates the rooms of a CSV list, see [table.Read], with the columns name, capacity,
// floor, features (separated by semicolons, or slashes) and site (by name). Rooms that exist are left
// out, so an import may be repeated.
//
// With dryRun it only reports what it would do, including faults by row. Otherwise it creates all
// or none: for faults it returns an [*meeting.InvalidError] with locations such as "csv[3].capacity", where
// 3 is the line.
func (s *Service) ImportRooms(ctx context.Context, by meeting.Actor, list RoomList, dryRun bool) ([]ImportedRoom, error) {
	if !by.MayManageRooms() {
		return nil, meeting.ErrForbidden
	}
	lines, err := table.Read(list.CSV, roomColumns)
	if e, ok := errors.AsType[*table.SyntaxError](err); ok {
		return nil, fault.Invalid(fmt.Sprintf("csv[%d]", e.Line), "malformed", "%s", e.Message)
	}
	switch {
	case err != nil:
		return nil, err
	case len(lines) == 0:
		return nil, fault.Invalid("csv", "required", "must list at least one room")
	case len(lines) > maxImported:
		return nil, fault.Invalid("csv", "too_many", "must list at most %d rooms", maxImported)
	}
	var wrong fault.List
	checkHours(&wrong, "opening_hours", list.OpeningHours)
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	sites, err := s.siteIDs(ctx)
	if err != nil {
		return nil, err
	}
	look, err := s.lookUpRoom(ctx, &RoomFields{SiteID: &list.SiteID})
	if err != nil {
		return nil, err
	}
	if look.siteMissing {
		return nil, fault.Invalid("site_id", "unknown_site", "site %d does not exist", list.SiteID)
	}
	known, err := s.roomKeys(ctx)
	if err != nil {
		return nil, err
	}
	var rows []ImportedRoom
	var created []*meeting.Room
	var all fault.List
	for _, line := range lines {
		row := s.importedRoom(line, list, sites, look)
		key := roomKey{row.Room.SiteID, strings.ToLower(row.Room.Name)}
		switch first, seen := known[key]; {
		case !seen:
			known[key] = line.Line
		case first == 0:
			row.Exists = true
		case len(row.Faults) == 0:
			row.Faults = append(row.Faults, fault.New("name", "duplicate", "is also in line %d", first))
		}
		for _, f := range row.Faults {
			all.Add(fmt.Sprintf("csv[%d].%s", line.Line, f.Location), f.Code, "%s", f.Message)
		}
		if !row.Exists {
			created = append(created, row.Room)
		}
		rows = append(rows, row)
	}
	if dryRun {
		return rows, nil
	}
	if err := all.Err(); err != nil {
		return nil, err
	}
	if err := s.store.CreateRooms(ctx, created); err != nil {
		return nil, err
	}
	var ids []int64
	for _, r := range created {
		ids = append(ids, r.ID)
	}
	return rows, s.followHolidaysOf(ctx, ids...)
}

type roomKey struct {
	siteID int64
	name   string // lower case
}

// roomKeys returns the rooms that exist, each with 0.
func (s *Service) roomKeys(ctx context.Context) (map[roomKey]int, error) {
	known := map[roomKey]int{}
	for p := (meeting.Page{Limit: 500}); ; {
		rooms, next, err := s.store.ListRooms(ctx, meeting.RoomQuery{IncludeInactive: true}, p)
		if err != nil {
			return nil, err
		}
		for _, r := range rooms {
			known[roomKey{r.SiteID, strings.ToLower(r.Name)}] = 0
		}
		if p.Cursor = next; next == "" {
			return known, nil
		}
	}
}

func (s *Service) siteIDs(ctx context.Context) (map[string]int64, error) {
	ids := map[string]int64{}
	for p := (meeting.Page{Limit: 500}); ; {
		sites, next, err := s.store.ListSites(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, site := range sites {
			ids[strings.ToLower(site.Name)] = site.ID
		}
		if p.Cursor = next; next == "" {
			return ids, nil
		}
	}
}

func (s *Service) importedRoom(line table.Row, list RoomList, sites map[string]int64, look roomLookUp) ImportedRoom {
	row := ImportedRoom{Line: line.Line, SiteName: line.Cells["site"]}
	f := RoomFields{Name: new(line.Cells["name"]), Floor: new(line.Cells["floor"]), SiteID: &list.SiteID, OpeningHours: &list.OpeningHours}
	if name := line.Cells["site"]; name != "" {
		id, ok := sites[strings.ToLower(name)]
		if !ok {
			row.Faults = append(row.Faults, fault.New("site", "unknown_site", "must be the name of a site"))
		}
		f.SiteID = &id
	}
	if text := line.Cells["capacity"]; text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			row.Faults = append(row.Faults, fault.New("capacity", "malformed", "must be a whole number"))
		} else {
			f.Capacity = &n
		}
	}
	var features []string
	for _, feature := range strings.FieldsFunc(line.Cells["features"], func(c rune) bool { return strings.ContainsRune(";,/|", c) }) {
		if feature = strings.TrimSpace(feature); feature != "" {
			features = append(features, feature)
		}
	}
	f.Features = &features
	row.Room = &meeting.Room{Room: policy.Room{Active: true}, CheckIn: s.booking.Settings().CheckIn, Inherits: true, CreatedAt: s.booking.Now()}
	row.Room.UpdatedAt = row.Room.CreatedAt
	if invalid, ok := errors.AsType[*meeting.InvalidError](f.apply(row.Room, look)); ok {
		row.Faults = append(row.Faults, invalid.Faults...)
	}
	return row
}
