package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/humatest"
	"github.com/google/go-cmp/cmp"

	"punctual/account"
	"punctual/account/gormstore"
	"punctual/account/httpapi"
	"punctual/app/database"
	"punctual/tests/testenv"
)

const (
	adminEmail = "root@example.org"
	password   = "a good long password"
)

// problem is what these tests make of errors; the program's map is in app.
type problem struct {
	huma.ErrorModel
	Faults []string `json:"faults"` // location and code
}

func TestMain(m *testing.M) {
	huma.NewErrorWithContext = func(_ huma.Context, status int, detail string, errs ...error) huma.StatusError {
		p := &problem{ErrorModel: huma.ErrorModel{Status: status, Detail: detail}}
		for _, err := range errs {
			if e, ok := errors.AsType[*account.InvalidError](err); ok {
				p.Status = http.StatusUnprocessableEntity
				for _, f := range e.Faults {
					p.Faults = append(p.Faults, f.Location+" "+f.Code)
				}
			}
			if e, ok := err.(huma.ErrorDetailer); ok {
				p.Faults = append(p.Faults, e.ErrorDetail().Location)
			}
			if _, ok := errors.AsType[*account.RateLimitError](err); ok {
				p.Status = http.StatusTooManyRequests
			}
			if _, ok := errors.AsType[*account.VersionError](err); ok {
				p.Status = http.StatusPreconditionFailed
			}
			for sentinel, status := range map[error]int{
				account.ErrUnauthorized: http.StatusUnauthorized, account.ErrForbidden: http.StatusForbidden, account.ErrNotFound: http.StatusNotFound,
			} {
				if errors.Is(err, sentinel) {
					p.Status = status
				}
			}
		}
		return p
	}
	os.Exit(m.Run())
}

// server is the API on an empty SQLite database.
type server struct {
	t   *testing.T
	api humatest.TestAPI
	svc *account.Service
}

func newServer(t *testing.T, o httpapi.Options) *server { return newServerOver(t, false, o) }

