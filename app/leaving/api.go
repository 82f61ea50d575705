package leaving

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/account/fault"
	"punctual/account/rest"
)

// Register adds the operations to api. The table in package account decides who may call them.
func Register(api huma.API, s *Service) {
	h := &handlers{s}
	op := func(id, method, path, summary string, errors ...int) huma.Operation {
		return huma.Operation{
			OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{"People"},
			Errors: append(errors, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound),
		}
	}
	leave := op("leave-user", http.MethodPost, "/users/{id}/leave", "Disable a user who leaves, and hand over or cancel their meetings",
		http.StatusConflict, http.StatusUnprocessableEntity)
	leave.Description = "A job carries it out; `GET` shows how far it is. Only meetings that have not begun change. " +
		"With `dry_run` nothing is changed, and the response has only `duties`."
	huma.Register(api, leave, h.leave)
	erase := op("erase-user", http.MethodDelete, "/users/{id}", "Erase the data of a user who has left", http.StatusConflict)
	erase.DefaultStatus = http.StatusAccepted
	erase.Description = "Names, addresses and phone numbers are replaced by placeholders everywhere. Meetings, histories and reports stay. " +
		"Afterward, the address can be used for a new account. A job carries out the erasure; `GET /erasures` shows its progress. It cannot be undone."
	huma.Register(api, erase, h.erase)
	guest := op("erase-guest", http.MethodPost, "/erasures", "Erase the data of a person without an account", http.StatusUnprocessableEntity)
	guest.DefaultStatus = http.StatusAccepted
	huma.Register(api, guest, h.eraseGuest)
	huma.Register(api, op("list-erasures", http.MethodGet, "/erasures", "List erasures, newest first", http.StatusUnprocessableEntity), h.erasures)
	for _, path := range []string{"/me/data", "/users/{id}/data"} {
		id := map[bool]string{true: "export-me", false: "export-user"}[path == "/me/data"]
		export := op(id, http.MethodGet, path, "Export all data about a user", http.StatusTooManyRequests)
		export.Description = "A JSON object with a list for each kind of data: the profile, meetings organized and attended, series, places on " +
			"waiting lists, notifications, history and audit entries, sessions, tokens, feeds and others, without secrets. At most 5 exports an hour."
		export.Metadata = map[string]any{"heavy": true}
		export.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
			"application/json": {Schema: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}},
		}}}
		if id == "export-me" {
			huma.Register(api, export, func(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
				return h.export(ctx, caller(ctx).ID)
			})
			continue
		}
		huma.Register(api, export, func(ctx context.Context, in *struct {
			ID int64 `path:"id"`
		}) (*huma.StreamResponse, error) {
			return h.export(ctx, in.ID)
		})
	}
	huma.Register(api, op("get-departure", http.MethodGet, "/users/{id}/leave", "Get the progress of a user's departure"), h.departure)
}

type handlers struct{ *Service }

type leaveInput struct {
	ID   int64 `path:"id"`
	Body struct {
		Meetings choiceInput `json:"meetings"`
		ToUserID int64       `json:"to_user_id,omitempty" doc:"The user who takes over; required with hand_over. Quotas do not apply"`
		Reason   string      `json:"reason,omitempty" doc:"For attendees and the history"`
		DryRun   bool        `json:"dry_run,omitempty" doc:"Only count what the user still has to do"`
	}
}

// choiceInput documents its values, and leaves the check to the service.
type choiceInput string

func (choiceInput) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Extensions: map[string]any{"enum": []Choice{HandOver, Cancel, Keep}}}
}

// DepartureBody is how a user leaves.
type DepartureBody struct {
	UserID     int64       `json:"user_id"`
	State      string      `json:"state" enum:"none,preview,running,done,incomplete" doc:"none: the user has not left. incomplete: the job has ended, but could not change all meetings"`
	Meetings   *string     `json:"meetings" enum:"hand_over,cancel,keep"`
	ToUserID   *int64      `json:"to_user_id"`
	Reason     *string     `json:"reason"`
	Total      int64       `json:"total" doc:"Upcoming meetings of the user at the start of the job, including dates of series"`
	Left       int64       `json:"left" doc:"Upcoming meetings that are left. Once the job has ended, those that could not be changed, unless meetings is keep"`
	Duties     *DutiesBody `json:"duties" doc:"What the user still has to do; only with dry_run"`
	CreatedAt  *time.Time  `json:"created_at"`
	FinishedAt *time.Time  `json:"finished_at"`
}

// DutiesBody is what a user still has to do.
type DutiesBody struct {
	Meetings int64 `json:"meetings" doc:"Upcoming meetings that the user organizes, including dates of series"`
	Series   int64 `json:"series" doc:"Series among these meetings"`
	Waits    int64 `json:"waits" doc:"Places on waiting lists, which end"`
	Rooms    int64 `json:"rooms" doc:"Rooms for which the user approves"`
	Requests int64 `json:"requests" doc:"Requests in these rooms that wait for a decision"`
}

type departureOutput struct{ Body DepartureBody }

