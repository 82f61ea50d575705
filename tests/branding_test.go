package tests

import (
	"net/http"
	"strings"
	"testing"

	"punctual/tests/testenv"
)

// TestBranding: admins set name, message and logo of the organization, and everyone sees them without a sign-in.
func TestBranding(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin, anyone := server.Admin(t), server.Anonymous()
		alice := admin.NewUser(t, "Alice", "member")
		type branding struct {
			Name, Message, Logo *string
			MessageUntil        *string `json:"message_until"`
			Version             int64
		}
		var is branding
		anyone.Want(t, http.StatusOK, http.MethodGet, "/branding", nil, &is)
		if is.Name != nil || is.Message != nil || is.Logo != nil || is.Version != 0 {
			t.Errorf("at first: %+v", is)
		}
		anyone.WantProblem(t, http.StatusNotFound, "not_found", http.MethodGet, "/branding/logo", nil)
		anyone.WantProblem(t, http.StatusUnauthorized, "unauthorized", http.MethodPatch, "/branding", with{"name": "Acme"})
		alice.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPatch, "/branding", with{"name": "Acme"})
		for _, bad := range []struct {
			body any
			want string
		}{
			{with{"name": strings.Repeat("x", 61)}, "body.name too_long"},
			{with{"message": "two\nlines"}, "body.message "},
			{with{"message_until": "tomorrow"}, "body.message_until invalid_time"},
			{with{"logo": []byte("<!doctype html><script>")}, "body.logo unknown_image"},
		} {
			p := admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPatch, "/branding", bad.body)
			if len(p.Errors) != 1 || !strings.HasPrefix(p.Errors[0].Location+" "+p.Errors[0].Code, bad.want) {
				t.Errorf("%v: %+v, want %s", bad.body, p.Errors, bad.want)
			}
		}
		res := admin.Want(t, http.StatusOK, http.MethodPatch, "/branding", with{"name": "Acme", "message": "No heating", "message_until": inSeconds(3600), "logo": []byte(planSVG)}, nil)
		admin.WantProblem(t, http.StatusPreconditionFailed, "version_mismatch", http.MethodPatch, "/branding", with{"name": "X"}, testenv.Header("If-Match", `"7"`))
		anyone.Want(t, http.StatusOK, http.MethodGet, "/branding", nil, &is)
		if is.Name == nil || *is.Name != "Acme" || *is.Message != "No heating" || is.Logo == nil || is.MessageUntil == nil {
			t.Fatalf("set: %+v", is)
		}
		logo := anyone.Want(t, http.StatusOK, http.MethodGet, "/branding/logo?v="+*is.Logo, nil, nil)
		if logo.Header.Get("Content-Type") != "image/svg+xml" || logo.Header.Get("Content-Security-Policy") != "default-src 'none'; sandbox" || strings.Contains(string(logo.Body), "script") {
			t.Errorf("the logo: %v %s", logo.Header, logo.Body)
		}
		// A message that has ended is gone.
		admin.Want(t, http.StatusOK, http.MethodPatch, "/branding", with{"message_until": inSeconds(-60)}, nil, testenv.Header("If-Match", res.Header.Get("ETag")))
		anyone.Want(t, http.StatusOK, http.MethodGet, "/branding", nil, &is)
		if is.Message != nil || is.Logo == nil {
			t.Errorf("after its end: %+v", is)
		}
		admin.Want(t, http.StatusOK, http.MethodPatch, "/branding", with{"logo": nil, "name": nil, "message_until": nil}, &is)
		if is.Logo != nil || is.Name != nil || is.MessageUntil != nil || is.Message == nil || *is.Message != "No heating" {
			t.Errorf("removed: %+v", is)
		}
		anyone.WantProblem(t, http.StatusNotFound, "not_found", http.MethodGet, "/branding/logo", nil)
	})
}
