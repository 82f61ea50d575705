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
	op := operation("door-events", http.MethodGet, DoorEventsPath, "Stream changes in the room as server-sent events", "Doors")
	op.Description = "The stream starts with the event `ready`. The event `changed` follows whenever a meeting in the room changes; `GET /door` returns the new state. " +
		"Blackouts and changes of the room itself send no event; a device sees them when it polls for the next QR code, every minute. The server closes streams from time to time; clients must reconnect."
	op.Responses = map[string]*huma.Response{"200": {
		Description: "Event stream, open until either side closes it",
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	register(api, op, h.events)
}

func (h *doorHandlers) events(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
	_, roomID, err := h.device(ctx)
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
