package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/account/fault"
	"punctual/delayjob/webhook"
	"punctual/notify"
	"punctual/notify/render"
)

// service answers as it is told and keeps the last request.
type service struct {
	answer  webhook.Answer
	err     error
	refused error
	url     string
	body    []byte
	during  func() // called while it is posted to
}

func (s *service) Forward(_ context.Context, url string, body []byte) (webhook.Answer, error) {
	s.url, s.body = url, body
	if s.during != nil {
		s.during()
	}
	return s.answer, s.err
}

func (s *service) CheckURL(context.Context, string) error { return s.refused }

// store has one target.
type store struct{ target Target }

func (s *store) Target(_ context.Context, id int64) (Target, error) {
	if id != s.target.ID {
		return Target{}, notify.ErrNotFound
	}
	return s.target, nil
}

func (s *store) Of(_ context.Context, o Owner) (Target, error) {
	if s.target.Owner != o {
		return Target{}, ErrNone
	}
	return s.target, nil
}

func (s *store) Save(_ context.Context, t Target) error { s.target = t; return nil }

func (s *store) Delete(context.Context, Owner) error { s.target = Target{}; return nil }

// One message at a time is under way to a chat, and none while its service wants none. Others do not wait for it.
func TestSend_oneAtATime(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	s := &service{answer: webhook.Answer{Status: 429, RetryAfter: time.Hour}, during: func() { close(entered); <-leave }}
	targets := &store{Target{ID: 3, Owner: Owner{UserID: 7}, Service: "slack", URL: "https://hooks.slack.com/services/x"}}
	sender := NewSender(targets, s, renderer(t))
	first := make(chan error)
	go func() { first <- sender.Send(t.Context(), request(3)) }()
	<-entered
	if err := sender.Send(t.Context(), request(3)); err == nil || !strings.Contains(err.Error(), "come first") {
		t.Errorf("a second message: %v", err)
	}
	if err := sender.Send(t.Context(), request(4)); !notify.IsOff(err) {
		t.Errorf("to another chat: %v", err)
	}
	close(leave)
	if err := <-first; err == nil || !strings.Contains(err.Error(), "429") {
		t.Errorf("the first message: %v", err)
	}
	s.during = func() { t.Error("posted although the service wants no messages") }
	if err := sender.Send(t.Context(), request(3)); err == nil || !strings.Contains(err.Error(), "come first") {
		t.Errorf("while it rests: %v", err)
	}
}

// Whatever a chat takes, those that wait for it come back spread over time, and the first soon.
func TestLines_spread(t *testing.T) {
	for took, busy := range map[time.Duration]bool{time.Millisecond: true, time.Minute: true, time.Second: false} {
		l, now := lines{}, time.Now()
		_, end := l.enter("a", now)
		if !busy { // it rests
			end(time.Hour)
			now = now.Add(time.Minute)
		}
		l.of["a"].took = took
		seconds := map[time.Duration]int{}
		for n := range 1000 {
			wait, _ := l.enter("a", now)
			if n == 0 && busy && wait != soonest {
				t.Errorf("took %v: the first waits %v", took, wait)
			}
			if !busy && wait < l.of["a"].rests.Sub(now) {
				t.Fatalf("took %v: comes after %v while it rests", took, wait)
			}
			seconds[wait.Truncate(time.Second)]++
		}
		if most := slices.Max(slices.Collect(maps.Values(seconds))); most > 100 || len(seconds) < 20 {
			t.Errorf("took %v: up to %d of 1000 come within a second, in %d seconds", took, most, len(seconds))
		}
	}
}

