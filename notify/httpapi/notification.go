// Package httpapi serves notifications to administrators over HTTP.
package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account/rest"
	"punctual/notify"
)

// NextTry returns when the queue delivers a message next; zero: unknown.
type NextTry func(ctx context.Context, job, key string) time.Time

// Register adds the operations to api. The table in package account decides who may call them.
// There are no further rules per notification.
func Register(api huma.API, svc *notify.Service, nextTry NextTry) {
	h := &handlers{svc, nextTry}
	op := func(id, method, path, summary string, errors ...int) huma.Operation {
		return huma.Operation{
			OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{"Notifications"},
			Errors: append(errors, http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity),
		}
	}
	list := op("list-notifications", http.MethodGet, "/notifications", "List notifications, newest first")
	list.Description = "A page ends early after examining 10,000 notifications, even without a match. `next_cursor` continues the search."
	huma.Register(api, list, h.list)
	huma.Register(api, op("get-notification", http.MethodGet, "/notifications/{id}",
		"Get a notification with its failed attempts", http.StatusNotFound), h.get)
	huma.Register(api, op("resend-notifications", http.MethodPost, "/notifications/resend",
		"Resend several notifications"), h.resendAll)
	huma.Register(api, op("resend-notification", http.MethodPost, "/notifications/{id}/resend",
		"Resend a notification", http.StatusNotFound, http.StatusConflict), h.resend)
}

type handlers struct {
	svc     *notify.Service
	nextTry NextTry // nil: unknown
}

// Notification is a notification as the API shows it.
type Notification struct {
	ID        int64      `json:"id"`
	MeetingID *int64     `json:"meeting_id"`
	Title     string     `json:"title" doc:"Title of the meeting when the notification was created"`
	Kind      string     `json:"kind" example:"reminder"`
	Channel   string     `json:"channel" enum:"email,sms,chat"`
	UserID    *int64     `json:"user_id"`
	Name      string     `json:"name"`
	Address   string     `json:"address" doc:"Email address, phone number, or number of a chat"`
	State     string     `json:"state" enum:"pending,sending,sent,failed,skipped,skipped_late,cancelled,superseded"`
	Due       time.Time  `json:"due" doc:"When to send it"`
	Expires   *time.Time `json:"expires" doc:"Time after which it is not sent; null if there is none"`
	Attempts  int        `json:"attempts"`
	MessageID *string    `json:"message_id" doc:"Message ID, the same for every attempt; null before the first"`
	LastError *string    `json:"last_error" doc:"Why the last attempt failed, or why the notification was not sent"`
	SentAt    *time.Time `json:"sent_at" doc:"When the provider accepted it"`
	CreatedAt time.Time  `json:"created_at"`
	UpdatedAt time.Time  `json:"updated_at"`

	Reception       *string    `json:"reception" enum:"delivered,undelivered" doc:"What the SMS provider reported; null if it reported nothing yet"`
	ReceptionAt     *time.Time `json:"reception_at" doc:"When the provider reported it"`
	ReceptionReason *string    `json:"reception_reason" doc:"Why the message was not delivered"`
}

func view(n notify.Notification) Notification {
	return Notification{
		ID: n.ID, MeetingID: rest.OrNull(n.MeetingID), Title: n.Facts.Title, Kind: string(n.Kind), Channel: string(n.Channel),
		UserID: rest.OrNull(n.To.UserID), Name: n.To.Name, Address: n.To.Address,
		State: string(n.State), Due: n.Due, Expires: rest.OrNull(n.Expires), Attempts: n.Attempts,
		MessageID: rest.OrNull(n.MessageID), LastError: rest.OrNull(n.LastError), SentAt: rest.OrNull(n.SentAt),
		CreatedAt: n.CreatedAt, UpdatedAt: n.UpdatedAt,
		Reception: rest.OrNull(string(n.Reception)), ReceptionAt: rest.OrNull(n.ReceptionAt), ReceptionReason: rest.OrNull(n.ReceptionReason),
	}
}

