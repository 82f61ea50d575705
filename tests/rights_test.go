package tests

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// A heldBack request was let in by the server, which waits for its body.
type heldBack struct {
	conn net.Conn
	r    *bufio.Reader
	body []byte
}

// holdBack sends all of a request but its body, and returns once the server asks for that: by
// then it has authenticated the caller.
func holdBack(t *testing.T, c *testenv.Client, method, path string, body any) *heldBack {
	t.Helper()
	u, err := url.Parse(c.Base)
	if err != nil {
		t.Fatal(err)
	}
	h := &heldBack{}
	if h.body, err = json.Marshal(body); err != nil {
		t.Fatal(err)
	}
	if h.conn, err = net.Dial("tcp", u.Host); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.conn.Close() })
	_, err = fmt.Fprintf(h.conn, "%s /api/v1%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n",
		method, path, u.Host, c.Token, len(h.body))
	if err != nil {
		t.Fatal(err)
	}
	h.r = bufio.NewReader(h.conn)
	line, err := h.r.ReadString('\n')
	if err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := h.r.ReadString('\n'); err != nil { // the empty line
		t.Fatal(err)
	}
	return h
}

// send the body, and return the status of the answer.
func (h *heldBack) send(t *testing.T) int {
	t.Helper()
	res, err := h.answer()
	if err != nil {
		t.Fatal(err)
	}
	return res.Status
}

// answer is send for goroutines.
func (h *heldBack) answer() (*testenv.Response, error) {
	if _, err := h.conn.Write(h.body); err != nil {
		return nil, err
	}
	res, err := http.ReadResponse(h.r, nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return &testenv.Response{Status: res.StatusCode, Header: res.Header, Body: body}, err
}

// TestRights_heldBackBodies: a request whose caller loses rights while it sends the body changes
// nothing.
func TestRights_heldBackBodies(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		on.YAML += "auth: { login_rate: 1000/m }\n"
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		room := admin.NewRoom(t, "Turing")
		start := inSeconds(3600)
		demote := func(c *testenv.Client, role string) {
			admin.Want(t, http.StatusOK, http.MethodPatch, at("/users/%d", c.User.ID), with{"role": role}, nil)
		}
		disable := func(c *testenv.Client, _ string) {
			admin.Want(t, http.StatusOK, http.MethodPatch, at("/users/%d", c.User.ID), with{"disabled": true}, nil)
		}
		n := 0
		someone := func(role string) *testenv.Client { n++; return admin.NewUser(t, fmt.Sprintf("Someone%d", n), role) }
		newUser := with{"email": "backdoor@example.org", "name": "B", "role": "admin", "password": "a good long password"}

		boss := someone("manager")
		guarded := admin.NewRoom(t, "Guarded", with{"approval": with{"required": true, "approver_ids": []int64{boss.User.ID}}})
		asked := someone("member").Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{guarded.ID}))

		for _, tt := range []struct {
			name, path string
			by         *testenv.Client
			body       with
			change     func(*testenv.Client, string)
			role       string
			want       int
		}{
			{"user by a demoted admin", "/users", someone("admin"), newUser, demote, "member", http.StatusForbidden},
			{"user by a disabled admin", "/users", someone("admin"), newUser, disable, "", http.StatusUnauthorized},
			{"room by a demoted admin", "/rooms", someone("admin"), with{"name": "Backdoor"}, demote, "manager", http.StatusForbidden},
			{"meeting of a disabled user", "/meetings", someone("member"), testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}), disable, "", http.StatusUnauthorized},
			{"token of a disabled user", "/me/tokens", someone("member"), with{"name": "backdoor"}, disable, "", http.StatusUnauthorized},
			{"feed of a disabled user", "/me/feeds", someone("member"), with{"name": "backdoor"}, disable, "", http.StatusUnauthorized},
			{"decision of a demoted approver", at("/meetings/%d/approve", asked.ID), boss, with{"comment": "yes"}, demote, "member", http.StatusForbidden},
		} {
			h := holdBack(t, tt.by, http.MethodPost, tt.path, tt.body)
			tt.change(tt.by, tt.role)
			if got := h.send(t); got != tt.want {
				t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
			}
		}
		for _, u := range testenv.All[struct{ Email string }](t, admin, "/users") {
			if u.Email == "backdoor@example.org" {
				t.Error("there is a back door")
			}
		}
		if m := admin.Meeting(t, asked.ID); m.Status != "pending" {
			t.Errorf("the request is %s", m.Status)
		}
		if all := testenv.All[testenv.Meeting](t, admin, at("/meetings?room_id=%d", room.ID)); len(all) != 0 {
			t.Errorf("booked: %+v", all)
		}
	})
}

// TestRights_race: once the answer is there that somebody was disabled or demoted, nothing of
// theirs is committed, whatever they had sent before.
func TestRights_race(t *testing.T) {
	const rounds, senders = 6, 6
	onBoth(t, func(t *testing.T, on setup) {
		on.YAML += "auth: { login_rate: 1000/m }\n"
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		rooms := make([]testenv.Room, senders)
		for i := range rooms {
			rooms[i] = admin.NewRoom(t, fmt.Sprintf("Room %d", i))
		}
		start := inSeconds(3600)
		early, refused := 0, 0
		for round := range rounds {
			role, change := "member", with{"disabled": true}
			if round%2 == 0 {
				role, change = "admin", with{"role": "member"}
			}
			mallory := admin.NewUser(t, fmt.Sprintf("Mallory%d", round), role)
			count := func() (n int) {
				n = len(testenv.All[testenv.Meeting](t, admin, at("/meetings?limit=500&organizer=%d", mallory.User.ID)))
				if role == "admin" {
					return len(testenv.All[struct{}](t, admin, "/users?limit=500"))
				}
				return n + len(testenv.All[struct{}](t, admin, at("/users/%d/tokens?limit=500", mallory.User.ID)))
			}
			var wg sync.WaitGroup
			var mu sync.Mutex
			started := make(chan struct{}, 1000)
			for i := range senders {
				wg.Go(func() {
					for k := 0; ; k++ {
						path, body := "/me/tokens", with{"name": "x"}
						switch from := start.Add(time.Duration(round*50+k) * time.Hour); {
						case role == "admin":
							path, body = "/users", with{"email": fmt.Sprintf("u%d-%d-%d@example.org", round, i, k), "name": "U", "role": "member"}
						case i%2 == 0:
							path, body = "/meetings", testenv.Booking(from, from.Add(time.Hour), []int64{rooms[i].ID})
						}
						res, err := mallory.Try(http.MethodPost, path, body)
						mu.Lock()
						switch {
						case err != nil:
							t.Error(err)
						case res.Status == http.StatusCreated:
							early++
						case res.Status == http.StatusUnauthorized || res.Status == http.StatusForbidden:
							refused++
						default:
							t.Errorf("%s: %d %s", path, res.Status, res.Body)
						}
						mu.Unlock()
						if err != nil || res.Status != http.StatusCreated {
							return
						}
						started <- struct{}{}
						if k == 45 {
							return
						}
					}
				})
			}
			for range senders {
				<-started
			}
			admin.Want(t, http.StatusOK, http.MethodPatch, at("/users/%d", mallory.User.ID), change, nil)
			then := count()
			wg.Wait()
			if now := count(); now != then {
				t.Errorf("round %d (%s): %d when it was answered, %d later", round, role, then, now)
			}
		}
		if early == 0 || refused == 0 {
			t.Errorf("%d succeeded before, %d were refused: no race", early, refused)
		}
	})
}
