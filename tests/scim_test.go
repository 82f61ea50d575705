package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"punctual/tests/testenv"
)

// scimClient is a company's directory, which writes users and groups by SCIM.
type scimClient struct {
	*testing.T
	base, token string
}

// directoryOf returns one with a token of an administrator.
func directoryOf(t *testing.T, server *testenv.ServerInstance, admin *testenv.Client) *scimClient {
	t.Helper()
	var made struct{ Token string }
	admin.Want(t, http.StatusCreated, http.MethodPost, "/me/tokens", map[string]any{"name": "directory", "scopes": []string{"scim"}}, &made)
	return &scimClient{t, server.URL + "/scim/v2", made.Token}
}

type resource = map[string]any

// sends sends a request as it stands, and returns the answer, which must have the status.
func (p *scimClient) sends(status int, method, path, body string) resource {
	p.Helper()
	req, err := http.NewRequestWithContext(p.Context(), method, p.base+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/scim+json; charset=utf-8")
	}
	res, err := (&http.Client{Timeout: patience}).Do(req)
	if err != nil {
		p.Fatal(err)
	}
	defer res.Body.Close()
	content, err := io.ReadAll(res.Body)
	if err != nil {
		p.Fatal(err)
	}
	if res.StatusCode != status {
		p.Fatalf("%s %s %s: %d, want %d\n%s", method, path, body, res.StatusCode, status, content)
	}
	if len(content) == 0 {
		return nil
	}
	if kind := res.Header.Get("Content-Type"); kind != "application/scim+json" {
		p.Errorf("%s %s: content type %q", method, path, kind)
	}
	var r resource
	if err := json.NewDecoder(bytes.NewReader(content)).Decode(&r); err != nil {
		p.Fatalf("%s %s: %v\n%s", method, path, err, content)
	}
	return r
}

// refused wants an error in the form of SCIM.
func (p *scimClient) refused(status int, scimType, method, path, body string) {
	p.Helper()
	r := p.sends(status, method, path, body)
	if kind, _ := r["scimType"].(string); kind != scimType || r["status"] != fmt.Sprint(status) || r["detail"] == "" || fmt.Sprint(r["schemas"]) != "[urn:ietf:params:scim:api:messages:2.0:Error]" {
		p.Errorf("%s %s %s: %v, want %q", method, path, body, r, scimType)
	}
}

// finds returns the resources that a filter finds.
func (p *scimClient) finds(kind, filter string) []any {
	p.Helper()
	r := p.sends(http.StatusOK, http.MethodGet, "/"+kind+"?filter="+url.QueryEscape(filter), "")
	list, ok := r["Resources"].([]any)
	if !ok || int(r["totalResults"].(float64)) != len(list) {
		p.Errorf("%s: %v", filter, r)
	}
	return list
}

func (p *scimClient) is(r resource, want map[string]any) {
	p.Helper()
	for path, v := range want {
		var have any = r
		for name := range strings.SplitSeq(path, ".") {
			switch at := have.(type) {
			case map[string]any:
				have = at[name]
			case []any:
				have = nil
				if len(at) > 0 {
					have = at[0].(map[string]any)[name]
				}
			}
		}
		if fmt.Sprint(have) != fmt.Sprint(v) {
			p.Errorf("%s is %v, want %v", path, have, v)
		}
	}
}

