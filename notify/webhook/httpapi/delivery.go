package httpapi

import (
	"context"
	"strconv"
	"time"

	"punctual/account/fault"
	"punctual/account/rest"
	"punctual/notify/webhook"
)

// Delivery is one event for one webhook.
type Delivery struct {
	ID          int64      `json:"id"`
	EventID     int64      `json:"event_id" doc:"ID of the event, the same as in the event stream"`
	Event       string     `json:"event" example:"meeting.started"`
	State       string     `json:"state" enum:"pending,delivered,failed,skipped" doc:"State of the delivery. failed: not accepted in time. skipped: the meeting was deleted, or the webhook was inactive"`
	Attempts    int        `json:"attempts"`
	Status      *int       `json:"status" doc:"HTTP status of the last response; null if there was none"`
	LastError   *string    `json:"last_error"`
	DeliveredAt *time.Time `json:"delivered_at"`
	Expires     time.Time  `json:"expires" doc:"When the delivery fails unless it has been accepted"`
	CreatedAt   time.Time  `json:"created_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
}

func viewDelivery(d *webhook.Delivery) Delivery {
	return Delivery{
		ID: d.ID, EventID: d.EventID, Event: d.Event, State: string(d.State), Attempts: d.Attempts,
		Status: rest.OrNull(d.Status), LastError: rest.OrNull(d.LastError), DeliveredAt: rest.OrNull(d.DeliveredAt), Expires: d.Expires,
		CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt,
	}
}

type deliveriesInput struct {
	Target
	State  string `query:"state" enum:"pending,delivered,failed,skipped" doc:"Only deliveries in this state"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"Maximum number of items"`
	Cursor string `query:"cursor" maxLength:"40" doc:"The next_cursor of the previous page"`
}

type deliveriesOutput struct {
	Body struct {
		Items      []Delivery `json:"items" nullable:"false"`
		NextCursor *string    `json:"next_cursor" doc:"Cursor of the next page; null on the last page"`
	}
}

func (h *handlers) deliveries(ctx context.Context, in *deliveriesInput) (*deliveriesOutput, error) {
	before := int64(0)
	if in.Cursor != "" {
		var err error
		if before, err = strconv.ParseInt(in.Cursor, 36, 64); err != nil || before <= 0 {
			return nil, fault.Invalid("query.cursor", "invalid_cursor", "must be a cursor returned by this list")
		}
	}
	page, err := h.svc.Deliveries(ctx, in.ID, webhook.Filter{State: webhook.State(in.State), Before: before, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	out := &deliveriesOutput{}
	out.Body.Items = make([]Delivery, len(page.Items))
	for i, d := range page.Items {
		out.Body.Items[i] = viewDelivery(d)
	}
	if page.Next != 0 {
		out.Body.NextCursor = rest.OrNull(strconv.FormatInt(page.Next, 36))
	}
	return out, nil
}

type resendDeliveryInput struct {
	Target
	Delivery int64 `path:"delivery" minimum:"1"`
}

type deliveryOutput struct{ Body Delivery }

func (h *handlers) resend(ctx context.Context, in *resendDeliveryInput) (*deliveryOutput, error) {
	d, err := h.svc.Resend(ctx, in.ID, in.Delivery)
	if err != nil {
		return nil, err
	}
	return &deliveryOutput{viewDelivery(d)}, nil
}