func (h *handlers) leave(ctx context.Context, in *leaveInput) (*departureOutput, error) {
	p := Plan{Meetings: Choice(in.Body.Meetings), ToUserID: in.Body.ToUserID, Reason: in.Body.Reason}
	if in.Body.DryRun {
		d, err := h.Preview(ctx, in.ID, p)
		if err != nil {
			return nil, err
		}
		out := outputOf(&Departure{UserID: in.ID, Meetings: p.Meetings, ToUserID: p.ToUserID, Reason: p.Reason, Total: d.Meetings, Left: d.Meetings})
		duties := DutiesBody(d)
		out.Body.State, out.Body.Duties = "preview", &duties
		return out, nil
	}
	d, err := h.Leave(ctx, caller(ctx), in.ID, p)
	if err != nil {
		return nil, err
	}
	return outputOf(d), nil
}

func (h *handlers) departure(ctx context.Context, in *struct {
	ID int64 `path:"id"`
}) (*departureOutput, error) {
	d, err := h.Departure(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return outputOf(d), nil
}

func outputOf(d *Departure) *departureOutput {
	b := DepartureBody{
		UserID: d.UserID, State: "running", Meetings: rest.OrNull(string(d.Meetings)), ToUserID: rest.OrNull(d.ToUserID), Reason: rest.OrNull(d.Reason),
		Total: d.Total, Left: d.Left, CreatedAt: rest.OrNull(d.CreatedAt), FinishedAt: rest.OrNull(d.Finished),
	}
	switch {
	case d.CreatedAt.IsZero():
		b.State = "none"
	case d.Incomplete():
		b.State = "incomplete"
	case !d.Finished.IsZero():
		b.State = "done"
	}
	return &departureOutput{b}
}

func caller(ctx context.Context) Admin {
	if who, ok := account.FromContext(ctx); ok {
		return Admin{who.UserID, who.Name}
	}
	return Admin{}
}

// ErasureBody is a person who is erased.
type ErasureBody struct {
	ID         int64      `json:"id"`
	UserID     *int64     `json:"user_id" doc:"null for a person without an account"`
	State      string     `json:"state" enum:"running,done"`
	Changed    int64      `json:"changed" doc:"Rows that were changed or deleted so far"`
	By         string     `json:"by" doc:"Name of the admin"`
	CreatedAt  time.Time  `json:"created_at"`
	FinishedAt *time.Time `json:"finished_at"`
}

type erasureOutput struct{ Body ErasureBody }

func erasureOf(e *Erasure) ErasureBody {
	b := ErasureBody{
		ID: e.ID, UserID: rest.OrNull(e.UserID), State: "running", Changed: e.Changed, By: e.ByName, CreatedAt: e.CreatedAt, FinishedAt: rest.OrNull(e.Finished),
	}
	if !e.Finished.IsZero() {
		b.State = "done"
	}
	return b
}

func (h *handlers) erase(ctx context.Context, in *struct {
	ID int64 `path:"id"`
}) (*erasureOutput, error) {
	e, err := h.Erase(ctx, caller(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &erasureOutput{erasureOf(e)}, nil
}

func (h *handlers) eraseGuest(ctx context.Context, in *struct {
	Body struct {
		Email string `json:"email"`
	}
}) (*erasureOutput, error) {
	e, err := h.EraseGuest(ctx, caller(ctx), in.Body.Email)
	if err != nil {
		return nil, err
	}
	return &erasureOutput{erasureOf(e)}, nil
}

type erasuresOutput struct {
	Body struct {
		Items      []ErasureBody `json:"items" nullable:"false"`
		NextCursor *string       `json:"next_cursor" doc:"Cursor of the next page; null on the last page"`
	}
}

func (h *handlers) erasures(ctx context.Context, in *struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
	Cursor string `query:"cursor" maxLength:"30"`
}) (*erasuresOutput, error) {
	var before int64
	if in.Cursor != "" {
		var err error
		if before, err = strconv.ParseInt(in.Cursor, 10, 64); err != nil || before <= 0 {
			return nil, fault.Invalid("query.cursor", "invalid_cursor", "must be a next_cursor of this list")
		}
	}
	es, err := h.Erasures(ctx, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	out := &erasuresOutput{}
	if len(es) > in.Limit {
		es = es[:in.Limit]
		next := strconv.FormatInt(es[in.Limit-1].ID, 10)
		out.Body.NextCursor = &next
	}
	out.Body.Items = make([]ErasureBody, len(es))
	for i, e := range es {
		out.Body.Items[i] = erasureOf(e)
	}
	return out, nil
}

func (h *handlers) export(ctx context.Context, userID int64) (*huma.StreamResponse, error) {
	write, err := h.Export(ctx, userID)
	if err != nil {
		return nil, err
	}
	if ok, after := h.Exports.Allow(ctx, strconv.FormatInt(caller(ctx).ID, 10)); !ok {
		return nil, &account.RateLimitError{RetryAfter: after}
	}
	return &huma.StreamResponse{Body: func(out huma.Context) {
		out.SetHeader("Content-Type", "application/json")
		out.SetHeader("Content-Disposition", fmt.Sprintf(`attachment; filename="user-%d.json"`, userID))
		if err := write(out.BodyWriter()); err != nil && ctx.Err() == nil {
			h.Log.Error("an export failed", "user_id", userID, "error", err)
		}
	}}, nil
}