type listInput struct {
	MeetingID int64  `query:"meeting_id" minimum:"1" doc:"ID of the meeting"`
	Kind      string `query:"kind" maxLength:"40" doc:"Only this kind of notification" example:"reminder"`
	Channel   string `query:"channel" enum:"email,sms,chat" doc:"Only notifications on this channel"`
	Address   string `query:"address" maxLength:"320" doc:"Email address or phone number of the recipient; ignores case"`
	Q         string `query:"q" maxLength:"200" doc:"Text in the recipient's name or address, the meeting's title or the last error; ignores case"`
	From      string `query:"from" doc:"Created at or after this time" example:"2027-02-01T00:00:00Z"`
	To        string `query:"to" doc:"Created before this time" example:"2027-03-01T00:00:00Z"`
	State     string `query:"state" enum:"pending,sending,sent,failed,skipped,skipped_late,cancelled,superseded" doc:"Only notifications in this state"`
	Limit     int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"Maximum number of items"`
	Cursor    string `query:"cursor" maxLength:"100" doc:"The next_cursor of the previous page"`
}

type listOutput struct {
	Body struct {
		Items      []Notification `json:"items" nullable:"false"`
		NextCursor *string        `json:"next_cursor" doc:"Cursor of the next page; null on the last page"`
	}
}

func (h *handlers) list(ctx context.Context, in *listInput) (*listOutput, error) {
	cursor, err := notify.ParseCursor(in.Cursor)
	if err != nil {
		return nil, errCursor()
	}
	from, errFrom := instant("query.from", in.From)
	to, errTo := instant("query.to", in.To)
	if !from.IsZero() && !to.IsZero() && !from.Before(to) {
		errTo = &huma.ErrorDetail{Location: "query.to", Message: "must be after from"}
	}
	if faults := slices.DeleteFunc([]error{errFrom, errTo}, func(err error) bool { return err == nil }); len(faults) > 0 {
		return nil, huma.Error422UnprocessableEntity("validation failed", faults...)
	}
	page, err := h.svc.List(ctx, notify.Filter{
		MeetingID: in.MeetingID, State: notify.State(in.State), Kind: notify.Kind(in.Kind), Channel: notify.Channel(in.Channel),
		Address: in.Address, Text: strings.TrimSpace(in.Q), From: from, To: to, Cursor: cursor, Limit: in.Limit,
	})
	if err != nil {
		return nil, err
	}
	out := &listOutput{}
	out.Body.Items = make([]Notification, len(page.Items))
	for i, n := range page.Items {
		out.Body.Items[i] = view(n)
	}
	out.Body.NextCursor = rest.OrNull(page.Next.String())
	return out, nil
}

type target struct {
	ID int64 `path:"id"`
}

type output struct{ Body Notification }

func (h *handlers) resend(ctx context.Context, in *target) (*output, error) {
	n, err := h.svc.Resend(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &output{Body: view(n)}, nil
}

// Attempt is a failed attempt.
type Attempt struct {
	At      time.Time `json:"at"`
	Attempt int       `json:"attempt"`
	Error   string    `json:"error"`
}

// NotificationDetail is a notification with its failed attempts and its next attempt.
type NotificationDetail struct {
	Notification
	Locale   string     `json:"locale" doc:"Locale of the recipient"`
	Timezone string     `json:"timezone" doc:"Time zone of the recipient; empty if the meeting's time zone applies"`
	Failures []Attempt  `json:"failures" nullable:"false" doc:"Failed attempts, at most the first 50"`
	NextTry  *time.Time `json:"next_try" nullable:"true" doc:"Time of the next attempt, if the notification is already in the queue"`
}

type detailOutput struct{ Body NotificationDetail }

func (h *handlers) get(ctx context.Context, in *target) (*detailOutput, error) {
	n, err := h.svc.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := &detailOutput{NotificationDetail{Notification: view(n), Locale: n.To.Locale, Timezone: n.To.Timezone}}
	out.Body.Failures = make([]Attempt, len(n.Failures))
	for i, f := range n.Failures {
		out.Body.Failures[i] = Attempt(f)
	}
	if h.nextTry != nil && (n.State == notify.Pending || n.State == notify.Sending) {
		m := n.Message()
		out.Body.NextTry = rest.OrNull(h.nextTry(ctx, m.Job, m.Key).UTC())
	}
	return out, nil
}

type resendInput struct {
	Body struct {
		IDs []int64 `json:"ids" minItems:"1" maxItems:"500"`
	}
}

type resendOutput struct {
	Body struct {
		Resent  int     `json:"resent" doc:"Number of notifications that are resent"`
		Skipped []int64 `json:"skipped" nullable:"false" doc:"IDs that are not resent: pending, sending, cancelled, superseded or unknown"`
	}
}

func (h *handlers) resendAll(ctx context.Context, in *resendInput) (*resendOutput, error) {
	out := &resendOutput{}
	out.Body.Skipped = []int64{}
	for _, id := range in.Body.IDs {
		_, err := h.svc.Resend(ctx, id)
		if _, state := errors.AsType[*notify.StateError](err); state || errors.Is(err, notify.ErrNotFound) {
			out.Body.Skipped = append(out.Body.Skipped, id)
			continue
		}
		if err != nil {
			return nil, err
		}
		out.Body.Resent++
	}
	return out, nil
}

func instant(location, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, strings.ToUpper(strings.Replace(s, " ", "+", 1)))
	if err != nil {
		return t, &huma.ErrorDetail{Location: location, Message: "must be a time like 2027-02-10T09:00:00Z"}
	}
	return t, nil
}

func errCursor() error {
	return huma.Error422UnprocessableEntity("validation failed", &huma.ErrorDetail{
		Location: "query.cursor", Message: "must be a cursor returned by this list",
	})
}
