package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"gorm.io/gorm"

	"punctual/account/fault"
	"punctual/account/rest"
	"punctual/app/audit"
	"punctual/meeting"
)

type auditAPI struct {
	db  *gorm.DB
	log *slog.Logger
}

type auditEntry struct {
	ID      string                 `json:"id" example:"a42"`
	At      time.Time              `json:"at"`
	Action  string                 `json:"action" example:"room.changed" doc:"Action as subject.verb; for a meeting, the actions of its history"`
	Actor   auditActor             `json:"actor"`
	Address *string                `json:"address" nullable:"true" doc:"IP address of the client; null if no client caused the entry"`
	Subject auditSubject           `json:"subject"`
	Changes map[string]auditChange `json:"changes" doc:"Old and new values by field; secrets are masked"`
	Reason  *string                `json:"reason" nullable:"true"`
}

type auditActor struct {
	Kind string `json:"kind" enum:"user,timer,system"`
	ID   *int64 `json:"id" nullable:"true" doc:"User ID; null if the actor is not a known user"`
	Name string `json:"name"`
}

type auditSubject struct {
	Kind string `json:"kind" example:"room"`
	ID   string `json:"id"`
	Name string `json:"name" doc:"Name at that time; for a meeting, its current title"`
}

type auditChange struct {
	From any `json:"from"`
	To   any `json:"to"`
}

type auditQuery struct {
	AuditFilter
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor string `query:"cursor" maxLength:"500"`
}

// AuditFilter selects entries of the audit log.
type AuditFilter struct {
	Actor   string `query:"actor" maxLength:"30" doc:"A user ID, or one of user, timer and system" example:"4"`
	Action  string `query:"action" maxLength:"500" doc:"Actions to list, separated by commas; room.* matches all actions on rooms" example:"room.*,site.created"`
	Subject string `query:"subject" maxLength:"300" doc:"A type of subject, or one subject such as room:12" example:"room"`
	From    string `query:"from" doc:"Entries at or after this time" example:"2027-02-01T00:00:00Z"`
	To      string `query:"to" doc:"Entries before this time" example:"2027-03-01T00:00:00Z"`
	Q       string `query:"q" maxLength:"200" doc:"Text in the name of the actor or subject, in the reason or in the address; ignores case"`
}

type auditList struct {
	Body struct {
		Items      []auditEntry `json:"items" nullable:"false"`
		NextCursor *string      `json:"next_cursor" nullable:"true" doc:"Cursor of the next page; null on the last page"`
	}
}

func (a *auditAPI) register(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "list-audit", Method: http.MethodGet, Path: "/audit", Tags: []string{"Operation"},
		Summary:     "List changes to the installation and to meetings, newest first",
		Description: "A page ends early, perhaps without a match, after 10,000 entries were searched. `next_cursor` continues the search.",
		Errors:      []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity},
	}, a.list)
	export := huma.Operation{
		OperationID: "export-audit", Method: http.MethodGet, Path: "/audit/export", Tags: []string{"Operation"},
		Summary:     "Export changes to the installation and to meetings as lines of JSON, newest first",
		Description: "Each line is an item of `GET /audit`. If the last line is not complete, the export was interrupted.",
		Errors:      []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity},
		Metadata:    map[string]any{"heavy": true},
		Responses: map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
			"application/jsonl": {Schema: &huma.Schema{Type: huma.TypeString}},
		}}},
	}
	huma.Register(api, export, func(ctx context.Context, in *AuditFilter) (*huma.StreamResponse, error) {
		q, err := in.query()
		if err != nil {
			return nil, err
		}
		return &huma.StreamResponse{Body: func(out huma.Context) {
			out.SetHeader("Content-Type", "application/jsonl")
			out.SetHeader("Content-Disposition", `attachment; filename="audit.jsonl"`)
			if err := exportAudit(ctx, a.db, q, out.BodyWriter()); err != nil && ctx.Err() == nil {
				a.log.Error("an export of the audit log failed", "error", err)
			}
		}}, nil
	})
}