func newServerOver(t *testing.T, secure bool, o httpapi.Options) *server {
	t.Helper()
	db, err := database.Open(t.Context(), testenv.SQLite(t), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	svc := account.New(gormstore.New(db.Gorm), account.Config{
		Limiter: account.NewMemoryLimiter(account.Rate{Count: 3, Per: time.Hour}), Secure: secure,
	})
	cfg := huma.DefaultConfig("test", "1")
	cfg.CreateHooks = nil
	cfg.Servers = []*huma.Server{{URL: "/api/v1"}}
	_, api := humatest.New(t, cfg)
	api.UseMiddleware(httpapi.Authenticate(api, svc))
	httpapi.Register(api, svc, o)
	httpapi.MustCover(api)
	return &server{t: t, api: api, svc: svc}
}

// newServerWithAdmin also tells the admin's credential.
func newServerWithAdmin(t *testing.T, o httpapi.Options) (s *server, admin string) {
	t.Helper()
	s = newServer(t, o)
	if _, err := s.svc.Bootstrap(t.Context(), adminEmail, password); err != nil {
		t.Fatal(err)
	}
	return s, s.login(adminEmail)
}

type body = map[string]any

// call makes a request with headers such as "Authorization: Bearer x" and wants the status.
func (s *server) call(want int, method, path string, in any, headers ...string) (res *httptest.ResponseRecorder, out body) {
	s.t.Helper()
	var args []any
	for _, h := range headers {
		args = append(args, h)
	}
	if in != nil {
		args = append(args, in)
	}
	res = s.api.Do(method, path, args...)
	if res.Code != want {
		s.t.Fatalf("%s %s: %d, want %d\n%s", method, path, res.Code, want, res.Body)
	}
	if strings.Contains(res.Body.String(), "$argon2id$") || strings.Contains(res.Body.String(), password) {
		s.t.Errorf("%s %s tells a password: %s", method, path, res.Body)
	}
	if res.Body.Len() > 0 {
		if err := json.Unmarshal(res.Body.Bytes(), &out); err != nil {
			s.t.Fatal(err)
		}
	}
	return res, out
}

func (s *server) login(email string) (credential string) {
	s.t.Helper()
	_, out := s.call(http.StatusOK, "POST", "/auth/login", body{"email": email, "password": password})
	return bearer(out["token"])
}

func bearer(token any) string { return fmt.Sprint("Authorization: Bearer ", token) }

func (s *server) newUser(admin, email, role string) (credential string) {
	s.t.Helper()
	s.call(http.StatusCreated, "POST", "/users", body{"email": email, "name": "U", "role": role, "password": password}, admin)
	return s.login(email)
}

func wantFaults(t *testing.T, out body, want ...string) {
	t.Helper()
	var got []string
	faults, _ := out["faults"].([]any)
	for _, f := range faults {
		got = append(got, f.(string))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		s := newServerOver(t, secure, httpapi.Options{})
		if _, err := s.svc.Bootstrap(t.Context(), adminEmail, password); err != nil {
			t.Fatal(err)
		}
		res, out := s.call(http.StatusOK, "POST", "/auth/login", body{"email": adminEmail, "password": password})
		user := out["user"].(body)
		if user["email"] != adminEmail || user["role"] != "admin" || user["disabled"] != false || user["version"] != 1.0 {
			t.Errorf("user %v", user)
		}
		expires, err := time.Parse(time.RFC3339, out["expires_at"].(string))
		if err != nil || time.Until(expires) < 11*time.Hour {
			t.Errorf("expires at %v, %v", out["expires_at"], err)
		}
		cookies := res.Result().Cookies()
		if len(cookies) != 2 {
			t.Fatalf("cookies %v", cookies)
		}
		c, device := cookies[0], cookies[1]
		if c.Name != account.SessionCookie(secure) || c.Value != out["token"] || !c.HttpOnly || c.Secure != secure ||
			c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Expires.Sub(expires).Abs() > time.Second {
			t.Errorf("cookie %+v", c)
		}
		if res.Header().Get("Cache-Control") != "no-store" {
			t.Error("the answer may be cached")
		}
		if device.Name != account.DeviceCookie(secure) || device.Value == "" || !device.HttpOnly || device.Secure != secure ||
			device.SameSite != http.SameSiteLaxMode || device.Path != "/" || time.Until(device.Expires) < 300*24*time.Hour {
			t.Errorf("cookie %+v", device)
		}
		s.call(http.StatusOK, "GET", "/me", nil, "Cookie: other=1; "+c.Name+"="+c.Value)
		if secure { // a sub-domain can set the name without the prefix
			s.call(http.StatusUnauthorized, "GET", "/me", nil, "Cookie: "+account.SessionCookie(false)+"="+c.Value)
		}
	}
}

func TestLogin_refused(t *testing.T) {
	t.Parallel()
	ip := "192.0.2.1"
	s, _ := newServerWithAdmin(t, httpapi.Options{ClientIP: func(huma.Context) string { return ip }})
	stale := "Cookie: " + account.SessionCookie(false) + "=pq_gone"
	s.call(http.StatusUnauthorized, "POST", "/auth/login", body{"email": adminEmail, "password": "wrong"}, stale)
	s.call(http.StatusUnauthorized, "POST", "/auth/login", body{"email": "zoe@example.org", "password": password})
	s.call(http.StatusOK, "POST", "/auth/login", body{"email": adminEmail, "password": password}, stale)
	s.call(http.StatusUnauthorized, "POST", "/auth/login", body{"email": adminEmail, "password": "other"})
	s.call(http.StatusUnauthorized, "POST", "/auth/login", body{"email": adminEmail, "password": "another"})
	s.call(http.StatusTooManyRequests, "POST", "/auth/login", body{"email": adminEmail, "password": password})
	ip = "192.0.2.2"
	s.call(http.StatusOK, "POST", "/auth/login", body{"email": adminEmail, "password": password})

	s.call(http.StatusUnprocessableEntity, "POST", "/auth/login", body{"email": adminEmail})
	s.call(http.StatusUnprocessableEntity, "POST", "/auth/login", body{"email": adminEmail, "password": password, "remember": true})
	s.call(http.StatusUnprocessableEntity, "POST", "/auth/login", body{"email": adminEmail, "password": 12345678})
}

func TestLogout(t *testing.T) {
	t.Parallel()
	s, admin := newServerWithAdmin(t, httpapi.Options{})
	res, _ := s.call(http.StatusNoContent, "POST", "/auth/logout", nil, admin)
	if cs := res.Result().Cookies(); len(cs) != 1 || cs[0].Value != "" || !cs[0].Expires.Before(time.Now()) || cs[0].Expires.IsZero() {
		t.Errorf("the cookie stays: %v", cs)
	}
	s.call(http.StatusUnauthorized, "GET", "/me", nil, admin)
	s.call(http.StatusUnauthorized, "POST", "/auth/logout", nil, admin)
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	s, admin := newServerWithAdmin(t, httpapi.Options{})
	token := strings.TrimPrefix(admin, "Authorization: Bearer ")
	cookie := "Cookie: " + account.SessionCookie(false) + "=" + token
	another := strings.TrimPrefix(s.login(adminEmail), "Authorization: Bearer ")
	for _, tt := range []struct {
		name    string
		headers []string
		want    int
	}{
		{"token", []string{admin}, 200},
		{"scheme in lower case", []string{"Authorization: bearer " + token}, 200},
		{"cookie", []string{cookie}, 200},
		{"a cookie that is no session beside it", []string{"Cookie: " + account.SessionCookie(false) + "=x; " + account.SessionCookie(false) + "=" + token}, 200},
		{"the same cookie twice", []string{cookie + "; " + account.SessionCookie(false) + "=" + token}, 200},
		{"another session in front of it", []string{"Cookie: " + account.SessionCookie(false) + "=" + another + "; " + account.SessionCookie(false) + "=" + token}, 401},
		{"nothing", nil, 401},
		{"unknown token", []string{"Authorization: Bearer pq_" + strings.Repeat("A", 43)}, 401},
		{"no token", []string{"Authorization: Bearer"}, 401},
		{"another scheme", []string{"Authorization: Basic " + token}, 401},
		{"a wrong token counts more than a right cookie", []string{"Authorization: Bearer x", cookie}, 401},
		{"another scheme counts more than a cookie", []string{"Authorization: Basic eDp5", cookie}, 401},
		{"another cookie", []string{"Cookie: session=" + token}, 401},
	} {
		res, _ := s.call(tt.want, "GET", "/me", nil, tt.headers...)
		if got := res.Header().Get("WWW-Authenticate"); (got != "") != (tt.want == 401) {
			t.Errorf("%s: WWW-Authenticate: %q", tt.name, got)
		}
	}
}

// The table itself is tested in package account; here it is asked.
func TestAuthenticate_table(t *testing.T) {
	t.Parallel()
	s, admin := newServerWithAdmin(t, httpapi.Options{})
	member := s.newUser(admin, "m@example.org", "member")
	manager := s.newUser(admin, "n@example.org", "manager")
	_, out := s.call(http.StatusCreated, "POST", "/me/tokens", body{"name": "reader", "scopes": []string{"users:read"}}, admin)
	reader := bearer(out["token"])
	for _, tt := range []struct {
		by           string
		method, path string
		in           any
		want         int
	}{
		{member, "GET", "/users", nil, 403},
		{manager, "GET", "/users", nil, 403},
		{member, "PATCH", "/users/1", body{"role": "admin"}, 403},
		{member, "POST", "/users", body{"nonsense": true}, 403}, // before the body is looked at
		{member, "GET", "/me/tokens", nil, 200},
		{admin, "GET", "/users", nil, 200},
		{reader, "GET", "/users", nil, 200},
		{reader, "GET", "/me", nil, 200},
		{reader, "PATCH", "/users/1", body{}, 403},
		{reader, "POST", "/me/tokens", body{"name": "more"}, 403}, // it would have all rights
		{reader, "PATCH", "/me", body{"name": "X"}, 403},
		{reader, "POST", "/auth/logout", nil, 403},
	} {
		s.call(tt.want, tt.method, tt.path, tt.in, tt.by)
	}
}

func TestMustCover(t *testing.T) {
	t.Parallel()
	_, api := humatest.New(t)
	huma.Post(api, "/rockets", func(context.Context, *struct{}) (*struct{}, error) { return nil, nil })
	defer func() {
		if recover() == nil {
			t.Error("an operation that is not in the table was accepted")
		}
	}()
	httpapi.MustCover(api)
}

func TestUsers(t *testing.T) {
	t.Parallel()
	s, admin := newServerWithAdmin(t, httpapi.Options{})
	res, out := s.call(http.StatusCreated, "POST", "/users", body{
		"email": "Ada@example.org", "name": "Ada", "role": "member", "password": password,
		"phone": "+49 30 123", "locale": "de", "timezone": "Europe/Berlin",
	}, admin)
	for k, want := range (body{
		"id": 2.0, "email": "ada@example.org", "name": "Ada", "role": "member", "phone": "+4930123",
		"locale": "de", "timezone": "Europe/Berlin", "disabled": false, "version": 1.0,
	}) {
		if out[k] != want {
			t.Errorf("%s is %v, want %v", k, out[k], want)
		}
	}
	if res.Header().Get("ETag") != `"1"` || res.Header().Get("Location") != "/api/v1/users/2" {
		t.Errorf("headers %v", res.Header())
	}
	res, got := s.call(http.StatusOK, "GET", "/users/2", nil, admin)
	if diff := cmp.Diff(out, got); diff != "" || res.Header().Get("ETag") != `"1"` {
		t.Errorf("GET (-created +got):\n%s", diff)
	}
	s.call(http.StatusNotFound, "GET", "/users/3", nil, admin)
	s.call(http.StatusUnprocessableEntity, "GET", "/users/ada", nil, admin)

	res, out = s.call(http.StatusOK, "PATCH", "/users/2", body{"role": "manager", "phone": ""}, admin, "If-Match: \"1\"")
	if out["role"] != "manager" || out["phone"] != "" || out["name"] != "Ada" || out["version"] != 2.0 || res.Header().Get("ETag") != `"2"` {
		t.Errorf("changed: %v", out)
	}
	s.call(http.StatusPreconditionFailed, "PATCH", "/users/2", body{"role": "member"}, admin, "If-Match: \"1\"")
	s.call(http.StatusOK, "PATCH", "/users/2", body{"role": "member"}, admin, "If-Match: *")
	s.call(http.StatusOK, "PATCH", "/users/2", body{"role": "member"}, admin, `If-Match: W/"3"`)
	for _, header := range []string{`"x"`, `"3`, `"4", "5"`} {
		s.call(http.StatusPreconditionFailed, "PATCH", "/users/2", body{"role": "manager"}, admin, "If-Match: "+header)
	}
	_, out = s.call(http.StatusUnprocessableEntity, "POST", "/users", body{"email": "ADA@example.org", "name": "", "role": "member", "password": "short"}, admin)
	wantFaults(t, out, "body.email taken", "body.name required", "body.password too_short")
	_, out = s.call(http.StatusUnprocessableEntity, "POST", "/users", body{"email": "x@", "name": "\u200b", "role": "king", "phone": "1"}, admin)
	wantFaults(t, out, "body.email invalid_email", "body.name required", "body.phone invalid_phone", "body.role unknown_value")

	session := s.login("ada@example.org")
	_, out = s.call(http.StatusOK, "PATCH", "/users/2", body{"disabled": true}, admin)
	if out["disabled"] != true {
		t.Errorf("disabled: %v", out)
	}
	s.call(http.StatusUnauthorized, "GET", "/me", nil, session)
	_, out = s.call(http.StatusUnprocessableEntity, "PATCH", "/users/1", body{"disabled": true}, admin)
	wantFaults(t, out, "body.disabled last_admin")

	_, out = s.call(http.StatusOK, "GET", "/users?limit=1", nil, admin)
	if items := out["items"].([]any); len(items) != 1 || items[0].(body)["id"] != 1.0 {
		t.Fatalf("first page: %v", out)
	}
	_, out = s.call(http.StatusOK, "GET", "/users?limit=1&cursor="+out["next_cursor"].(string), nil, admin)
	if items := out["items"].([]any); len(items) != 1 || items[0].(body)["id"] != 2.0 || out["next_cursor"] != nil {
		t.Errorf("second page: %v", out)
	}
	_, out = s.call(http.StatusUnprocessableEntity, "GET", "/users?cursor=x", nil, admin)
	wantFaults(t, out, "query.cursor invalid_cursor")
	for _, limit := range []string{"0", "501", "x"} {
		s.call(http.StatusUnprocessableEntity, "GET", "/users?limit="+limit, nil, admin)
	}
}

func TestMe(t *testing.T) {
	t.Parallel()
	s, admin := newServerWithAdmin(t, httpapi.Options{})
	ada := s.newUser(admin, "ada@example.org", "member")
	res, out := s.call(http.StatusOK, "GET", "/me", nil, ada)
	if out["email"] != "ada@example.org" || res.Header().Get("ETag") != `"1"` {
		t.Errorf("me: %v", out)
	}
	_, out = s.call(http.StatusOK, "PATCH", "/me", body{"name": "Countess", "timezone": "Europe/Berlin"}, ada, "If-Match: \"1\"")
	if out["name"] != "Countess" || out["timezone"] != "Europe/Berlin" || out["version"] != 2.0 {
		t.Errorf("changed: %v", out)
	}
	s.call(http.StatusUnprocessableEntity, "PATCH", "/me", body{"role": "admin"}, ada)
	_, out = s.call(http.StatusUnprocessableEntity, "PATCH", "/me", body{"password": "another long one"}, ada)
	wantFaults(t, out, "body.current_password required")
	_, out = s.call(http.StatusUnprocessableEntity, "PATCH", "/me", body{"password": "another long one", "current_password": "x"}, ada)
	wantFaults(t, out, "body.current_password wrong_password")
	s.call(http.StatusOK, "PATCH", "/me", body{"password": "another long one", "current_password": password}, ada)
	s.call(http.StatusOK, "GET", "/me", nil, ada)
	s.call(http.StatusUnauthorized, "POST", "/auth/login", body{"email": "ada@example.org", "password": password})
}

func TestTokens(t *testing.T) {
	t.Parallel()
	s, admin := newServerWithAdmin(t, httpapi.Options{})
	res, out := s.call(http.StatusCreated, "POST", "/me/tokens", body{"name": "CI"}, admin)
	if len(out) != 2 || res.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("answer %v", out)
	}
	id, full := out["id"], bearer(out["token"])
	s.call(http.StatusOK, "GET", "/users", nil, full)
	_, out = s.call(http.StatusCreated, "POST", "/me/tokens",
		body{"name": "Feed", "scopes": []string{"meetings:read"}, "expires_at": "2127-02-10T17:00:00+08:00"}, full)
	s.call(http.StatusForbidden, "GET", "/users", nil, bearer(out["token"]))

	_, out = s.call(http.StatusOK, "GET", "/me/tokens", nil, admin)
	items := out["items"].([]any)
	if len(items) != 2 {
		t.Fatalf("tokens %v", out)
	}
	for _, item := range items {
		delete(item.(body), "created_at")
		delete(item.(body), "last_used_at")
	}
	want := []any{
		body{"id": id, "name": "CI"},
		body{"id": id.(float64) + 1, "name": "Feed", "scopes": []any{"meetings:read"}, "expires_at": "2127-02-10T09:00:00Z"},
	}
	if diff := cmp.Diff(want, items); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}

	_, out = s.call(http.StatusUnprocessableEntity, "POST", "/me/tokens",
		body{"name": "", "scopes": []string{"everything"}, "expires_at": "2020-01-01T00:00:00Z"}, admin)
	wantFaults(t, out, "body.name required", "body.expires_at in_past", "body.scopes[0] unknown_value")
	_, out = s.call(http.StatusUnprocessableEntity, "POST", "/me/tokens", body{"name": "x", "scopes": []string{}}, admin)
	wantFaults(t, out, "body.scopes too_few")

	member := s.newUser(admin, "m@example.org", "member")
	path := fmt.Sprintf("/me/tokens/%v", id)
	s.call(http.StatusNotFound, "DELETE", path, nil, member)
	s.call(http.StatusNoContent, "DELETE", path, nil, admin)
	s.call(http.StatusUnauthorized, "GET", "/me", nil, full)
	s.call(http.StatusNotFound, "DELETE", path, nil, admin)
}

