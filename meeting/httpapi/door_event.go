package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"punctual/meeting/events"
)

// DoorEventsPath is where a device at a door receives events about changes in its room.
const DoorEventsPath = "/door/events"

func (h *doorHandlers) registerEvents(api huma.API) {
	op := operation("door-events", http.MethodGet, DoorEventsPath, "That something happened in the room, as it happens: server-sent events", "Doors")
	op.Description = "The stream starts with the event `ready`. The event `changed` follows whenever a meeting in the room changes; `GET /door` returns the new state. " +
		"There are no events for blackouts and for changes of the room itself; a device polls every minute anyway, for the next QR code. The server ends streams from time to time."
	op.Responses = map[string]*huma.Response{"200": {
		Description: "A stream that goes on until either side ends it",
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	register(api, op, h.events)
}

func (h *doorHandlers) events(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
	_, roomID, err := h.standing(ctx)
	if err != nil {
		return nil, err
	}
	listener, _, err := h.stream.Listen(ctx, 0)
	if err != nil {
		return nil, err
	}
	hint := func(u events.Update) []byte {
		if !u.Concerns([]int64{roomID}, false) {
			return nil
		}
		return []byte("event: changed\ndata: {}\n\n")
	}
	return follow(listener, false, hint), nil
}
