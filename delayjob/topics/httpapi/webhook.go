package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/account/rest"
	"punctual/delayjob/topics"
)

func (h *handlers) registerWebhooks(api huma.API, op describe) {
	const path = "/topics/{topic}/webhook"
	changes := or(http.StatusNotFound, http.StatusPreconditionFailed)
	huma.Register(api, op("get-topic-webhook", http.MethodGet, path, "Get the webhook of a topic", or(http.StatusNotFound)), h.webhook)
	huma.Register(api, op("set-topic-webhook", http.MethodPut, path, "Post the jobs of a topic to a webhook instead of having them popped", changes), h.setWebhook)
	huma.Register(api, op("delete-topic-webhook", http.MethodDelete, path, "Remove the webhook of a topic, so that its jobs are popped again",
		status(http.StatusNoContent), changes), h.deleteWebhook)
}

// TopicWebhook is a webhook as the API shows it: without its secret.
type TopicWebhook struct {
	Topic       string    `json:"topic"`
	URL         string    `json:"url"`
	Concurrency int       `json:"concurrency"`
	TimeoutMs   int64     `json:"timeout_ms"`
	Version     int64     `json:"version"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

type webhookOutput struct {
	ETag string `header:"ETag" doc:"Version of the webhook, for If-Match"`
	Body TopicWebhook
}

func viewWebhook(w *topics.Webhook) *webhookOutput {
	return &webhookOutput{ETag: fmt.Sprintf(`"%d"`, w.Version), Body: TopicWebhook{
		Topic: w.Topic, URL: w.URL, Concurrency: w.Concurrency, TimeoutMs: w.Timeout.Milliseconds(),
		Version: w.Version, CreatedAt: w.CreatedAt, UpdatedAt: w.UpdatedAt,
	}}
}

// WebhookInput is a change of a topic's webhook.
type WebhookInput struct {
	TopicInput
	IfMatch string `header:"If-Match" doc:"ETag of the version to change; the request fails with 412 if the webhook has changed since"`
}

type setWebhookInput struct {
	WebhookInput
	Body struct {
		URL         string `json:"url" doc:"An http or https URL; the host must be public unless topics.allow_networks allows it" example:"https://shop.example.org/hooks/punctual"`
		Secret      string `json:"secret,omitempty" format:"password" doc:"Key that signs each request, 16 to 200 printable ASCII characters; never returned. Required for a new webhook; if omitted later, the secret stays"`
		Concurrency *int   `json:"concurrency,omitempty" doc:"Maximum number of concurrent requests per process, 1 to 100. Defaults to 4 for a new webhook; if omitted later, the value stays"`
		TimeoutMs   *int64 `json:"timeout_ms,omitempty" doc:"Time limit of one request, 100 to 30,000. Defaults to 10,000 for a new webhook; if omitted later, the value stays"`
	}
}

func (h *handlers) webhook(ctx context.Context, in *TopicInput) (*webhookOutput, error) {
	if err := allow(ctx, in.Topic, account.TopicsAdmin); err != nil {
		return nil, err
	}
	w, err := h.s.Webhook(ctx, in.Topic)
	if err != nil {
		return nil, err
	}
	return viewWebhook(w), nil
}

func (h *handlers) setWebhook(ctx context.Context, in *setWebhookInput) (*webhookOutput, error) {
	if err := allow(ctx, in.Topic, account.TopicsAdmin); err != nil {
		return nil, err
	}
	hook := topics.Webhook{Topic: in.Topic, URL: in.Body.URL, Secret: in.Body.Secret}
	if n := in.Body.Concurrency; n != nil {
		hook.Concurrency = cmp.Or(*n, -1) // an explicit 0 is out of range
	}
	if n := in.Body.TimeoutMs; n != nil {
		hook.Timeout = cmp.Or(millis(min(*n, topics.MaxTimeout.Milliseconds()+1)), -1)
	}
	w, err := h.s.SetWebhook(ctx, hook, rest.IfMatch(in.IfMatch))
	if err != nil {
		return nil, err
	}
	return viewWebhook(w), nil
}

func (h *handlers) deleteWebhook(ctx context.Context, in *WebhookInput) (*struct{}, error) {
	if err := allow(ctx, in.Topic, account.TopicsAdmin); err != nil {
		return nil, err
	}
	return nil, h.s.DeleteWebhook(ctx, in.Topic, rest.IfMatch(in.IfMatch))
}
