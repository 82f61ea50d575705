package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"punctual/meeting"
	"punctual/meeting/places"
)

// RoomImport is a list of rooms to create.
type RoomImport struct {
	CSV          string         `json:"csv" maxLength:"1000000" doc:"At most 1,000 rooms, one per line: name, capacity, floor, features (separated by semicolons or slashes), site (name). A first line with these words as column names may put them in another order" example:"name,capacity,floor,features\nTuring,8,3,projector;video"`
	SiteID       int64          `json:"site_id,omitempty" minimum:"0" doc:"Site of the rooms that name none"`
	OpeningHours []OpeningHours `json:"opening_hours,omitempty" nullable:"false" doc:"Opening hours of the rooms that are created; omitted or empty if they are always open"`
	DryRun       bool           `json:"dry_run,omitempty" doc:"Whether to only report what would happen, with all faults"`
}

// ImportedRoom is the result of one line.
type ImportedRoom struct {
	Line     int                 `json:"line"`
	Status   string              `json:"status" enum:"new,exists,invalid" doc:"exists: the site already has a room with this name, which stays as it is"`
	ID       int64               `json:"id,omitempty" doc:"The created room"`
	Name     string              `json:"name"`
	Capacity int                 `json:"capacity"`
	Floor    string              `json:"floor"`
	Features []string            `json:"features" nullable:"false"`
	SiteID   *int64              `json:"site_id"`
	Errors   []ImportedRoomFault `json:"errors,omitempty" nullable:"false"`
}

// ImportedRoomFault is one thing wrong with a line.
type ImportedRoomFault struct {
	Column  string `json:"column" example:"capacity"`
	Code    string `json:"code" example:"malformed"`
	Message string `json:"message"`
}

type roomImportOutput struct {
	Body struct {
		Items []ImportedRoom `json:"items" nullable:"false"`
	}
}

func (h *handlers) registerRoomImport(api huma.API) {
	register(api, operation("import-rooms", http.MethodPost, "/rooms/import", "Add rooms from a CSV list, all or none; rooms that exist are left out", "Rooms"), h.importRooms)
}

func (h *handlers) importRooms(ctx context.Context, in *struct{ Body Body[RoomImport] }) (*roomImportOutput, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	body, faults := in.Body.read(h.registry)
	if len(faults) > 0 {
		return nil, &meeting.InvalidError{Faults: faults}
	}
	rows, err := h.places.ImportRooms(ctx, by, places.RoomList{CSV: body.CSV, SiteID: body.SiteID, OpeningHours: hours(body.OpeningHours)}, body.DryRun)
	if err != nil {
		return nil, err
	}
	out := &roomImportOutput{}
	out.Body.Items = make([]ImportedRoom, len(rows))
	for i, row := range rows {
		out.Body.Items[i] = importedRoomOf(row)
	}
	return out, nil
}

func importedRoomOf(row places.ImportedRoom) ImportedRoom {
	r := row.Room
	out := ImportedRoom{Line: row.Line, Status: "new", ID: r.ID, Name: r.Name, Capacity: r.Capacity, Floor: r.Floor, Features: append([]string{}, r.Features...)}
	if r.SiteID != 0 {
		out.SiteID = &r.SiteID
	}
	if row.Exists {
		out.Status = "exists"
	}
	for _, f := range row.Faults {
		out.Status = "invalid"
		out.Errors = append(out.Errors, ImportedRoomFault{Column: f.Location, Code: f.Code, Message: f.Message})
	}
	return out
}
