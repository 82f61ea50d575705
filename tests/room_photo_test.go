package tests

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"net/http"
	"testing"

	"punctual/tests/testenv"
)

// picture is a PNG of a size.
func picture(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestRoomPhoto: admins set, replace and remove the photo of a room, and everyone who sees the room sees it,
// with headers that let a browser keep it and do nothing else with it.
func TestRoomPhoto(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice := admin.NewUser(t, "Alice", "member")
		room := admin.NewRoom(t, "Turing", with{"features": []string{"projector"}})
		path := fmt.Sprintf("/rooms/%d/photo", room.ID)
		type shown struct {
			Photo    *string
			Features []string
			Version  int64
		}
		set := func(image []byte) (r shown) {
			t.Helper()
			admin.Want(t, http.StatusOK, http.MethodPut, path, with{"image": image}, &r)
			return r
		}
		size := func(query string) (image.Config, http.Header) {
			t.Helper()
			res := alice.Want(t, http.StatusOK, http.MethodGet, path+query, nil, nil)
			c, err := jpeg.DecodeConfig(bytes.NewReader(res.Body))
			if err != nil {
				t.Fatal(err)
			}
			return c, res.Header
		}

		alice.WantProblem(t, http.StatusNotFound, "not_found", http.MethodGet, path, nil)
		alice.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPut, path, with{"image": picture(t, 100, 100)})
		admin.WantProblem(t, http.StatusNotFound, "not_found", http.MethodPut, "/rooms/999999/photo", with{"image": picture(t, 100, 100)})
		for _, bad := range []struct {
			body any
			code string
		}{
			{with{}, "required"},
			{with{"image": "not base64!"}, "invalid_type"},
			{with{"image": []byte("<svg xmlns='http://www.w3.org/2000/svg'/>")}, "unknown_image"},
			{with{"image": picture(t, 100, 100)[:80]}, "unreadable_image"},
			{with{"image": picture(t, 20, 20)}, "too_small"},
		} {
			if p := admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPut, path, bad.body); len(p.Errors) != 1 || p.Errors[0].Location != "body.image" || p.Errors[0].Code != bad.code {
				t.Errorf("%v: %+v, want %s", bad.body, p.Errors, bad.code)
			}
		}

		first := set(picture(t, 2000, 1000))
		if first.Photo == nil || first.Version <= room.Version || len(first.Features) != 1 {
			t.Fatalf("set: %+v", first)
		}
		if c, h := size(""); c.Width != 1280 || c.Height != 640 || h.Get("Content-Type") != "image/jpeg" || h.Get("X-Content-Type-Options") != "nosniff" ||
			h.Get("Content-Security-Policy") != "default-src 'none'; sandbox" || h.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("large: %+v %v", c, h)
		}
		c, h := size("?size=small&v=" + *first.Photo)
		if c.Width != 320 || c.Height != 160 || h.Get("Cache-Control") != "private, max-age=31536000, immutable" {
			t.Errorf("small: %+v %v", c, h)
		}
		alice.Want(t, http.StatusNotModified, http.MethodGet, path+"?size=small", nil, nil, testenv.Header("If-None-Match", h.Get("ETag")))

		admin.WantProblem(t, http.StatusPreconditionFailed, "version_mismatch", http.MethodPut, path, with{"image": picture(t, 100, 100)}, testenv.Header("If-Match", `"1"`))
		second := set(picture(t, 100, 200))
		if *second.Photo == *first.Photo {
			t.Error("another photo has the same version")
		}
		if c, h := size("?v=" + *first.Photo); c.Height != 200 || h.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("another photo at an old address: %+v %v", c, h)
		}
		var changed shown
		admin.Want(t, http.StatusOK, http.MethodPatch, fmt.Sprintf("/rooms/%d", room.ID), with{"name": "Turing II"}, &changed)
		if changed.Photo == nil || *changed.Photo != *second.Photo {
			t.Errorf("another change lost the photo: %+v", changed)
		}

		admin.Want(t, http.StatusNoContent, http.MethodDelete, path, nil, nil)
		alice.WantProblem(t, http.StatusNotFound, "not_found", http.MethodGet, path, nil)
		var gone shown
		alice.Want(t, http.StatusOK, http.MethodGet, fmt.Sprintf("/rooms/%d", room.ID), nil, &gone)
		if gone.Photo != nil {
			t.Errorf("removed: %+v", gone)
		}
	})
}