func TestUserTokens(t *testing.T) {
	t.Parallel()
	s, admin := newServerWithAdmin(t, httpapi.Options{})
	member := s.newUser(admin, "m@example.org", "member")
	_, me := s.call(http.StatusOK, "GET", "/me", nil, member)
	path := fmt.Sprintf("/users/%v/tokens", me["id"])
	in := body{"name": "shop", "scopes": []string{"topics:produce:orders"}}
	s.call(http.StatusForbidden, "POST", path, in, member)
	_, out := s.call(http.StatusUnprocessableEntity, "POST", "/me/tokens", in, member)
	wantFaults(t, out, "body.scopes[0] not_allowed")
	res, out := s.call(http.StatusCreated, "POST", path, in, admin)
	if len(out) != 2 || res.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("answer %v", out)
	}
	id, token := out["id"], bearer(out["token"])
	_, out = s.call(http.StatusOK, "GET", "/me", nil, token)
	if out["id"] != me["id"] {
		t.Errorf("the token is of %v", out)
	}
	s.call(http.StatusForbidden, "GET", "/me/tokens", nil, token)
	_, out = s.call(http.StatusOK, "GET", path, nil, admin)
	if items := out["items"].([]any); len(items) != 1 || items[0].(body)["id"] != id {
		t.Errorf("tokens %v", out)
	}
	s.call(http.StatusNotFound, "GET", "/users/999999/tokens", nil, admin)
	s.call(http.StatusNotFound, "DELETE", fmt.Sprintf("/users/1000000/tokens/%v", id), nil, admin)
	s.call(http.StatusNoContent, "DELETE", fmt.Sprintf("%s/%v", path, id), nil, admin)
	s.call(http.StatusUnauthorized, "GET", "/me", nil, token)
}

