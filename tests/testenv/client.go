package testenv

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// plain is shared by all clients; it keeps enough connections for tests that race.
var plain = &http.Client{
	Timeout:       startTimeout,
	Transport:     &http.Transport{MaxIdleConnsPerHost: 200, IdleConnTimeout: time.Minute}, // before the server ends them
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Client calls the REST API as one user, over HTTP only.
type Client struct {
	Base  string // http://127.0.0.1:port
	Token string // empty: nobody
	User  User
}

// User as the API shows it.
type User struct {
	ID       int64  `json:"id"`
	Email    string `json:"email"`
	Name     string `json:"name"`
	Role     string `json:"role"`
	Phone    string `json:"phone"`
	Locale   string `json:"locale"`
	Timezone string `json:"timezone"`
	Version  int64  `json:"version"`
}

// Room as the API shows it, in part.
type Room struct {
	ID      int64  `json:"id"`
	Name    string `json:"name"`
	Version int64  `json:"version"`
}

// Meeting as the API shows it.
type Meeting struct {
	ID          int64     `json:"id"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	Start       time.Time `json:"start"`
	End         time.Time `json:"end"`
	RoomIDs     []int64   `json:"room_ids"`
	Rooms       []Room    `json:"rooms"`
	Status      string    `json:"status"`
	Organizer   User      `json:"organizer"`
	Attendees   []struct {
		Email    string  `json:"email"`
		Name     string  `json:"name"`
		Phone    string  `json:"phone"`
		Response string  `json:"response"`
		Comment  *string `json:"comment"`
	} `json:"attendees"`
	Approval struct {
		Required  bool       `json:"required"`
		Deadline  *time.Time `json:"deadline"`
		DecidedAt *time.Time `json:"decided_at"`
		Comment   string     `json:"comment"`
		Reason    string     `json:"reason"`
	} `json:"approval"`
	StartedAt       *time.Time `json:"started_at"`
	EndedAt         *time.Time `json:"ended_at"`
	ScheduleVersion int64      `json:"schedule_version"`
	Version         int64      `json:"version"`
	UndoUntil       *time.Time `json:"undo_until"`
}

// Entry of a meeting's history.
type Entry struct {
	At     time.Time `json:"at"`
	Action string    `json:"action"`
	Actor  struct {
		Kind string `json:"kind"`
		ID   int64  `json:"id"`
		Name string `json:"name"`
	} `json:"actor"`
	Changes map[string]struct {
		From any `json:"from"`
		To   any `json:"to"`
	} `json:"changes"`
	Reason string `json:"reason"`
}

// Notification of the ledger, in part.
type Notification struct {
	ID        int64  `json:"id"`
	Kind      string `json:"kind"`
	Channel   string `json:"channel"`
	Address   string `json:"address"`
	MeetingID int64  `json:"meeting_id"`
	State     string `json:"state"`
	Attempts  int    `json:"attempts"`
	LastError string `json:"last_error"`
}

// Problem is an answer that is no success.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
	Errors []struct {
		Location string `json:"location"`
		Message  string `json:"message"`
		Code     string `json:"code"`
	} `json:"errors"`
	Conflicts []struct {
		RoomID int64     `json:"room_id"`
		Start  time.Time `json:"start"`
		End    time.Time `json:"end"`
	} `json:"conflicts"`
}

// Page of a list.
type Page[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"next_cursor"`
}

// Response is an answer with its body read.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Option changes a request before it is sent.
type Option func(*http.Request)

// Header sets a request header.
func Header(name, value string) Option {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// Anonymous is a client without a token.
func (s *ServerInstance) Anonymous() *Client { return &Client{Base: s.URL} }

// Admin signs in the first admin.
func (s *ServerInstance) Admin(t testing.TB) *Client {
	t.Helper()
	return s.Login(t, AdminEmail, AdminPassword)
}

// Login signs somebody in.
func (s *ServerInstance) Login(t testing.TB, email, password string) *Client {
	t.Helper()
	var session struct {
		Token string `json:"token"`
		User  User   `json:"user"`
	}
	s.Anonymous().Want(t, http.StatusOK, http.MethodPost, "/auth/login", map[string]any{"email": email, "password": password}, &session)
	if session.Token == "" {
		t.Fatal("login answered no token")
	}
	return &Client{Base: s.URL, Token: session.Token, User: session.User}
}

// At is the same user at another instance.
func (c *Client) At(s *ServerInstance) *Client {
	return &Client{Base: s.URL, Token: c.Token, User: c.User}
}

// NewUser makes a user and signs in. Fields override the defaults.
func (c *Client) NewUser(t testing.TB, name, role string, fields ...map[string]any) *Client {
	t.Helper()
	body := map[string]any{"email": strings.ToLower(name) + "@example.org", "name": name, "role": role, "password": "a good long password"}
	for _, f := range fields {
		for k, v := range f {
			body[k] = v
		}
	}
	c.Want(t, http.StatusCreated, http.MethodPost, "/users", body, nil)
	s := &ServerInstance{URL: c.Base}
	return s.Login(t, body["email"].(string), body["password"].(string))
}

// NewRoom makes a room. Fields add to its name.
func (c *Client) NewRoom(t testing.TB, name string, fields ...map[string]any) Room {
	t.Helper()
	body := map[string]any{"name": name}
	for _, f := range fields {
		for k, v := range f {
			body[k] = v
		}
	}
	var room Room
	c.Want(t, http.StatusCreated, http.MethodPost, "/rooms", body, &room)
	return room
}

// Booking is the body of a POST /meetings; fields override the defaults, among them no
// reminders.
func Booking(start, end time.Time, rooms []int64, fields ...map[string]any) map[string]any {
	body := map[string]any{"title": "Design review", "room_ids": rooms, "start": start.Format(time.RFC3339Nano),
		"end": end.Format(time.RFC3339Nano), "reminders": []any{}}
	for _, f := range fields {
		for k, v := range f {
			body[k] = v
		}
	}
	return body
}

// Book makes a meeting.
func (c *Client) Book(t testing.TB, booking map[string]any) Meeting {
	t.Helper()
	var m Meeting
	c.Want(t, http.StatusCreated, http.MethodPost, "/meetings", booking, &m)
	return m
}

// Meeting reads a meeting.
func (c *Client) Meeting(t testing.TB, id int64) Meeting {
	t.Helper()
	var m Meeting
	c.Want(t, http.StatusOK, http.MethodGet, fmt.Sprintf("/meetings/%d", id), nil, &m)
	return m
}

// History reads what happened to a meeting, oldest first.
func (c *Client) History(t testing.TB, id int64) []Entry {
	t.Helper()
	return All[Entry](t, c, fmt.Sprintf("/meetings/%d/history", id))
}

// Notifications reads the ledger of a meeting.
func (c *Client) Notifications(t testing.TB, id int64) []Notification {
	t.Helper()
	return All[Notification](t, c, "/notifications?meeting_id="+strconv.FormatInt(id, 10))
}

// All reads a list to its end.
func All[T any](t testing.TB, c *Client, path string) []T {
	t.Helper()
	var all []T
	for cursor := ""; ; {
		page := ReadPage[T](t, c, path, cursor)
		all = append(all, page.Items...)
		if page.NextCursor == "" {
			return all
		}
		cursor = page.NextCursor
	}
}

// ReadPage reads the page of a list that a cursor leads to.
func ReadPage[T any](t testing.TB, c *Client, path, cursor string) Page[T] {
	t.Helper()
	u, err := url.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	if cursor != "" {
		q := u.Query()
		q.Set("cursor", cursor)
		u.RawQuery = q.Encode()
	}
	var page Page[T]
	c.Want(t, http.StatusOK, http.MethodGet, u.String(), nil, &page)
	return page
}

// Want calls and fails the test unless the answer has the status; it decodes the body into
// out, which may be nil.
func (c *Client) Want(t testing.TB, status int, method, path string, body, out any, opts ...Option) *Response {
	t.Helper()
	res := c.Do(t, method, path, body, opts...)
	if res.Status != status {
		t.Fatalf("%s %s: %d, want %d\n%s", method, path, res.Status, status, res.Body)
	}
	if out != nil {
		if err := json.Unmarshal(res.Body, out); err != nil {
			t.Fatalf("%s %s: %v\n%s", method, path, err, res.Body)
		}
	}
	return res
}

// WantProblem calls and fails the test unless the answer is problem+json of this status and code.
func (c *Client) WantProblem(t testing.TB, status int, code, method, path string, body any, opts ...Option) Problem {
	t.Helper()
	res := c.Do(t, method, path, body, opts...)
	p, err := res.Problem()
	if err != nil || res.Status != status || p.Code != code || p.Status != status {
		t.Errorf("%s %s: %d %v, want %d %s (%v)\n%s", method, path, res.Status, p.Code, status, code, err, res.Body)
	}
	return p
}

// Decode reads a JSON body.
func (r *Response) Decode(out any) error { return json.Unmarshal(r.Body, out) }

// Problem decodes a problem+json body.
func (r *Response) Problem() (Problem, error) {
	var p Problem
	if ct := r.Header.Get("Content-Type"); !strings.HasPrefix(ct, "application/problem+json") {
		return p, fmt.Errorf("content type %q", ct)
	}
	return p, json.Unmarshal(r.Body, &p)
}

// Do calls a path below /api/v1. A body that is a string or []byte is sent as it is, others
// as JSON. It fails the test if there is no answer.
func (c *Client) Do(t testing.TB, method, path string, body any, opts ...Option) *Response {
	t.Helper()
	res, err := c.Try(method, path, body, opts...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return res
}

// Try is Do for callers in goroutines, and for servers that may be down.
func (c *Client) Try(method, path string, body any, opts ...Option) (*Response, error) {
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		content = strings.NewReader(b)
	case []byte:
		content = bytes.NewReader(b)
	default:
		j, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(j)
	}
	if strings.HasPrefix(path, "/") {
		path = c.Base + "/api/v1" + path
	}
	req, err := http.NewRequest(method, path, content)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	for _, o := range opts {
		o(req)
	}
	res, err := plain.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	answer := &Response{Status: res.StatusCode, Header: res.Header, Body: b}
	c.checked(method, path, answer)
	return answer, nil
}
