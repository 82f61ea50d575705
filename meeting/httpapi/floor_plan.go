package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/meeting"
	"punctual/meeting/places"
)

// FloorPlan is a picture of a floor with rooms on it.
type FloorPlan struct {
	ID        int64        `json:"id"`
	SiteID    *int64       `json:"site_id" doc:"ID of the site; null for rooms without a site"`
	Floor     string       `json:"floor"`
	Picture   string       `json:"picture" doc:"Version of the picture, for v of its address"`
	Width     int          `json:"width" doc:"Width of the picture, in pixels"`
	Height    int          `json:"height" doc:"Height of the picture, in pixels"`
	Rooms     []PlacedRoom `json:"rooms" nullable:"false"`
	Version   int64        `json:"version"`
	CreatedAt time.Time    `json:"created_at"`
	UpdatedAt time.Time    `json:"updated_at"`
}

// PlacedRoom is where a room is on a floor plan.
type PlacedRoom struct {
	RoomID int64   `json:"room_id"`
	X      float64 `json:"x" doc:"Left edge, or a point, from 0 to 1 of the picture's width"`
	Y      float64 `json:"y" doc:"Upper edge, or a point, from 0 to 1 of the picture's height"`
	Width  float64 `json:"width,omitempty" doc:"From 0 to 1 of the picture's width; 0 for a point"`
	Height float64 `json:"height,omitempty" doc:"From 0 to 1 of the picture's height; 0 for a point"`
}

func floorPlanOf(p *meeting.FloorPlan) FloorPlan {
	return FloorPlan{
		ID: p.ID, SiteID: number(p.SiteID), Floor: p.Floor, Picture: p.Picture, Width: p.Width, Height: p.Height,
		Rooms:   list(p.Rooms, func(r meeting.PlacedRoom) PlacedRoom { return PlacedRoom(r) }),
		Version: p.Version, CreatedAt: p.CreatedAt.UTC(), UpdatedAt: p.UpdatedAt.UTC(),
	}
}

// FloorPlanPatch changes a floor plan. Fields that are left out stay unchanged.
type FloorPlanPatch struct {
	SiteID Field[int64]        `json:"site_id,omitempty" maximum:"9007199254740991" doc:"ID of the site; null for rooms without a site"`
	Floor  Field[string]       `json:"floor,omitempty" doc:"At most 50 characters; unique within the site" example:"3"`
	Image  Field[[]byte]       `json:"image,omitempty" doc:"PNG, JPEG, WebP or SVG as base64, at most 720 KB and 16 megapixels. Only shapes and text of an SVG are kept"`
	Rooms  Field[[]PlacedRoom] `json:"rooms,omitempty" doc:"At most 500; replaces all"`
}

// FloorPlanInput is a new floor plan.
type FloorPlanInput FloorPlanPatch

// TransformSchema names what a new floor plan must have.
func (FloorPlanInput) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = []string{"image"}
	return s
}

func (p FloorPlanPatch) fields(faults []meeting.Fault) places.FloorPlanFields {
	f := places.FloorPlanFields{
		SiteID: p.SiteID.ptr(), Floor: p.Floor.ptr(), Faults: faults,
		Rooms: mapField(p.Rooms, func(rooms []PlacedRoom) []meeting.PlacedRoom {
			return list(rooms, func(r PlacedRoom) meeting.PlacedRoom { return meeting.PlacedRoom(r) })
		}),
	}
	if p.Image.Set {
		f.Image = append([]byte{}, p.Image.Value...) // empty for null, which is refused
	}
	return f
}

