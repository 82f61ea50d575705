package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/meeting"
	"punctual/meeting/places"
)

// FaultRate is how many faults one user, or one door display, can report.
var FaultRate = account.Rate{Count: 20, Per: time.Hour}

// FaultReport says that something in a room is broken.
type FaultReport struct {
	ID        int64      `json:"id"`
	Room      NamedRef   `json:"room"`
	Category  string     `json:"category" enum:"equipment,cleanliness,temperature,other"`
	Text      string     `json:"text"`
	By        *NamedRef  `json:"by,omitempty" doc:"User who reported it; only for managers, admins and the reporter"`
	State     string     `json:"state" enum:"open,done"`
	DoneAt    *time.Time `json:"done_at" nullable:"true"`
	Version   int64      `json:"version"`
	CreatedAt time.Time  `json:"created_at"`
	UpdatedAt time.Time  `json:"updated_at"`
}

func faultReportOf(r *meeting.FaultReport) FaultReport {
	out := FaultReport{
		ID: r.ID, Room: NamedRef{ID: r.RoomID, Name: r.Room}, Category: string(r.Category), Text: r.Text, State: "open", DoneAt: instant(r.DoneAt),
		Version: r.Version, CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
	}
	if r.By != 0 {
		out.By = &NamedRef{ID: r.By, Name: r.ByName}
	}
	if out.DoneAt != nil {
		out.State = "done"
	}
	return out
}

// FaultReportInput is a new report.
type FaultReportInput struct {
	RoomID   int64         `json:"room_id"`
	Category string        `json:"category" enum:"equipment,cleanliness,temperature,other"`
	Text     Field[string] `json:"text,omitempty" doc:"At most 500 characters; required for the category other" example:"The projector shows no picture"`
}

// FaultReportPatch closes a report, or opens it again.
type FaultReportPatch struct {
	State Field[string] `json:"state,omitempty" enum:"open,done"`
}

func (h *handlers) registerFaultReports(api huma.API) {
	const tag = "Fault reports"
	list := operation("list-fault-reports", http.MethodGet, "/fault-reports", "List fault reports, newest first", tag)
	register(api, list, h.listFaultReports)
	add := creates(operation("create-fault-report", http.MethodPost, "/fault-reports", "Report a fault of a room", tag))
	add.Description = "It is mailed to the facility_email of the room, otherwise of its site. A user can report 20 faults an hour."
	add.Errors = append(add.Errors, http.StatusTooManyRequests)
	register(api, add, h.createFaultReport)
	register(api, operation("get-fault-report", http.MethodGet, "/fault-reports/{id}", "Get a fault report", tag), h.faultReport)
	change := operation("update-fault-report", http.MethodPatch, "/fault-reports/{id}", "Mark a fault as done, or as open", tag)
	change.Description = "For admins and approvers of the room."
	register(api, change, h.updateFaultReport)
}

type faultReportsInput struct {
	Paging
	RoomID int64  `query:"room_id"`
	State  string `query:"state" enum:"open,done"`
}

func (h *handlers) listFaultReports(ctx context.Context, in *faultReportsInput) (*listOutput[FaultReport], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	q := meeting.FaultReportQuery{RoomID: in.RoomID, Open: in.State == "open", Done: in.State == "done"}
	found, next, err := h.places.FaultReports(ctx, by, q, in.page())
	if err != nil {
		return nil, err
	}
	return listed(found, next, faultReportOf), nil
}

func (h *handlers) createFaultReport(ctx context.Context, in *struct{ Body Body[FaultReportInput] }) (*made[FaultReport], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	input, faults := in.Body.read(h.registry)
	r, err := reportFault(ctx, h.places, h.faults, by, places.FaultReportFields{
		RoomID: input.RoomID, Category: meeting.FaultCategory(input.Category), Text: input.Text.Value, Faults: faults,
	})
	if err != nil {
		return nil, err
	}
	return &made[FaultReport]{ETag: etag(r.Version), Location: h.locate("fault-reports", r.ID), Body: faultReportOf(r)}, nil
}

// reportFault counts for the limit only what is recorded.
func reportFault(ctx context.Context, svc *places.Service, limit account.Limiter, by meeting.Actor, f places.FaultReportFields) (*meeting.FaultReport, error) {
	key := strconv.FormatInt(by.ID, 10)
	if ok, after := limit.Allow(ctx, key); !ok {
		return nil, &account.RateLimitError{RetryAfter: after}
	}
	r, err := svc.ReportFault(ctx, by, f)
	if err != nil {
		limit.Forgive(ctx, key)
	}
	return r, err
}

func (h *handlers) faultReport(ctx context.Context, in *Target) (*one[FaultReport], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return answerFaultReport(h.places.FaultReport(ctx, by, in.ID))
}

type updateFaultReportInput struct {
	Target
	Guard
	Body Body[FaultReportPatch]
}

func (h *handlers) updateFaultReport(ctx context.Context, in *updateFaultReportInput) (*one[FaultReport], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	by, err = h.svc.WithDeputies(ctx, by)
	if err != nil {
		return nil, err
	}
	patch, faults := in.Body.read(h.registry)
	if len(faults) > 0 {
		return nil, &meeting.InvalidError{Faults: faults}
	}
	if !patch.State.Set {
		return h.faultReport(ctx, &in.Target)
	}
	return answerFaultReport(h.places.CloseFault(ctx, by, in.ID, in.version(), patch.State.Value == "done"))
}

func answerFaultReport(r *meeting.FaultReport, err error) (*one[FaultReport], error) {
	if err != nil {
		return nil, err
	}
	return &one[FaultReport]{ETag: etag(r.Version), Body: faultReportOf(r)}, nil
}

// DoorFault is a fault that somebody at the door reports.
type DoorFault struct {
	Category string        `json:"category" enum:"equipment,cleanliness,temperature,other"`
	Text     Field[string] `json:"text,omitempty" doc:"At most 500 characters; required for the category other"`
}

func (h *doorHandlers) reportFault(ctx context.Context, in *struct{ Body Body[DoorFault] }) (*struct{}, error) {
	by, roomID, err := h.device(ctx)
	if err != nil {
		return nil, err
	}
	input, faults := in.Body.read(h.registry)
	_, err = reportFault(ctx, h.places, h.faults, by, places.FaultReportFields{
		RoomID: roomID, Category: meeting.FaultCategory(input.Category), Text: input.Text.Value, Faults: faults,
	})
	return nil, err
}
