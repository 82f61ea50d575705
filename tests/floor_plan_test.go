package tests

import (
	"bytes"
	"fmt"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"punctual/tests/testenv"
)

const planSVG = `<?xml version="1.0"?><!DOCTYPE svg><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 100" onload="alert(1)">
<script>alert(1)</script><rect x="0" y="0" width="200" height="100" fill="#fff" stroke="#333"/><path d="M100 0V100" stroke="#333"/></svg>`

// TestFloorPlan: admins upload pictures of floors and place rooms, everyone sees them, and nothing of an
// SVG runs.
func TestFloorPlan(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice := admin.NewUser(t, "Alice", "member")
		var site struct{ ID int64 }
		admin.Want(t, http.StatusCreated, http.MethodPost, "/sites", with{"name": "Berlin"}, &site)
		room := admin.NewRoom(t, "Turing", with{"site_id": site.ID})
		gone := admin.NewRoom(t, "Gone", nil)
		type plan struct {
			ID            int64
			SiteID        *int64 `json:"site_id"`
			Floor         string
			Picture       string
			Width, Height int
			Rooms         []struct {
				RoomID              int64 `json:"room_id"`
				X, Y, Width, Height float64
			}
			Version int64
		}
		alice.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, "/floor-plans", with{"image": []byte(planSVG)})
		for _, bad := range []struct {
			body any
			want string
		}{
			{with{"floor": "1"}, "body.image required"},
			{with{"image": nil}, "body.image required"},
			{with{"image": []byte("%PDF-1.7")}, "body.image unknown_image"},
			{with{"image": []byte(planSVG), "site_id": 999}, "body.site_id unknown_site"},
			{with{"image": []byte(planSVG), "rooms": []any{with{"room_id": room.ID, "x": 2, "y": 0}}}, "body.rooms[0].x out_of_range"},
			{with{"image": []byte(planSVG), "rooms": []any{with{"room_id": room.ID, "x": "2", "y": 0}}}, "body.rooms[0].x invalid_type"},
		} {
			p := admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/floor-plans", bad.body)
			if len(p.Errors) != 1 || p.Errors[0].Location+" "+p.Errors[0].Code != bad.want {
				t.Errorf("%v: %+v, want %s", bad.body, p.Errors, bad.want)
			}
		}
		var made plan
		res := admin.Want(t, http.StatusCreated, http.MethodPost, "/floor-plans", with{"site_id": site.ID, "floor": "3", "image": []byte(planSVG), "rooms": []any{
			with{"room_id": room.ID, "x": 0.1, "y": 0.2, "width": 0.3, "height": 0.4}, with{"room_id": gone.ID, "x": 0.9, "y": 0.9},
		}}, &made)
		if made.Width != 1600 || made.Height != 800 || *made.SiteID != site.ID || len(made.Rooms) != 2 || made.Rooms[0].Height != 0.4 {
			t.Fatalf("%+v", made)
		}
		path := fmt.Sprintf("/floor-plans/%d", made.ID)
		shown := alice.Want(t, http.StatusOK, http.MethodGet, path+"/picture?v="+made.Picture, nil, nil)
		h := shown.Header
		if h.Get("Content-Type") != "image/svg+xml" || h.Get("Content-Security-Policy") != "default-src 'none'; sandbox" ||
			h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Cache-Control"), "immutable") {
			t.Errorf("headers %v", h)
		}
		if body := string(shown.Body); strings.Contains(body, "alert") || strings.Contains(body, "DOCTYPE") || !strings.Contains(body, `d="M100 0V100"`) {
			t.Errorf("the picture is %s", body)
		}
		alice.Want(t, http.StatusNotModified, http.MethodGet, path+"/picture", nil, nil, testenv.Header("If-None-Match", h.Get("ETag")))
		server.Anonymous().WantProblem(t, http.StatusUnauthorized, "unauthorized", http.MethodGet, path+"/picture", nil)

		admin.WantProblem(t, http.StatusPreconditionFailed, "version_mismatch", http.MethodPatch, path, with{"floor": "4"}, testenv.Header("If-Match", `"7"`))
		var changed plan
		admin.Want(t, http.StatusOK, http.MethodPatch, path, with{"image": picture(t, 400, 300), "site_id": nil}, &changed, testenv.Header("If-Match", res.Header.Get("ETag")))
		if changed.Picture == made.Picture || changed.Width != 400 || changed.SiteID != nil || len(changed.Rooms) != 2 || changed.Version != 2 {
			t.Errorf("changed: %+v", changed)
		}
		again := alice.Want(t, http.StatusOK, http.MethodGet, path+"/picture", nil, nil)
		if c, err := png.DecodeConfig(bytes.NewReader(again.Body)); err != nil || c.Height != 300 {
			t.Errorf("the new picture: %+v, %v", c, err)
		}
		admin.Want(t, http.StatusNoContent, http.MethodDelete, fmt.Sprintf("/rooms/%d", gone.ID), nil, nil)
		var list struct{ Items []plan }
		alice.Want(t, http.StatusOK, http.MethodGet, "/floor-plans", nil, &list)
		if len(list.Items) != 1 || len(list.Items[0].Rooms) != 1 {
			t.Errorf("after a room is deleted: %+v", list)
		}
		admin.Want(t, http.StatusNoContent, http.MethodDelete, path, nil, nil)
		alice.WantProblem(t, http.StatusNotFound, "not_found", http.MethodGet, path+"/picture", nil)
		// A plan goes with its site.
		admin.Want(t, http.StatusCreated, http.MethodPost, "/floor-plans", with{"site_id": site.ID, "image": []byte(planSVG)}, &made)
		admin.Want(t, http.StatusNoContent, http.MethodDelete, fmt.Sprintf("/rooms/%d", room.ID), nil, nil)
		admin.Want(t, http.StatusNoContent, http.MethodDelete, fmt.Sprintf("/sites/%d", site.ID), nil, nil)
		alice.WantProblem(t, http.StatusNotFound, "not_found", http.MethodGet, fmt.Sprintf("/floor-plans/%d", made.ID), nil)
	})
}