func (h *handlers) registerFloorPlans(api huma.API) {
	const tag = "Floor plans"
	register(api, operation("list-floor-plans", http.MethodGet, "/floor-plans", "List floor plans by site and floor, with the places of rooms", tag), h.listFloorPlans)
	add := heavy(creates(operation("create-floor-plan", http.MethodPost, "/floor-plans", "Add a floor plan", tag)))
	add.Description = "Images are re-encoded, at most 2400 pixels wide and high. SVGs are rewritten with only shapes, text, gradients and patterns; scripts, external styles, images and addresses are removed."
	register(api, add, h.createFloorPlan)
	register(api, operation("get-floor-plan", http.MethodGet, "/floor-plans/{id}", "Get a floor plan", tag), h.floorPlan)
	register(api, heavy(operation("update-floor-plan", http.MethodPatch, "/floor-plans/{id}", "Change a floor plan: its floor, its picture, or where rooms are", tag)), h.updateFloorPlan)
	register(api, deletes(operation("delete-floor-plan", http.MethodDelete, "/floor-plans/{id}", "Delete a floor plan; its rooms stay", tag)), h.deleteFloorPlan)
	get := operation("get-floor-plan-picture", http.MethodGet, "/floor-plans/{id}/picture", "Get the picture of a floor plan", tag)
	get.Description = "With v, the version of the picture, it never changes and may be cached."
	get.Responses = pictureResponses()
	register(api, get, h.floorPlanPicture)
}

// pictureResponses describes responses with a drawing.
func pictureResponses() map[string]*huma.Response {
	binary := func() *huma.MediaType {
		return &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	}
	return map[string]*huma.Response{
		"200": {Description: "The picture", Content: map[string]*huma.MediaType{"image/png": binary(), "image/jpeg": binary(), "image/svg+xml": binary()}},
		"304": {Description: "Not Modified"},
	}
}

func (h *handlers) listFloorPlans(ctx context.Context, _ *struct{}) (*listOutput[FloorPlan], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	plans, err := h.places.FloorPlans(ctx, by)
	if err != nil {
		return nil, err
	}
	return listed(plans, "", floorPlanOf), nil
}

func (h *handlers) createFloorPlan(ctx context.Context, in *struct{ Body Body[FloorPlanInput] }) (*made[FloorPlan], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	input, faults := in.Body.read(h.registry)
	p, err := h.places.CreateFloorPlan(ctx, by, FloorPlanPatch(input).fields(faults))
	if err != nil {
		return nil, err
	}
	return &made[FloorPlan]{ETag: etag(p.Version), Location: h.locate("floor-plans", p.ID), Body: floorPlanOf(p)}, nil
}

func (h *handlers) floorPlan(ctx context.Context, in *Target) (*one[FloorPlan], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return answerFloorPlan(h.places.FloorPlan(ctx, by, in.ID))
}

type updateFloorPlanInput struct {
	Target
	Guard
	Body Body[FloorPlanPatch]
}

func (h *handlers) updateFloorPlan(ctx context.Context, in *updateFloorPlanInput) (*one[FloorPlan], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	patch, faults := in.Body.read(h.registry)
	return answerFloorPlan(h.places.UpdateFloorPlan(ctx, by, in.ID, in.version(), patch.fields(faults)))
}

func answerFloorPlan(p *meeting.FloorPlan, err error) (*one[FloorPlan], error) {
	if err != nil {
		return nil, err
	}
	return &one[FloorPlan]{ETag: etag(p.Version), Body: floorPlanOf(p)}, nil
}

func (h *handlers) deleteFloorPlan(ctx context.Context, in *guardedInput) (*struct{}, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return nil, h.places.DeleteFloorPlan(ctx, by, in.ID, in.version())
}

type floorPlanPictureInput struct {
	Target
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of the previous response; the response is 304 if nothing has changed"`
	Version     string `query:"v" maxLength:"64" doc:"Version of the picture, as the floor plan has it"`
}

func (h *handlers) floorPlanPicture(ctx context.Context, in *floorPlanPictureInput) (*photoOutput, error) {
	picture, version, err := h.places.FloorPlanPicture(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return pictured(picture.Content, picture.Type, version, version, in.Version, in.IfNoneMatch), nil
}

// pictured is the response with a picture: browsers keep it while its version stays, and run nothing in it.
func pictured(content []byte, contentType, version, tag, wanted, ifNoneMatch string) *photoOutput {
	out := &photoOutput{
		Status: http.StatusOK, ContentType: contentType, ETag: `"` + tag + `"`,
		CacheControl: "private, no-cache", Policy: "default-src 'none'; sandbox", Body: content,
	}
	if wanted == version {
		out.CacheControl = "private, max-age=31536000, immutable"
	}
	if knows(ifNoneMatch, out.ETag) {
		out.Status, out.Body = http.StatusNotModified, nil
	}
	return out
}
