package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/notify"
	"punctual/notify/outbox"
)

// RegisterOutbox adds the operations that show messages stored by the outbox drivers.
func RegisterOutbox(api huma.API, box *outbox.Outbox) {
	h := &outboxHandlers{box}
	op := func(id, path, summary string, errors ...int) huma.Operation {
		return huma.Operation{
			OperationID: id, Method: http.MethodGet, Path: path, Summary: summary, Tags: []string{"Notifications"},
			Errors: append(errors, http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity),
		}
	}
	huma.Register(api, op("list-outbox", "/outbox", "List emails and text messages that were stored instead of sent, newest first"), h.list)
	huma.Register(api, op("get-outbox-message", "/outbox/{name}", "Get a stored message", http.StatusNotFound), h.get)
}

type outboxHandlers struct{ box *outbox.Outbox }

// OutboxItem is a message in the outbox.
type OutboxItem struct {
	Name    string    `json:"name" doc:"File name; .eml for emails, .txt for text messages"`
	Kind    string    `json:"kind" example:"invitation"`
	To      string    `json:"to"`
	Subject string    `json:"subject"`
	At      time.Time `json:"at" doc:"When the file was last written"`
	Size    int64     `json:"size" doc:"File size in bytes"`
}

// OutboxMessage is a message with its content.
type OutboxMessage struct {
	OutboxItem
	Text string `json:"text"`
	HTML string `json:"html" doc:"HTML as sent; empty for text messages. Render it in a sandbox"`
	Raw  string `json:"raw" doc:"Content of the file"`
}

func viewItem(it outbox.Item) OutboxItem {
	return OutboxItem{Name: it.Name, Kind: it.Kind, To: it.To, Subject: it.Subject, At: it.At, Size: it.Size}
}

type outboxInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"Maximum number of items"`
	Cursor string `query:"cursor" maxLength:"500" doc:"The next_cursor of the previous page"`
}

type outboxOutput struct {
	Body struct {
		Items      []OutboxItem `json:"items" nullable:"false"`
		NextCursor *string      `json:"next_cursor" doc:"Cursor of the next page; null on the last page"`
	}
}

// list uses the name of the last item as cursor.
func (h *outboxHandlers) list(_ context.Context, in *outboxInput) (*outboxOutput, error) {
	items, err := h.box.List(in.Cursor, in.Limit+1)
	if err != nil {
		return nil, err
	}
	out := &outboxOutput{}
	if len(items) > in.Limit {
		items = items[:in.Limit]
		out.Body.NextCursor = new(items[in.Limit-1].Name)
	}
	out.Body.Items = make([]OutboxItem, len(items))
	for i, it := range items {
		out.Body.Items[i] = viewItem(it)
	}
	return out, nil
}

type outboxTarget struct {
	Name string `path:"name" maxLength:"300"`
}

type outboxMessageOutput struct{ Body OutboxMessage }

func (h *outboxHandlers) get(_ context.Context, in *outboxTarget) (*outboxMessageOutput, error) {
	m, err := h.box.Read(in.Name)
	if errors.Is(err, outbox.ErrNotFound) {
		return nil, notify.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return &outboxMessageOutput{OutboxMessage{
		OutboxItem: viewItem(m.Item), Text: m.Text, HTML: m.HTML, Raw: string(m.Raw),
	}}, nil
}
