package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account/rest"
	"punctual/notify"
)

// RegisterBounces adds the operations about email addresses that bounced. The table in package account
// decides who may call them.
func RegisterBounces(api huma.API, svc *notify.Bounces) {
	h := &bounces{svc}
	op := func(id, method, path, summary string, errors ...int) huma.Operation {
		return huma.Operation{
			OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{"Notifications"},
			Errors: append(errors, http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity),
		}
	}
	list := op("list-bounces", http.MethodGet, "/notifications/bounces", "List email addresses that bounced, the latest first")
	list.Description = "Nothing is sent to these addresses. Notifications to them get the state `skipped`."
	huma.Register(api, list, h.list)
	huma.Register(api, op("clear-bounce", http.MethodDelete, "/notifications/bounces/{id}",
		"Send to an address again that bounced", http.StatusNotFound), h.clear)
}

type bounces struct{ svc *notify.Bounces }

// Bounce is an email address that bounced.
type Bounce struct {
	ID        int64     `json:"id"`
	Address   string    `json:"address" example:"ada@example.org" doc:"In lower case"`
	Source    string    `json:"source" enum:"smtp,report,provider" doc:"How it became known: the mail server refused the recipient, a delivery report arrived in the mailroom, or the mail provider posted an event"`
	Reason    string    `json:"reason" example:"550 5.1.1 no such mailbox" doc:"What the mail server or the provider said"`
	MessageID *string   `json:"message_id" doc:"Message-ID of the mail that bounced; null if it is not known"`
	BouncedAt time.Time `json:"bounced_at" doc:"When a mail bounced last"`
}

type listBouncesInput struct {
	Q      string `query:"q" maxLength:"200" doc:"Text in the address; ignores case"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"Maximum number of items"`
	Cursor string `query:"cursor" maxLength:"100" doc:"The next_cursor of the previous page"`
}

type listBouncesOutput struct {
	Body struct {
		Items      []Bounce `json:"items" nullable:"false"`
		NextCursor *string  `json:"next_cursor" doc:"Cursor of the next page; null on the last page"`
	}
}

func (h *bounces) list(ctx context.Context, in *listBouncesInput) (*listBouncesOutput, error) {
	cursor, err := notify.ParseCursor(in.Cursor)
	if err != nil {
		return nil, errCursor()
	}
	page, err := h.svc.List(ctx, notify.BounceFilter{Text: strings.TrimSpace(in.Q), Cursor: cursor, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	out := &listBouncesOutput{}
	out.Body.Items = make([]Bounce, len(page.Items))
	for i, b := range page.Items {
		out.Body.Items[i] = Bounce{ID: b.ID, Address: b.Address, Source: string(b.Source), Reason: b.Reason, MessageID: rest.OrNull(b.MessageID), BouncedAt: b.At}
	}
	out.Body.NextCursor = rest.OrNull(page.Next.String())
	return out, nil
}

func (h *bounces) clear(ctx context.Context, in *target) (*struct{}, error) {
	return nil, h.svc.Clear(ctx, in.ID)
}