// A post goes to the channel of the room that it names, whatever ID the target has.
func TestSend_channel(t *testing.T) {
	s := &service{answer: webhook.Answer{Status: 200, Text: "ok"}}
	sender := NewSender(&store{Target{ID: 3, Owner: Owner{RoomID: 5}, Service: "slack", URL: "https://hooks.slack.com/services/x"}}, s, renderer(t))
	n := request(0)
	for address, want := range map[string]bool{"chat-room-5": true, "chat-room-3": false, "chat-site-5": false, "chat-3": false} {
		n.To = notify.Recipient{Name: "Turing", Address: address}
		if err := sender.Send(t.Context(), n); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}

const decision = "https://rooms.example.org/decide?token=abc"

func renderer(t *testing.T) *render.Renderer {
	t.Helper()
	r, err := render.New(render.Config{BaseURL: "https://rooms.example.org", Links: render.Links{Decide: func(notify.Notification) string { return decision }}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const hostile = `<!here> @channel <@all> "A\B" *x* [y](https://evil.example) https://evil.example/ <users/all>`

func request(chatID int64) notify.Notification {
	start := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	deadline := start.Add(-time.Hour)
	return notify.Notification{
		ID: 1, Kind: notify.ApprovalRequest, Channel: notify.Chat, Version: 1, MeetingID: 5, To: notify.Recipient{UserID: 7, Address: notify.ChatAddress(chatID)},
		Facts: notify.Facts{
			Title: hostile, Start: start, End: start.Add(time.Hour), Rooms: []string{"Turing"}, Deadline: &deadline,
			Organizer: notify.Contact{Name: "Ada @here", Email: "ada@example.org"}, Request: &notify.Requested{Number: 1},
		},
	}
}

// texts returns all strings of a JSON value, except those under the keys of links.
func texts(v any, key string) (text string, links []string) {
	switch x := v.(type) {
	case map[string]any:
		for k, w := range x {
			more, ls := texts(w, k)
			text, links = text+more, append(links, ls...)
		}
	case []any:
		for _, w := range x {
			more, ls := texts(w, key)
			text, links = text+more, append(links, ls...)
		}
	case string:
		switch key {
		case "url", "href":
			return "", []string{x}
		case "$schema":
			return "", nil
		}
		return x + "\n", nil
	}
	return text, links
}

// Each service gets valid JSON with the links, in which the title of a meeting mentions nobody and links nowhere.
func TestMessages(t *testing.T) {
	for _, c := range []struct{ service, url, ok string }{
		{"slack", "https://hooks.slack.com/services/T/B/x", "ok"},
		{"teams", "https://prod-1.westeurope.logic.azure.com/workflows/x?sig=1", ""},
		{"google_chat", "https://chat.googleapis.com/v1/spaces/x/messages?key=1", `{"name":"x"}`},
		{"wecom", "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=1", `{"errcode":0}`},
		{"dingtalk", "https://oapi.dingtalk.com/robot/send?access_token=1", `{"errcode":0}`},
		{"feishu", "https://open.feishu.cn/open-apis/bot/v2/hook/x", `{"code":0}`},
		{"generic", "https://chat.example.org/hook", ""},
	} {
		t.Run(c.service, func(t *testing.T) {
			s := &service{answer: webhook.Answer{Status: 200, Text: c.ok}}
			sender := NewSender(&store{Target{ID: 3, Owner: Owner{UserID: 7}, Service: c.service, URL: c.url, Email: "bob@example.org"}}, s, renderer(t))
			if err := sender.Send(t.Context(), request(3)); err != nil {
				t.Fatal(err)
			}
			if s.url != c.url {
				t.Errorf("posted to %s", s.url)
			}
			var body any
			if err := json.Unmarshal(s.body, &body); err != nil {
				t.Fatalf("%v in %s", err, s.body)
			}
			text, links := texts(body, "")
			if p := presetOf(c.service); p.Plain {
				for _, choice := range []string{"approve", "reject"} {
					if !strings.Contains(text, ": "+decision+"&choice="+choice) {
						t.Errorf("no link to %s in %s", choice, text)
					}
				}
				text = strings.ReplaceAll(text, "https://rooms.example.org/", "")
			} else if len(links) != 3 || links[0] != decision+"&choice=approve" || links[2] != "https://rooms.example.org/meetings/5" {
				t.Errorf("links: %q", links)
			}
			for _, bad := range []string{"<!", "@channel", "@here", "@all", "://"} {
				if c.service == "generic" && bad == "<!" || presetOf(c.service).Plain && bad == "<!" || c.service == "feishu" && bad == "<!" {
					continue // has no meaning there
				}
				if strings.Contains(text, bad) {
					t.Errorf("%q in %s", bad, text)
				}
			}
		})
	}
	if got := harmless("ada.l+x@example.org, ada"); got != "ada.l+x@example.org, ada" {
		t.Errorf("%q is not the address that it was", got)
	}
	teams := presetOf("teams")
	if got := teams.escape.Replace(harmless("[y](https://x) *b*")); got != `\[y\]\(https:`+"\u200b"+`//x\) \*b\*` {
		t.Errorf("Markdown: %s", got)
	}
}

// The signatures are computed by openssl, as the documentation of each service describes.
func TestSignatures(t *testing.T) {
	now := time.UnixMilli(1700000000123)
	const secret = "SECabc"
	target, body, err := presetOf("dingtalk").request("https://oapi.dingtalk.com/robot/send?access_token=1", secret, render.Chat{Title: "x"}, now)
	// printf '1700000000123\nSECabc' | openssl dgst -sha256 -hmac SECabc -binary | base64
	want := "https://oapi.dingtalk.com/robot/send?access_token=1&sign=" + url.QueryEscape("IqXBU/aLfwMA3S/tDcfRmHx5vWHw9Y1aOgFLBr1Ti9w=") + "&timestamp=1700000000123"
	if err != nil || target != want || strings.Contains(string(body), "sign") {
		t.Errorf("dingtalk: %s with %s, want %s", target, body, want)
	}
	target, body, err = presetOf("feishu").request("https://open.feishu.cn/open-apis/bot/v2/hook/x", secret, render.Chat{Title: "x"}, now)
	var signed struct{ Timestamp, Sign string }
	// openssl dgst -sha256 -mac HMAC -macopt hexkey:$(printf '1700000000\nSECabc' | xxd -p) -binary </dev/null | base64
	if err != nil || json.Unmarshal(body, &signed) != nil || target != "https://open.feishu.cn/open-apis/bot/v2/hook/x" ||
		signed.Timestamp != "1700000000" || signed.Sign != "XprR1de+0SSBnwWyU/4k6x2TL+Q2SJlM5NNEdAv7MWg=" {
		t.Errorf("feishu: %s with %s", target, body)
	}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		service string
		answer  webhook.Answer
		err     error
		want    string
	}{
		{"slack", webhook.Answer{Status: 200, Text: "ok"}, nil, "ok"},
		{"slack", webhook.Answer{Status: 404, Text: "no_service"}, nil, "permanent"},
		{"slack", webhook.Answer{Status: 429, RetryAfter: time.Second}, nil, "later"},
		{"slack", webhook.Answer{Status: 503}, nil, "temporary"},
		{"slack", webhook.Answer{Status: 302}, nil, "permanent"},
		{"slack", webhook.Answer{}, errors.New("no answer in time"), "temporary"},
		{"slack", webhook.Answer{}, fmt.Errorf("127.0.0.1 %w", webhook.ErrRefused), "permanent"},
		{"teams", webhook.Answer{Status: 202}, nil, "ok"},
		{"wecom", webhook.Answer{Status: 200, Text: `{"errcode":93000,"errmsg":"invalid webhook url"}`}, nil, "permanent"},
		{"wecom", webhook.Answer{Status: 200, Text: `{"errcode":45009}`}, nil, "later"},
		{"wecom", webhook.Answer{Status: 200, Text: `<html>`}, nil, "temporary"},
		{"dingtalk", webhook.Answer{Status: 200, Text: `{"errcode":310000,"errmsg":"sign not match"}`}, nil, "permanent"},
		{"feishu", webhook.Answer{Status: 200, Text: `{"code":0}`}, nil, "ok"},
		{"feishu", webhook.Answer{Status: 400, Text: `{"code":19021}`}, nil, "permanent"},
		{"unknown", webhook.Answer{Status: 200}, nil, "permanent"},
	} {
		s := &service{answer: c.answer, err: c.err}
		err := NewSender(&store{Target{ID: 3, Owner: Owner{UserID: 7}, Service: c.service, URL: "https://x.example/secret"}}, s, renderer(t)).Send(t.Context(), request(3))
		got := "temporary"
		switch {
		case err == nil:
			got = "ok"
		case notify.IsPermanent(err):
			got = "permanent"
		case notify.IsLater(err):
			got = "later"
		case notify.IsUnavailable(err):
			got = "unavailable"
		}
		if got != c.want || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s, %v, %v: %s (%v), want %s", c.service, c.answer, c.err, got, err, c.want)
		}
	}
	gone := NewSender(&store{Target{ID: 3, Owner: Owner{UserID: 8}}}, &service{}, renderer(t))
	for _, id := range []int64{3, 4} {
		if err := gone.Send(t.Context(), request(id)); err == nil || !strings.Contains(err.Error(), "disconnected") {
			t.Errorf("target %d: %v", id, err)
		}
	}
}

func TestConnect(t *testing.T) {
	s, st := &service{answer: webhook.Answer{Status: 200, Text: "ok"}}, &store{}
	sender := NewSender(st, s, renderer(t))
	c := NewConnections(st, s, func() *Sender { return sender })
	for at, target := range map[string]Target{
		"service": {Owner: Owner{UserID: 7}, Service: "icq", URL: "https://hooks.slack.com/services/x"},
		"url":     {Owner: Owner{UserID: 7}, Service: "slack", URL: "https://evil.example/services/x"},
		"secret":  {Owner: Owner{UserID: 7}, Service: "slack", URL: "https://hooks.slack.com/services/x", Secret: "x"},
	} {
		err := c.Connect(t.Context(), target)
		if e, ok := errors.AsType[*fault.InvalidError](err); !ok || len(e.Faults) != 1 || e.Faults[0].Location != at {
			t.Errorf("%+v: %v, want a fault of %s", target, err, at)
		}
	}
	for _, u := range []string{"", "http://hooks.slack.com/services/x", "https://hooks.slack.com/api/x", "https://hooks.slack.com.evil.example/services/x", "https://evil.example/?.logic.azure.com"} {
		if c.Connect(t.Context(), Target{Owner: Owner{UserID: 7}, Service: "slack", URL: u}) == nil || c.Connect(t.Context(), Target{Owner: Owner{UserID: 7}, Service: "teams", URL: u}) == nil {
			t.Errorf("%q was accepted", u)
		}
	}
	s.refused = webhook.ErrRefused
	if err := c.Connect(t.Context(), Target{Owner: Owner{UserID: 7}, Service: "generic", URL: "https://127.0.0.1/"}); err == nil {
		t.Error("a private address was accepted")
	}
	s.refused = nil
	if err := c.Connect(t.Context(), Target{Owner: Owner{UserID: 7}, Service: "slack", URL: "https://hooks.slack.com/services/x"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Test(t.Context(), Owner{UserID: 7}); err != nil || !strings.Contains(string(s.body), "Test message from Punctual") {
		t.Errorf("%v, %s", err, s.body)
	}
	room := Target{ID: 4, Owner: Owner{RoomID: 5}, Service: "slack", URL: "https://hooks.slack.com/services/y", Locale: "en"}
	st.target = room
	if err := c.Connect(t.Context(), Target{Owner: room.Owner, Service: "slack", Locale: "de"}); err != nil || st.target.URL != "" || st.target.Locale != "de" {
		t.Errorf("without an address: %v, %+v", err, st.target)
	}
	for _, target := range []Target{{Owner: room.Owner, Service: "generic", Locale: "de"}, {Owner: room.Owner, Service: "slack", Locale: "?"}} {
		if err := c.Connect(t.Context(), target); err == nil {
			t.Errorf("%+v was accepted", target)
		}
	}
	if err := c.Test(t.Context(), Owner{UserID: 8}); !errors.Is(err, notify.ErrNotFound) {
		t.Errorf("without a chat: %v", err)
	}
}

// A request in the channel of a room has no links that decide, and addresses nobody.
func TestChannelMessages(t *testing.T) {
	s := &service{answer: webhook.Answer{Status: 200}}
	sender := NewSender(&store{Target{ID: 3, Owner: Owner{RoomID: 5}, Service: "generic", URL: "https://chat.example.org/hook", Locale: "en"}}, s, renderer(t))
	n := request(3)
	n.To, n.Facts.Title = notify.Recipient{Address: "chat-room-5"}, ""
	if err := sender.Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	var body any
	if err := json.Unmarshal(s.body, &body); err != nil {
		t.Fatal(err)
	}
	text, links := texts(body, "")
	if len(links) != 1 || links[0] != "https://rooms.example.org/meetings/5" || !strings.Contains(text, "Approval needed: Meeting") || strings.Contains(text, "Please") {
		t.Errorf("%q with %q", text, links)
	}
}
