package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account/fault"
)

// PhotoInput is a picture of a room.
type PhotoInput struct {
	Image []byte `json:"image" doc:"PNG, JPEG or WebP as base64: at most 720 KB and 16 megapixels, at least 64 pixels wide and high"`
}

func (h *handlers) registerRoomPhotos(api huma.API) {
	const tag = "Rooms"
	get := operation("get-room-photo", http.MethodGet, "/rooms/{id}/photo", "Get the photo of a room", tag)
	get.Description = "A JPEG. With v, the photo's version, it never changes and may be cached."
	get.Responses = map[string]*huma.Response{
		"200": {Description: "JPEG", Content: map[string]*huma.MediaType{"image/jpeg": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}},
		"304": {Description: "Not Modified"},
	}
	register(api, get, h.roomPhoto)
	set := heavy(operation("set-room-photo", http.MethodPut, "/rooms/{id}/photo", "Set the photo of a room", tag))
	set.Description = "The picture is turned upright, scaled down, and stored without metadata in two sizes."
	register(api, set, h.setRoomPhoto)
	register(api, deletes(operation("delete-room-photo", http.MethodDelete, "/rooms/{id}/photo", "Remove the photo of a room", tag)), h.deleteRoomPhoto)
}

type photoInput struct {
	Target
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of the previous response; the response is 304 if nothing has changed"`
	Size        string `query:"size" enum:"large,small" default:"large" doc:"large: at most 1280 pixels wide and high; small: 320"`
	Version     string `query:"v" maxLength:"64" doc:"Version of the photo, as the room has it"`
}

type photoOutput struct {
	Status       int
	ContentType  string `header:"Content-Type"`
	ETag         string `header:"ETag"`
	CacheControl string `header:"Cache-Control"`
	Policy       string `header:"Content-Security-Policy"`
	Body         []byte
}

func (h *handlers) roomPhoto(ctx context.Context, in *photoInput) (*photoOutput, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	picture, version, err := h.places.RoomPhoto(ctx, by, in.ID, in.Size == "small")
	if err != nil {
		return nil, err
	}
	return pictured(picture, "image/jpeg", version, version+"-"+in.Size, in.Version, in.IfNoneMatch), nil
}

type setPhotoInput struct {
	Target
	Guard
	Body Body[PhotoInput]
}

func (h *handlers) setRoomPhoto(ctx context.Context, in *setPhotoInput) (*one[Room], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	input, faults := in.Body.read(h.registry)
	if err := fault.Merge(faults, nil).Err(); err != nil {
		return nil, err
	}
	r, err := h.places.SetRoomPhoto(ctx, by, in.ID, in.version(), input.Image)
	if err != nil {
		return nil, err
	}
	return &one[Room]{ETag: etag(r.Version), Body: roomOf(r)}, nil
}

func (h *handlers) deleteRoomPhoto(ctx context.Context, in *guardedInput) (*struct{}, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return nil, h.places.RemoveRoomPhoto(ctx, by, in.ID, in.version())
}