// TestUserSessions: an admin sees the sign-ins of a user, and ends one of them.
func TestUserSessions(t *testing.T) {
	t.Parallel()
	s, admin := newServerWithAdmin(t, httpapi.Options{})
	one := s.newUser(admin, "m@example.org", "member")
	other := s.login("m@example.org")
	_, me := s.call(http.StatusOK, "GET", "/me", nil, one)
	path := fmt.Sprintf("/users/%v/sessions", me["id"])
	s.call(http.StatusForbidden, "GET", path, nil, one)
	_, out := s.call(http.StatusOK, "GET", path, nil, admin)
	items := out["items"].([]any)
	if len(items) != 2 || items[0].(body)["current"] != false {
		t.Fatalf("sessions %v", out)
	}
	first := items[0].(body)["id"]
	s.call(http.StatusNotFound, "DELETE", fmt.Sprintf("/users/1000000/sessions/%v", first), nil, admin) // another's
	s.call(http.StatusNoContent, "DELETE", fmt.Sprintf("%s/%v", path, first), nil, admin)
	s.call(http.StatusNotFound, "DELETE", fmt.Sprintf("%s/%v", path, first), nil, admin)
	open := 0
	for _, session := range []string{one, other} {
		if s.api.Do("GET", "/me", session).Code == http.StatusOK {
			open++
		}
	}
	if open != 1 {
		t.Errorf("%d sessions are open, want 1", open)
	}
	s.call(http.StatusNotFound, "GET", "/users/999999/sessions", nil, admin)
	_, me = s.call(http.StatusOK, "GET", "/me", nil, admin)
	_, out = s.call(http.StatusOK, "GET", fmt.Sprintf("/users/%v/sessions", me["id"]), nil, admin)
	if items := out["items"].([]any); len(items) != 1 || items[0].(body)["current"] != true {
		t.Errorf("their own: %v", out)
	}
}

func TestSetup(t *testing.T) {
	t.Parallel()
	s := newServer(t, httpapi.Options{})
	b, err := s.svc.Bootstrap(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	in := body{"token": "pq_wrong", "email": adminEmail, "name": "Root", "password": password}
	s.call(http.StatusUnauthorized, "POST", "/setup", in)
	in["token"] = b.SetupToken
	s.call(http.StatusUnauthorized, "GET", "/me", nil, bearer(b.SetupToken))
	res, out := s.call(http.StatusCreated, "POST", "/setup", in)
	if out["user"].(body)["role"] != "admin" || len(res.Result().Cookies()) != 2 {
		t.Errorf("answer %v", out)
	}
	s.call(http.StatusOK, "GET", "/users", nil, bearer(out["token"]))
	s.call(http.StatusUnauthorized, "POST", "/setup", in)
}
