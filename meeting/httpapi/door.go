package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/door"
	"punctual/meeting/events"
	"punctual/meeting/linkpages"
	"punctual/meeting/places"
)

// DoorCode is what a screen at a room's door shows as a QR code.
type DoorCode struct {
	URL   string    `json:"url" doc:"Link that checks in to the current meeting in the room without signing in"`
	Until time.Time `json:"until" doc:"When the link expires; fetch the next one before then"`
}

// A code is good for a while after the next one is shown, so that there is time to scan it.
const doorCodeLife = 3 * time.Minute

// DoorDeps are the dependencies of door displays.
type DoorDeps struct {
	Service  *booking.Service
	Door     *door.Service
	Places   *places.Service
	Accounts *account.Service // of the devices
	Links    *linkpages.Links
	Stream   *events.Stream            // events of the rooms
	ClientIP func(huma.Context) string // client that wrong codes are counted for
	Now      func() time.Time
	Faults   account.Limiter // reports of faults per device, at [FaultRate]
}

// RegisterDoor adds the operations of door displays to the API.
func RegisterDoor(api huma.API, d DoorDeps) {
	h := &doorHandlers{
		svc: d.Service, door: d.Door, places: d.Places, accounts: d.Accounts, links: d.Links, stream: d.Stream, clientIP: d.ClientIP, now: d.Now, faults: d.Faults,
		registry: api.OpenAPI().Components.Schemas,
	}
	register(api, operation("room-door-code", http.MethodGet, "/rooms/{id}/door-code",
		"Get the check-in link to show as a QR code at the door; it changes every minute", "Rooms"), h.code)
	h.registerDevices(api)
	h.registerEvents(api)
}

type doorHandlers struct {
	svc      *booking.Service
	door     *door.Service
	places   *places.Service
	accounts *account.Service
	links    *linkpages.Links
	stream   *events.Stream
	clientIP func(huma.Context) string
	now      func() time.Time
	registry huma.Registry
	faults   account.Limiter
}

func (h *doorHandlers) code(ctx context.Context, in *Target) (*struct{ Body DoorCode }, error) {
	room, err := h.pairable(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &struct{ Body DoorCode }{h.codeOf(room)}, nil
}

func (h *doorHandlers) codeOf(room *meeting.Room) DoorCode {
	until := h.now().UTC().Truncate(time.Minute).Add(doorCodeLife)
	return DoorCode{URL: h.links.ArrivalURL(linkpages.Arrival{RoomID: room.ID, Until: until}), Until: until}
}
