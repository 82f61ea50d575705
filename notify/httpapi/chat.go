package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/danielgtaylor/huma/v2"

	"punctual/notify"
	"punctual/notify/chat"
)

// RegisterChat adds the operations by which users connect their chat, and admins the channels of rooms and sites. take
// limits test messages of a user: it returns an error if there were too many.
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
	registerChannels(api, h, "room", "Rooms", func(id int64) chat.Owner { return chat.Owner{RoomID: id} })
	registerChannels(api, h, "site", "Sites", func(id int64) chat.Owner { return chat.Owner{SiteID: id} })
}

// registerChannels adds the operations on the channels of rooms or sites.
func registerChannels(api huma.API, h *chats, of, tag string, owner func(id int64) chat.Owner) {
	op := func(verb, method, path, summary string, errors ...int) huma.Operation {
		return huma.Operation{
			OperationID: verb + "-" + of + "-chat", Method: method, Path: "/" + of + "s/{id}/chat" + path, Summary: summary + " of a " + of, Tags: []string{tag},
			Errors: append(errors, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound),
		}
	}
	c := &channels{h, owner}
	huma.Register(api, op("get", http.MethodGet, "", "Get the chat channel"), c.get)
	connect := op("connect", http.MethodPut, "", "Connect the chat channel", http.StatusUnprocessableEntity)
	connect.Description = "Replaces the channel that was connected before. Posts show what everyone may see: private meetings appear without title and organizer."
	if of == "site" {
		connect.Description += " A room with a channel of its own posts there, and not in that of the site, the kinds that its channel has."
	}
	huma.Register(api, connect, c.connect)
	remove := op("disconnect", http.MethodDelete, "", "Disconnect the chat channel")
	remove.DefaultStatus = http.StatusNoContent
	huma.Register(api, remove, c.disconnect)
	huma.Register(api, op("test", http.MethodPost, "/test", "Send a test message to the chat channel", http.StatusTooManyRequests), c.test)
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

// ChatBody is the chat of a user, a room or a site.
type ChatBody struct {
	Enabled  bool          `json:"enabled" doc:"Whether this installation sends chat messages"`
	Service  *string       `json:"service" doc:"Service that is connected; null if none is"`
	Host     *string       `json:"host" doc:"Host of the webhook. The rest of its address is never returned" example:"hooks.slack.com"`
	Services []ChatService `json:"services" nullable:"false" doc:"Services that can be connected"`
}

type chatOutput struct{ Body ChatBody }

func mine(ctx context.Context) chat.Owner { return chat.Owner{UserID: caller(ctx)} }

func (h *chats) get(ctx context.Context, _ *struct{}) (*chatOutput, error) {
	body, _, err := h.body(ctx, mine(ctx))
	return &chatOutput{body}, err
}

// body also returns the target, without an ID if there is none.
func (h *chats) body(ctx context.Context, of chat.Owner) (b ChatBody, t chat.Target, err error) {
	b.Enabled = h.svc.Enabled()
	for _, s := range chat.Services() {
		b.Services = append(b.Services, ChatService(s))
	}
	t, err = h.svc.Of(ctx, of)
	if errors.Is(err, chat.ErrNone) {
		return b, chat.Target{}, nil
	}
	if err != nil {
		return b, t, err
	}
	b.Service = &t.Service
	if u, err := url.Parse(t.URL); err == nil {
		b.Host = &u.Host
	}
	return b, t, nil
}

type connectChatInput struct {
	Body struct {
		Service string `json:"service" maxLength:"40" example:"slack" doc:"ID of a service"`
		URL     string `json:"url" maxLength:"2000" doc:"Address of the incoming webhook"`
		Secret  string `json:"secret,omitempty" maxLength:"200" doc:"Secret with which DingTalk or Feishu check messages"`
	}
}

func (h *chats) connect(ctx context.Context, in *connectChatInput) (*chatOutput, error) {
	err := h.svc.Connect(ctx, chat.Target{Owner: mine(ctx), Service: in.Body.Service, URL: in.Body.URL, Secret: in.Body.Secret})
	if err != nil {
		return nil, inBody(err)
	}
	return h.get(ctx, nil)
}

func (h *chats) disconnect(ctx context.Context, _ *struct{}) (*struct{}, error) {
	return nil, h.svc.Disconnect(ctx, mine(ctx))
}

type testChatOutput struct {
	Body struct {
		Accepted bool   `json:"accepted" doc:"Whether the service accepted the message"`
		Error    string `json:"error" doc:"Why it did not"`
	}
}

func (h *chats) test(ctx context.Context, _ *struct{}) (*testChatOutput, error) {
	return h.testOf(ctx, mine(ctx))
}

func (h *chats) testOf(ctx context.Context, of chat.Owner) (*testChatOutput, error) {
	if err := h.take(ctx, caller(ctx)); err != nil {
		return nil, err
	}
	err := h.svc.Test(ctx, of)
	if errors.Is(err, notify.ErrNotFound) {
		return nil, err
	}
	out := &testChatOutput{}
	if out.Body.Accepted = err == nil; err != nil {
		out.Body.Error = err.Error()
	}
	return out, nil
}

// channels are those of rooms or of sites.
type channels struct {
	*chats
	owner func(id int64) chat.Owner
}

// ChannelOwner is the room or the site of a channel.
type ChannelOwner struct {
	ID int64 `path:"id" minimum:"1"`
}

// ChatChannel is the channel of a room or a site.
type ChatChannel struct {
	ChatBody
	Kinds  []notify.Kind `json:"kinds" nullable:"false" enum:"invitation,change,cancellation,released,reminder,approval_request,fault_report" doc:"What is posted; of a channel that is not connected, the default"`
	Locale string        `json:"locale" doc:"Language of the posts; empty if none is connected" example:"en"`
}

type channelOutput struct{ Body ChatChannel }

func (c *channels) get(ctx context.Context, in *ChannelOwner) (*channelOutput, error) {
	body, t, err := c.body(ctx, c.owner(in.ID))
	if err != nil {
		return nil, err
	}
	if t.ID == 0 {
		t.Kinds = notify.PostedByDefault()
	}
	return &channelOutput{ChatChannel{body, t.Kinds, t.Locale}}, nil
}

type connectChannelInput struct {
	ChannelOwner
	Body struct {
		Service string        `json:"service" maxLength:"40" example:"slack" doc:"ID of a service"`
		URL     string        `json:"url,omitempty" maxLength:"2000" doc:"Address of the incoming webhook. Default: it stays, with its secret, if the service does"`
		Secret  string        `json:"secret,omitempty" maxLength:"200" doc:"Secret with which DingTalk or Feishu check messages"`
		Kinds   []notify.Kind `json:"kinds,omitempty" minItems:"1" uniqueItems:"true" enum:"invitation,change,cancellation,released,reminder,approval_request,fault_report" doc:"What is posted: invitation stands for booked meetings. Default: invitation, change, cancellation and released"`
		Locale  string        `json:"locale,omitempty" maxLength:"35" doc:"Language of the posts. Default: en" example:"de"`
	}
}

func (c *channels) connect(ctx context.Context, in *connectChannelInput) (*channelOutput, error) {
	t := chat.Target{Owner: c.owner(in.ID), Service: in.Body.Service, URL: in.Body.URL, Secret: in.Body.Secret, Kinds: in.Body.Kinds, Locale: cmp.Or(in.Body.Locale, "en")}
	if len(t.Kinds) == 0 {
		t.Kinds = notify.PostedByDefault()
	}
	if err := c.svc.Connect(ctx, t); err != nil {
		return nil, inBody(err)
	}
	return c.get(ctx, &in.ChannelOwner)
}

func (c *channels) disconnect(ctx context.Context, in *ChannelOwner) (*struct{}, error) {
	return nil, c.svc.Disconnect(ctx, c.owner(in.ID))
}

func (c *channels) test(ctx context.Context, in *ChannelOwner) (*testChatOutput, error) {
	return c.testOf(ctx, c.owner(in.ID))
}
