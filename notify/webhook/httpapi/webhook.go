// Package httpapi serves webhooks to administrators over HTTP.
package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account/rest"
	"punctual/notify/webhook"
)

// Register adds the operations to api. The table in package account decides who may call them.
// There are no further rules per webhook.
func Register(api huma.API, svc *webhook.Service) {
	h := &handlers{svc: svc}
	if servers := api.OpenAPI().Servers; len(servers) > 0 {
		h.base = servers[0].URL
	}
	op := func(id, method, path, summary string, errors ...int) huma.Operation {
		return huma.Operation{
			OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{"Webhooks"},
			Errors: append(errors, http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity),
		}
	}
	status := func(op huma.Operation, s int) huma.Operation { op.DefaultStatus = s; return op }
	const one, deliveries = "/webhooks/{id}", "/webhooks/{id}/deliveries"
	huma.Register(api, op("list-webhooks", http.MethodGet, "/webhooks", "List webhooks"), h.list)
	huma.Register(api, status(op("create-webhook", http.MethodPost, "/webhooks", "Create a webhook for events from now on", http.StatusConflict),
		http.StatusCreated), h.create)
	huma.Register(api, op("get-webhook", http.MethodGet, one, "Get a webhook", http.StatusNotFound), h.get)
	huma.Register(api, op("update-webhook", http.MethodPatch, one, "Change, activate or deactivate a webhook",
		http.StatusNotFound, http.StatusPreconditionFailed), h.update)
	huma.Register(api, status(op("delete-webhook", http.MethodDelete, one, "Delete a webhook",
		http.StatusNotFound, http.StatusPreconditionFailed), http.StatusNoContent), h.delete)
	huma.Register(api, op("ping-webhook", http.MethodPost, one+"/ping", "Post an event of the type ping and return the outcome", http.StatusNotFound), h.ping)
	huma.Register(api, op("list-deliveries", http.MethodGet, deliveries, "List the deliveries of a webhook, newest first", http.StatusNotFound), h.deliveries)
	huma.Register(api, op("resend-delivery", http.MethodPost, deliveries+"/{delivery}/resend", "Resend a delivery",
		http.StatusNotFound, http.StatusConflict), h.resend)
}

type handlers struct {
	svc  *webhook.Service
	base string // prefix of Location headers
}

// Webhook is a webhook as the API shows it.
type Webhook struct {
	ID        int64     `json:"id"`
	URL       string    `json:"url"`
	Secret    string    `json:"secret,omitempty" doc:"Key that signs each request; returned only when the webhook is created"`
	Events    []string  `json:"events" nullable:"false" doc:"Event types to post; all types if empty"`
	Active    bool      `json:"active" doc:"Whether events are posted"`
	Stopped   *string   `json:"stopped" doc:"Why the webhook was deactivated, unless a user did it"`
	Version   int64     `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

func view(w *webhook.Webhook) Webhook {
	v := Webhook{
		ID: w.ID, URL: w.URL, Events: w.Events, Active: w.Active, Stopped: rest.OrNull(w.Stopped),
		Version: w.Version, CreatedAt: w.CreatedAt, UpdatedAt: w.UpdatedAt,
	}
	if v.Events == nil {
		v.Events = []string{}
	}
	return v
}

type webhookOutput struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag" doc:"Version of the webhook, for If-Match"`
	Body     Webhook
}

func show(w *webhook.Webhook) *webhookOutput {
	return &webhookOutput{ETag: fmt.Sprintf(`"%d"`, w.Version), Body: view(w)}
}

type webhooksOutput struct {
	Body struct {
		Items      []Webhook `json:"items" nullable:"false"`
		NextCursor *string   `json:"next_cursor" doc:"Always null, because the list has only one page"`
	}
}

func (h *handlers) list(ctx context.Context, _ *struct{}) (*webhooksOutput, error) {
	ws, err := h.svc.Webhooks(ctx)
	if err != nil {
		return nil, err
	}
	out := &webhooksOutput{}
	out.Body.Items = make([]Webhook, len(ws))
	for i, w := range ws {
		out.Body.Items[i] = view(w)
	}
	return out, nil
}

type createWebhookInput struct {
	Body struct {
		URL    string   `json:"url" doc:"An http or https URL; the host must be public unless topics.allow_networks allows it" example:"https://desk.example.org/hooks/punctual"`
		Secret string   `json:"secret,omitempty" format:"password" doc:"Key that signs each request, 16 to 200 printable ASCII characters; generated and returned if omitted"`
		Events []string `json:"events,omitempty" doc:"Event types to post, such as meeting.started; all types if omitted or empty" example:"[\"meeting.created\",\"meeting.cancelled\"]"`
		Active *bool    `json:"active,omitempty" default:"true"`
	}
}

func (h *handlers) create(ctx context.Context, in *createWebhookInput) (*webhookOutput, error) {
	b := &in.Body
	w, err := h.svc.Create(ctx, webhook.Webhook{URL: b.URL, Secret: b.Secret, Events: b.Events, Active: b.Active == nil || *b.Active})
	if err != nil {
		return nil, err
	}
	out := show(w)
	out.Location, out.Body.Secret = fmt.Sprintf("%s/webhooks/%d", h.base, w.ID), w.Secret
	return out, nil
}

// Target is embedded in the input of operations on one webhook.
type Target struct {
	ID int64 `path:"id" minimum:"1"`
}

// ChangeInput is embedded in the input of changes to one webhook.
type ChangeInput struct {
	Target
	IfMatch string `header:"If-Match" doc:"ETag of the version to change; the request fails with 412 if the webhook has changed since"`
}

func (h *handlers) get(ctx context.Context, in *Target) (*webhookOutput, error) {
	w, err := h.svc.Webhook(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return show(w), nil
}

type updateWebhookInput struct {
	ChangeInput
	Body struct {
		URL    *string   `json:"url,omitempty"`
		Secret *string   `json:"secret,omitempty" format:"password"`
		Events *[]string `json:"events,omitempty"`
		Active *bool     `json:"active,omitempty"`
	}
}

func (h *handlers) update(ctx context.Context, in *updateWebhookInput) (*webhookOutput, error) {
	b := &in.Body
	w, err := h.svc.Update(ctx, in.ID, rest.IfMatch(in.IfMatch), webhook.Patch{URL: b.URL, Secret: b.Secret, Events: b.Events, Active: b.Active})
	if err != nil {
		return nil, err
	}
	return show(w), nil
}

func (h *handlers) delete(ctx context.Context, in *ChangeInput) (*struct{}, error) {
	return nil, h.svc.Delete(ctx, in.ID, rest.IfMatch(in.IfMatch))
}

type pingWebhookOutput struct {
	Body struct {
		Status *int    `json:"status" doc:"HTTP status of the response; null if there was none"`
		Error  *string `json:"error" doc:"Error message; null if the request succeeded"`
		TookMs int64   `json:"took_ms"`
	}
}

func (h *handlers) ping(ctx context.Context, in *Target) (*pingWebhookOutput, error) {
	o, err := h.svc.Ping(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := &pingWebhookOutput{}
	out.Body.Status, out.Body.Error, out.Body.TookMs = rest.OrNull(o.Status), rest.OrNull(o.Error), o.Took.Milliseconds()
	return out, nil
}