// exportAudit writes the entries of a query as lines of JSON.
func exportAudit(ctx context.Context, db *gorm.DB, q audit.Query, w io.Writer) error {
	q.Limit, q.Cursor = 500, ""
	for {
		lines, next, err := audit.List(ctx, db, q)
		if err != nil {
			return err
		}
		var page bytes.Buffer
		e := json.NewEncoder(&page)
		for i := range lines {
			if err := e.Encode(viewLine(&lines[i])); err != nil {
				return err
			}
		}
		if _, err := w.Write(page.Bytes()); err != nil || next == "" {
			return err
		}
		q.Cursor = next
	}
}

// ExportAudit writes the entries from one instant until another as lines of JSON, newest first. A zero
// instant is no limit. actions are as in [audit.Query].
func (a *Application) ExportAudit(ctx context.Context, w io.Writer, from, to time.Time, actions ...string) error {
	return exportAudit(ctx, a.db.Gorm, audit.Query{From: from, To: to, Actions: actions}, w)
}

func (a *auditAPI) list(ctx context.Context, in *auditQuery) (*auditList, error) {
	q, err := in.query()
	if err != nil {
		return nil, err
	}
	q.Limit, q.Cursor = in.Limit, in.Cursor
	lines, next, err := audit.List(ctx, a.db, q)
	if errors.Is(err, audit.ErrCursor) {
		return nil, errCursor()
	}
	if err != nil {
		return nil, err
	}
	out := &auditList{}
	out.Body.Items = make([]auditEntry, len(lines))
	for i := range lines {
		out.Body.Items[i] = viewLine(&lines[i])
	}
	out.Body.NextCursor = rest.OrNull(next)
	return out, nil
}

func viewLine(l *audit.Line) auditEntry {
	e := auditEntry{
		ID: l.ID, At: l.At, Action: l.Action, Address: rest.OrNull(l.Address), Reason: rest.OrNull(l.Reason),
		Actor:   auditActor{Kind: string(l.Actor.Kind), ID: rest.OrNull(l.Actor.ID), Name: l.Actor.Name},
		Subject: auditSubject{Kind: l.Subject, ID: l.SubjectID, Name: l.Name},
		Changes: make(map[string]auditChange, len(l.Changes)),
	}
	for field, c := range l.Changes {
		e.Changes[field] = auditChange(c)
	}
	return e
}

func (in *AuditFilter) query() (audit.Query, error) {
	var faults fault.List
	q := audit.Query{
		From: queryInstant(&faults, "query.from", in.From), To: queryInstant(&faults, "query.to", in.To),
		Text: strings.TrimSpace(in.Q),
	}
	switch kind := meeting.ActorKind(in.Actor); kind {
	case "":
	case meeting.ActorUser, meeting.ActorTimer, meeting.ActorSystem:
		q.ActorKind = kind
	default:
		id, err := strconv.ParseInt(in.Actor, 10, 64)
		if err != nil || id <= 0 {
			faults.Add("query.actor", "malformed", "is neither a user's id nor user, timer or system")
		}
		q.ActorID, q.ActorKind = id, meeting.ActorUser
	}
	q.Subject, q.SubjectID, _ = strings.Cut(in.Subject, ":")
	for action := range strings.SplitSeq(in.Action, ",") {
		if action = strings.TrimSpace(action); action == "" {
			continue
		}
		if subject, verb, ok := strings.Cut(action, "."); !ok || subject == "" || verb == "" || strings.Contains(subject, "*") {
			faults.Add("query.action", "malformed", "%q is not of the form room.changed or room.*", action)
		}
		q.Actions = append(q.Actions, action)
	}
	if !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To) {
		faults.Add("query.to", "invalid_span", "must be after from")
	}
	return q, faults.Err()
}
