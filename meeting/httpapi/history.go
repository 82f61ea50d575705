package httpapi

import (
	"context"
	"time"

	"punctual/meeting"
)

// HistoryEntry is an entry in the history of a meeting.
type HistoryEntry struct {
	At      time.Time         `json:"at"`
	Action  string            `json:"action" enum:"created,confirmed,rejected,changed,cancelled,started,ended,released,checked_in,responded"`
	Actor   HistoryActor      `json:"actor"`
	Changes map[string]Change `json:"changes" doc:"Old and new values by field"`
	Reason  *string           `json:"reason" doc:"timeout, or the reason that was given"`
}

// HistoryActor is the actor of an entry.
type HistoryActor struct {
	Kind string `json:"kind" enum:"user,timer,system"`
	ID   int64  `json:"id,omitempty" doc:"User ID"`
	Name string `json:"name" doc:"Name of the user or of the delay job"`
}

// Change of one field.
type Change struct {
	From any `json:"from"`
	To   any `json:"to"`
}

func entryOf(e meeting.Entry) HistoryEntry {
	changes := make(map[string]Change, len(e.Changes))
	for field, c := range e.Changes {
		changes[field] = Change(c)
	}
	return HistoryEntry{
		At: e.At.UTC(), Action: string(e.Action),
		Actor:   HistoryActor{Kind: string(e.Actor.Kind), ID: e.Actor.ID, Name: e.Actor.Name},
		Changes: changes,
		Reason:  text(e.Reason),
	}
}

type ofMeetingInput struct {
	Target
	Paging
}

func (h *handlers) history(ctx context.Context, in *ofMeetingInput) (*listOutput[HistoryEntry], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	entries, next, err := h.svc.History(ctx, by, in.ID, in.page())
	if err != nil {
		return nil, err
	}
	return listed(entries, next, entryOf), nil
}

// MeetingNotification is one notification about a meeting to one person, sent or pending.
type MeetingNotification struct {
	ID        int64      `json:"id"`
	MeetingID int64      `json:"meeting_id"`
	Kind      string     `json:"kind" doc:"Kind of notification, such as reminder, invitation, change, cancellation, approval_request or decision"`
	Channel   string     `json:"channel" enum:"email,sms"`
	UserID    *int64     `json:"user_id"`
	Name      string     `json:"name"`
	Address   string     `json:"address" doc:"Address. A phone number is empty unless it is yours, you are an admin, or you organize the meeting and it is a guest's"`
	State     string     `json:"state" doc:"One of pending, sending, sent, failed, skipped, skipped_late, cancelled and superseded"`
	Due       time.Time  `json:"due"`
	Attempts  int        `json:"attempts"`
	MessageID *string    `json:"message_id"`
	LastError *string    `json:"last_error" doc:"Why the last attempt failed; null if the address is hidden"`
	SentAt    *time.Time `json:"sent_at" nullable:"true"`
	CreatedAt time.Time  `json:"created_at"`
	UpdatedAt time.Time  `json:"updated_at"`
}

func (h *handlers) notifications(ctx context.Context, in *ofMeetingInput) (*listOutput[MeetingNotification], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	maySeePhone, err := h.svc.AuthorizeNotices(ctx, by, in.ID)
	if err != nil {
		return nil, err
	}
	items, next, err := h.notices.OfMeeting(ctx, in.ID, in.page())
	if err != nil {
		return nil, err
	}
	return listed(items, next, func(n MeetingNotification) MeetingNotification {
		var recipient int64
		if n.UserID != nil {
			recipient = *n.UserID
		}
		if n.Channel == string(meeting.SMS) && !maySeePhone(recipient) {
			n.Address, n.LastError = "", nil // the error of a gateway may contain the number
		}
		return n
	}), nil
}
