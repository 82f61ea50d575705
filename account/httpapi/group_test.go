package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"punctual/account/httpapi"
)

func TestGroups(t *testing.T) {
	t.Parallel()
	s, admin := newServerWithAdmin(t, httpapi.Options{})
	member := s.newUser(admin, "bob@example.org", "member")
	_, me := s.call(http.StatusOK, "GET", "/me", nil, member)
	if groups, _ := me["groups"].([]any); groups == nil || len(groups) != 0 {
		t.Errorf("groups of a new user: %v", me["groups"])
	}

	_, out := s.call(http.StatusUnprocessableEntity, "POST", "/groups", body{"name": " ", "source": "oidc:none"}, admin)
	wantFaults(t, out, "body.source unknown_value", "body.name required", "body.external_id required")
	_, out = s.call(http.StatusUnprocessableEntity, "POST", "/groups", body{"name": "x", "external_id": "y"}, admin)
	wantFaults(t, out, "body.external_id contradiction")
	res, g := s.call(http.StatusCreated, "POST", "/groups", body{"name": "Research"}, admin)
	path := fmt.Sprintf("/groups/%v", g["id"])
	if res.Header().Get("Location") != "/api/v1"+path || res.Header().Get("ETag") != `"1"` || g["source"] != nil || g["members"] != 0.0 {
		t.Errorf("%v %v", res.Header(), g)
	}
	_, out = s.call(http.StatusUnprocessableEntity, "POST", "/groups", body{"name": "research"}, admin)
	wantFaults(t, out, "body.name taken")

	who := fmt.Sprintf("%s/members/%v", path, me["id"])
	for range 2 {
		s.call(http.StatusNoContent, "PUT", who, nil, admin)
	}
	s.call(http.StatusNotFound, "PUT", path+"/members/99", nil, admin)
	_, out = s.call(http.StatusOK, "GET", path+"/members?q=BOB", nil, admin)
	if items := out["items"].([]any); len(items) != 1 || items[0].(body)["email"] != "bob@example.org" {
		t.Errorf("members %v", out)
	}
	_, out = s.call(http.StatusOK, "GET", "/users?q=BOB@", nil, admin)
	if items := out["items"].([]any); len(items) != 1 || items[0].(body)["email"] != "bob@example.org" {
		t.Errorf("users by address: %v", out)
	}
	s.call(http.StatusNotFound, "GET", "/groups/99/members", nil, admin)
	_, me = s.call(http.StatusOK, "GET", "/me", nil, member)
	if groups := me["groups"].([]any); len(groups) != 1 || groups[0].(body)["name"] != "Research" {
		t.Errorf("my groups: %v", groups)
	}
	_, out = s.call(http.StatusOK, "GET", fmt.Sprintf("/groups?q=sea&user_id=%v", me["id"]), nil, admin)
	if items := out["items"].([]any); len(items) != 1 || items[0].(body)["members"] != 1.0 {
		t.Errorf("groups %v", out)
	}

	s.call(http.StatusPreconditionFailed, "PATCH", path, body{"name": "R&D"}, admin, `If-Match: "7"`)
	res, g = s.call(http.StatusOK, "PATCH", path, body{"name": "R&D"}, admin, `If-Match: "1"`)
	if res.Header().Get("ETag") != `"2"` || g["name"] != "R&D" || g["members"] != 1.0 {
		t.Errorf("%v %v", res.Header(), g)
	}
	_, out = s.call(http.StatusUnprocessableEntity, "PATCH", path, body{"external_id": "x"}, admin)
	wantFaults(t, out, "body.external_id contradiction")

	for range 2 {
		s.call(http.StatusNoContent, "DELETE", who, nil, admin)
	}
	_, me = s.call(http.StatusOK, "GET", "/me", nil, member)
	if groups := me["groups"].([]any); len(groups) != 0 {
		t.Errorf("my groups: %v", groups)
	}
	s.call(http.StatusNoContent, "DELETE", path, nil, admin)
	s.call(http.StatusNotFound, "GET", path, nil, admin)
	s.call(http.StatusForbidden, "GET", "/groups", nil, member)
}
