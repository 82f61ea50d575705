package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/danielgtaylor/huma/v2"

	"punctual/notify"
	"punctual/notify/chat"
)

// RegisterChat adds the operations by which users connect their chat. take limits test messages of a user: it
// returns an error if there were too many.
func RegisterChat(api huma.API, svc *chat.Connections, take func(ctx context.Context, userID int64) error) {
	h := &chats{svc, take}
	op := func(id, method, path, summary string, errors ...int) huma.Operation {
		return huma.Operation{
			OperationID: id, Method: method, Path: "/me/chat" + path, Summary: summary, Tags: []string{"People"},
			Errors: append(errors, http.StatusUnauthorized, http.StatusForbidden),
		}
	}
	huma.Register(api, op("get-chat", http.MethodGet, "", "Get my chat"), h.get)
	connect := op("connect-chat", http.MethodPut, "", "Connect my chat", http.StatusUnprocessableEntity)
	connect.Description = "Replaces the chat that was connected before. Choose with PATCH /me/preferences which notifications arrive there."
	huma.Register(api, connect, h.connect)
	remove := op("disconnect-chat", http.MethodDelete, "", "Disconnect my chat")
	remove.DefaultStatus = http.StatusNoContent
	huma.Register(api, remove, h.disconnect)
	huma.Register(api, op("test-chat", http.MethodPost, "/test", "Send a test message to my chat", http.StatusNotFound, http.StatusTooManyRequests), h.test)
}

type chats struct {
	svc  *chat.Connections
	take func(ctx context.Context, userID int64) error
}

// ChatService is a chat service that can be connected.
type ChatService struct {
	ID     string `json:"id" example:"slack"`
	Name   string `json:"name" example:"Slack"`
	Signed bool   `json:"signed" doc:"Whether its webhooks may have a secret"`
}

type chatBody struct {
	Enabled  bool          `json:"enabled" doc:"Whether this installation sends chat messages"`
	Service  *string       `json:"service" doc:"Service that is connected; null if none is"`
	Host     *string       `json:"host" doc:"Host of the webhook. The rest of its address is never returned" example:"hooks.slack.com"`
	Services []ChatService `json:"services" nullable:"false" doc:"Services that can be connected"`
}

type chatOutput struct{ Body chatBody }

func (h *chats) get(ctx context.Context, _ *struct{}) (*chatOutput, error) {
	out := &chatOutput{chatBody{Enabled: h.svc.Enabled()}}
	for _, s := range chat.Services() {
		out.Body.Services = append(out.Body.Services, ChatService(s))
	}
	t, err := h.svc.OfUser(ctx, caller(ctx))
	if errors.Is(err, notify.ErrNotFound) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	out.Body.Service = &t.Service
	if u, err := url.Parse(t.URL); err == nil {
		out.Body.Host = &u.Host
	}
	return out, nil
}

type connectChatInput struct {
	Body struct {
		Service string `json:"service" maxLength:"40" example:"slack" doc:"ID of a service"`
		URL     string `json:"url" maxLength:"2000" doc:"Address of the incoming webhook"`
		Secret  string `json:"secret,omitempty" maxLength:"200" doc:"Secret with which DingTalk or Feishu check messages"`
	}
}

func (h *chats) connect(ctx context.Context, in *connectChatInput) (*chatOutput, error) {
	err := h.svc.Connect(ctx, chat.Target{UserID: caller(ctx), Service: in.Body.Service, URL: in.Body.URL, Secret: in.Body.Secret})
	if err != nil {
		return nil, inBody(err)
	}
	return h.get(ctx, nil)
}

func (h *chats) disconnect(ctx context.Context, _ *struct{}) (*struct{}, error) {
	return nil, h.svc.Disconnect(ctx, caller(ctx))
}

type testChatOutput struct {
	Body struct {
		Accepted bool   `json:"accepted" doc:"Whether the service accepted the message"`
		Error    string `json:"error" doc:"Why it did not"`
	}
}

func (h *chats) test(ctx context.Context, _ *struct{}) (*testChatOutput, error) {
	if err := h.take(ctx, caller(ctx)); err != nil {
		return nil, err
	}
	err := h.svc.Test(ctx, caller(ctx))
	if errors.Is(err, notify.ErrNotFound) {
		return nil, err
	}
	out := &testChatOutput{}
	if out.Body.Accepted = err == nil; err != nil {
		out.Body.Error = err.Error()
	}
	return out, nil
}