// TestSCIM_okta: the requests of Okta's application "SCIM 2.0": a user is looked for, created, changed by
// PUT, deactivated and activated by PATCH; a group is pushed, filled and emptied.
func TestSCIM_okta(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		okta := directoryOf(t, server, admin)

		okta.is(okta.sends(http.StatusOK, http.MethodGet, "/ServiceProviderConfig", ""), map[string]any{"patch.supported": true, "filter.supported": true, "bulk.supported": false})
		if found := okta.finds("Users", `userName eq "ada@example.org"`); len(found) != 0 {
			t.Errorf("found %v", found)
		}
		user := `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"ada@example.org","name":{"givenName":"Ada","familyName":"Lovelace"},
			"emails":[{"primary":true,"value":"ada@example.org","type":"work"}],"displayName":"Ada Lovelace","locale":"en-US","externalId":"00ujl29u0le5T6Aj10h7","groups":[],"password":"1mz050nq","active":true}`
		made := okta.sends(http.StatusCreated, http.MethodPost, "/Users", user)
		id := made["id"].(string)
		okta.is(made, map[string]any{"userName": "ada@example.org", "active": true, "name.givenName": "Ada", "emails.value": "ada@example.org", "externalId": "00ujl29u0le5T6Aj10h7",
			"meta.resourceType": "User", "meta.location": okta.base + "/Users/" + id})
		okta.refused(http.StatusConflict, "uniqueness", http.MethodPost, "/Users", user)
		if found := okta.finds("Users", `userName eq "ADA@example.org"`); len(found) != 1 {
			t.Errorf("found %v", found)
		}
		var listed testenv.User
		admin.Want(t, http.StatusOK, http.MethodGet, "/users/"+id, nil, &listed)
		if listed.Email != "ada@example.org" || listed.Name != "Ada Lovelace" || listed.Role != "member" {
			t.Errorf("%+v", listed)
		}

		put := strings.Replace(user, "Lovelace\"},", "King\"},", 1)
		okta.is(okta.sends(http.StatusOK, http.MethodPut, "/Users/"+id, strings.Replace(put, "Ada Lovelace", "Ada King", 1)),
			map[string]any{"displayName": "Ada King", "name.familyName": "King", "id": id})
		patch := func(active bool) string {
			return fmt.Sprintf(`{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{"op":"replace","value":{"active":%v}}]}`, active)
		}
		okta.is(okta.sends(http.StatusOK, http.MethodPatch, "/Users/"+id, patch(false)), map[string]any{"active": false})
		if found := okta.finds("Users", `userName eq "ada@example.org" and active eq true`); len(found) != 0 {
			t.Errorf("found %v", found)
		}
		okta.is(okta.sends(http.StatusOK, http.MethodPatch, "/Users/"+id, patch(true)), map[string]any{"active": true})

		// Group push.
		group := okta.sends(http.StatusCreated, http.MethodPost, "/Groups", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:Group"],"displayName":"Facility","members":[]}`)
		gid := group["id"].(string)
		if _, given := group["externalId"]; given {
			t.Errorf("an external ID that nobody gave: %v", group)
		}
		okta.refused(http.StatusConflict, "uniqueness", http.MethodPost, "/Groups", `{"displayName":"facility"}`)
		okta.sends(http.StatusNoContent, http.MethodPatch, "/Groups/"+gid, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[
			{"op":"replace","value":{"id":"`+gid+`","displayName":"Facilities"}},{"op":"add","path":"members","value":[{"value":"`+id+`","display":"ada@example.org"}]}]}`)
		okta.is(okta.sends(http.StatusOK, http.MethodGet, "/Groups/"+gid, ""), map[string]any{"displayName": "Facilities", "members.value": id})
		okta.is(okta.sends(http.StatusOK, http.MethodGet, "/Users/"+id, ""), map[string]any{"groups.value": gid, "groups.display": "Facilities"})
		okta.sends(http.StatusNoContent, http.MethodPatch, "/Groups/"+gid, `{"Operations":[{"op":"remove","path":"members[value eq \"`+id+`\"]"}]}`)
		if members := okta.sends(http.StatusOK, http.MethodGet, "/Groups/"+gid, "")["members"].([]any); len(members) != 0 {
			t.Errorf("members %v", members)
		}
		okta.is(okta.sends(http.StatusOK, http.MethodPut, "/Groups/"+gid, `{"displayName":"Facilities","members":[{"value":"`+id+`"}]}`), map[string]any{"members.value": id})
		okta.refused(http.StatusBadRequest, "invalidValue", http.MethodPatch, "/Groups/"+gid, `{"Operations":[{"op":"add","path":"members","value":[{"value":"999999"}]}]}`)
		okta.sends(http.StatusNoContent, http.MethodDelete, "/Groups/"+gid, "")
		okta.refused(http.StatusNotFound, "", http.MethodGet, "/Groups/"+gid, "")

		// Whoever is deleted leaves, is not seen, and comes back under the same ID.
		okta.sends(http.StatusNoContent, http.MethodDelete, "/Users/"+id, "")
		okta.refused(http.StatusNotFound, "", http.MethodGet, "/Users/"+id, "")
		var departure struct{ State, Meetings string }
		admin.Want(t, http.StatusOK, http.MethodGet, "/users/"+id+"/leave", nil, &departure)
		if departure.Meetings != "keep" {
			t.Errorf("%+v", departure)
		}
		if found := okta.finds("Users", `userName eq "ada@example.org"`); len(found) != 0 {
			t.Errorf("found %v", found)
		}
		okta.is(okta.sends(http.StatusCreated, http.MethodPost, "/Users", user), map[string]any{"id": id, "active": true})
	})
}

// TestSCIM_entra: the requests of Entra ID: users are found by externalId, changed by "Add" and "Replace"
// with value paths and booleans as texts, and members are removed by a filter or by value.
func TestSCIM_entra(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		entra := directoryOf(t, server, admin)

		if found := entra.finds("Users", `externalId eq "58342554-38d6-4ec8-948c-50044d0a33fd"`); len(found) != 0 {
			t.Errorf("found %v", found)
		}
		made := entra.sends(http.StatusCreated, http.MethodPost, "/Users", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User","urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"],
			"externalId":"58342554-38d6-4ec8-948c-50044d0a33fd","userName":"Test_User_feed3ace","active":true,"addresses":null,"displayName":"lennay",
			"emails":[{"type":"work","value":"work@example.org","primary":true}],"meta":{"resourceType":"User"},"name":{"formatted":"givenName familyName","familyName":"familyName","givenName":"givenName"},
			"phoneNumbers":null,"roles":[],"title":null,"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User":{"department":"bob"}}`)
		id := made["id"].(string)
		entra.is(made, map[string]any{"userName": "Test_User_feed3ace", "displayName": "lennay", "emails.value": "work@example.org"})
		for _, filter := range []string{
			`externalId eq "58342554-38d6-4ec8-948c-50044d0a33fd"`, `userName eq "test_user_feed3ace"`, `emails[type eq "work"].value eq "work@example.org"`,
			`emails[type eq "work" and value eq "work@example.org"]`, `emails.value eq "WORK@example.org"`, `displayName eq "Lennay" and active eq "True"`, `id eq "` + id + `"`,
			`urn:ietf:params:scim:schemas:core:2.0:User:userName eq "test_user_feed3ace"`,
		} {
			if strings.HasPrefix(filter, "emails[type eq \"work\"].value") {
				entra.refused(http.StatusBadRequest, "invalidFilter", http.MethodGet, "/Users?filter="+url.QueryEscape(filter), "") // no filter of RFC 7644
				continue
			}
			if found := entra.finds("Users", filter); len(found) != 1 || found[0].(resource)["id"] != id {
				t.Errorf("%s: %v", filter, found)
			}
		}

		entra.is(entra.sends(http.StatusOK, http.MethodPatch, "/Users/"+id, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[
			{"op":"Replace","path":"emails[type eq \"work\"].value","value":"updated@example.org"},{"op":"Replace","path":"name.familyName","value":"updatedFamilyName"},
			{"op":"Add","path":"phoneNumbers[type eq \"mobile\"].value","value":"+4930123"},{"op":"Add","path":"title","value":"Engineer"},
			{"op":"Add","path":"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department","value":"alice"}]}`),
			map[string]any{"emails.value": "updated@example.org", "name.familyName": "updatedFamilyName", "phoneNumbers.value": "+4930123", "userName": "Test_User_feed3ace", "displayName": "lennay"})
		entra.is(entra.sends(http.StatusOK, http.MethodPatch, "/Users/"+id, `{"Operations":[{"op":"Replace","value":{"displayName":"Bobby","name.givenName":"Bob"}}]}`),
			map[string]any{"displayName": "Bobby", "name.givenName": "Bob", "name.familyName": "updatedFamilyName"})
		entra.is(entra.sends(http.StatusOK, http.MethodPatch, "/Users/"+id, `{"Operations":[{"op":"Replace","path":"active","value":"False"}]}`), map[string]any{"active": false})
		entra.is(entra.sends(http.StatusOK, http.MethodPatch, "/Users/"+id, `{"Operations":[{"op":"Add","path":"active","value":"True"}]}`), map[string]any{"active": true})

		group := entra.sends(http.StatusCreated, http.MethodPost, "/Groups", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:Group"],"externalId":"8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159","displayName":"displayName","meta":{"resourceType":"Group"}}`)
		gid := group["id"].(string)
		if found := entra.finds("Groups", `externalId eq "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159"`); len(found) != 1 {
			t.Errorf("found %v", found)
		}
		found := entra.sends(http.StatusOK, http.MethodGet, "/Groups?excludedAttributes=members&filter="+url.QueryEscape(`displayName eq "DisplayName"`), "")
		if list := found["Resources"].([]any); len(list) != 1 || list[0].(resource)["members"] != nil {
			t.Errorf("%v", found)
		}
		change := func(op string) {
			t.Helper()
			entra.sends(http.StatusNoContent, http.MethodPatch, "/Groups/"+gid, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[`+op+`]}`)
		}
		members := func() int {
			return len(entra.sends(http.StatusOK, http.MethodGet, "/Groups/"+gid, "")["members"].([]any))
		}
		change(`{"op":"Add","path":"members","value":[{"$ref":null,"value":"` + id + `"}]}`)
		if members() != 1 {
			t.Error("not added")
		}
		change(`{"op":"Remove","path":"members","value":[{"$ref":null,"value":"` + id + `"}]}`)
		if members() != 0 {
			t.Error("not removed by value")
		}
		change(`{"op":"Add","path":"members","value":[{"value":"` + id + `"}]}`)
		change(`{"op":"Remove","path":"members[value eq \"` + id + `\"]"}`)
		if members() != 0 {
			t.Error("not removed by a filter")
		}
		change(`{"op":"Replace","path":"displayName","value":"Renamed"}`)
		entra.is(entra.sends(http.StatusOK, http.MethodGet, "/Groups/"+gid+"?excludedAttributes=members", ""), map[string]any{"displayName": "Renamed", "members": nil})
	})
}

// TestSCIM_limits: a directory can do what its token is for, and no more than the rules allow.
func TestSCIM_limits(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		kim := admin.NewUser(t, "Kim", "member", with{"email": "kim@example.org", "password": "the password of Kim"})
		directory := directoryOf(t, server, admin)
		me := admin.User

		// Rights.
		kim.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/me/tokens", map[string]any{"name": "x", "scopes": []string{"scim"}})
		nobody := &scimClient{t, directory.base, "pq_" + strings.Repeat("A", 43)}
		nobody.refused(http.StatusUnauthorized, "", http.MethodGet, "/Users", "")
		member := &scimClient{t, directory.base, kim.Token}
		member.refused(http.StatusForbidden, "", http.MethodGet, "/Users", "")
		narrow := server.Anonymous()
		narrow.Token = directory.token
		narrow.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodGet, "/users", nil)

		// The last admin stays, and the address of a user with a password.
		self := fmt.Sprintf("/Users/%d", me.ID)
		directory.refused(http.StatusBadRequest, "mutability", http.MethodPatch, self, `{"Operations":[{"op":"replace","path":"active","value":false}]}`)
		directory.refused(http.StatusBadRequest, "mutability", http.MethodDelete, self, "")
		directory.refused(http.StatusBadRequest, "invalidValue", http.MethodPatch, fmt.Sprintf("/Users/%d", kim.User.ID), `{"Operations":[{"op":"replace","path":"emails","value":[{"value":"eve@example.org"}]}]}`)
		directory.is(directory.sends(http.StatusOK, http.MethodPatch, fmt.Sprintf("/Users/%d", kim.User.ID), `{"Operations":[{"op":"add","path":"externalId","value":"7"}]}`),
			map[string]any{"externalId": "7", "userName": "kim@example.org"})

		// Groups of admins are none of the directory's business.
		var own struct{ ID int64 }
		admin.Want(t, http.StatusCreated, http.MethodPost, "/groups", map[string]any{"name": "Own"}, &own)
		directory.refused(http.StatusNotFound, "", http.MethodDelete, fmt.Sprintf("/Groups/%d", own.ID), "")

		for _, c := range []struct{ status, kind, method, path, body string }{
			{"400", "invalidSyntax", "POST", "/Users", `{`},
			{"400", "invalidValue", "POST", "/Users", `{"userName":"ada"}`},
			{"400", "invalidValue", "POST", "/Users", `{"userName":"ada","emails":[{"value":"no address"}]}`},
			{"400", "invalidValue", "POST", "/Users", `{"userName":"ada@example.org","active":"perhaps"}`},
			{"400", "invalidSyntax", "PATCH", self, `{"Operations":[]}`},
			{"400", "invalidSyntax", "PATCH", self, `{"Operations":[{"op":"move","path":"active"}]}`},
			{"400", "invalidPath", "PATCH", self, `{"Operations":[{"op":"replace","path":"emails[","value":1}]}`},
			{"400", "noTarget", "PATCH", self, `{"Operations":[{"op":"remove"}]}`},
			{"400", "invalidFilter", "GET", "/Users?filter=" + url.QueryEscape(`userName co "a"`), ""},
			{"400", "invalidFilter", "GET", "/Users?filter=" + url.QueryEscape(strings.Repeat("(", 1001)), ""},
			{"400", "invalidFilter", "GET", "/Users?filter=" + url.QueryEscape(`password eq "x"`), ""},
			{"400", "invalidValue", "GET", "/Users?count=many", ""},
			{"404", "", "GET", "/Users/0", ""},
			{"404", "", "GET", "/Bulk", ""},
			{"405", "", "DELETE", "/Users", ""},
		} {
			var status int
			_, _ = fmt.Sscan(c.status, &status)
			directory.refused(status, c.kind, c.method, c.path, c.body)
		}

		// Pages.
		for i := range 5 {
			directory.sends(http.StatusCreated, http.MethodPost, "/Users", fmt.Sprintf(`{"userName":"p%d@example.org"}`, i))
		}
		first := directory.sends(http.StatusOK, http.MethodGet, "/Users?startIndex=1&count=3", "")
		rest := directory.sends(http.StatusOK, http.MethodGet, "/Users?startIndex=4&count=100&attributes=userName", "")
		if first["totalResults"] != float64(7) || len(first["Resources"].([]any)) != 3 || len(rest["Resources"].([]any)) != 4 || rest["itemsPerPage"] != float64(4) {
			t.Errorf("pages: %v %v", first, rest)
		}
		if one := rest["Resources"].([]any)[0].(resource); one["userName"] == nil || one["displayName"] != nil {
			t.Errorf("attributes: %v", one)
		}
		if none := directory.sends(http.StatusOK, http.MethodGet, "/Users?count=0", ""); none["totalResults"] != float64(7) || len(none["Resources"].([]any)) != 0 {
			t.Errorf("count=0: %v", none)
		}

		// What the directory did is recorded, and its token ends with the right of its admin.
		var audit struct{ Items []struct{ Action string } }
		admin.Want(t, http.StatusOK, http.MethodGet, "/audit?limit=50", nil, &audit)
		if text := fmt.Sprint(audit.Items); !strings.Contains(text, "user.provisioned") || !strings.Contains(text, "user.created") {
			t.Errorf("audit: %s", text)
		}
	})
}
