package idempotency

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
	"gorm.io/gorm"

	"punctual/account"
	"punctual/app/database"
	"punctual/app/database/receipt"
	"punctual/app/problem"
	"punctual/migrations"
	"punctual/tests/testenv/testdb"
)

// counter is an operation that counts how often it ran, as user X-User.
type counter struct {
	*Middleware
	runs   atomic.Int64
	fail   atomic.Pointer[problem.Problem]
	took   time.Duration
	hold   chan struct{} // nil: none; a run ends when it is closed
	offset atomic.Int64  // of the clock
}

type counted struct {
	ETag string `header:"ETag"`
	Body struct {
		Run int64 `json:"run"`
	}
}

func newCounter(t *testing.T, db *database.DB) *counter {
	t.Helper()
	insertUsers(t, db)
	c := &counter{}
	c.Middleware = New(db.Gorm, 30*time.Second, func(ctx huma.Context) string { return ctx.Header("Authorization") }, slog.New(slog.DiscardHandler))
	c.now = func() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }
	return c
}

func insertUsers(t *testing.T, db *database.DB) {
	t.Helper()
	for _, id := range []int{1, 2} {
		err := db.Gorm.Exec("INSERT INTO users (id, email, name, role, created_at, updated_at) VALUES (?, ?, 'N', 'member', ?, ?)",
			id, strconv.Itoa(id)+"@example.org", micro(time.Now()), micro(time.Now())).Error
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (c *counter) register(api huma.API, _ *gin.Engine) {
	api.UseMiddleware(func(ctx huma.Context, next func(huma.Context)) {
		id, _ := strconv.ParseInt(ctx.Header("X-User"), 10, 64)
		if id == 0 {
			next(ctx)
			return
		}
		next(huma.WithContext(ctx, account.WithPrincipal(ctx.Context(), &account.Principal{UserID: id})))
	}, c.Handle)
	op := huma.Operation{OperationID: "create-my-token", Method: http.MethodPost, Path: "/secret", DefaultStatus: http.StatusCreated}
	huma.Register(api, op, c.run)
	op.OperationID, op.Path = "create-meeting", "/things/{id}"
	huma.Register(api, op, c.run)
}

type countInput struct {
	Body struct {
		Title string `json:"title"`
	}
}

func (c *counter) run(context.Context, *countInput) (*counted, error) {
	n := c.runs.Add(1)
	time.Sleep(c.took)
	if c.hold != nil {
		<-c.hold
	}
	if p := c.fail.Load(); p != nil {
		if p.Code == "panic" {
			panic("secret")
		}
		return nil, p
	}
	out := &counted{ETag: strconv.Quote(strconv.FormatInt(n, 10))}
	out.Body.Run = n
	return out, nil
}

// testServer serves the operations that register adds, with what app does before and after them.
func testServer(t *testing.T, register func(huma.API, *gin.Engine)) *httptest.Server {
	t.Helper()
	r := gin.New()
	r.Use(gin.CustomRecoveryWithWriter(nil, func(c *gin.Context, _ any) { problem.Write(c, problem.Internal()) }))
	c := huma.DefaultConfig("", "")
	c.CreateHooks = nil
	register(humagin.NewWithGroup(r, r.Group("/api/v1"), c), r)
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	return s
}

type response struct {
	status int
	header http.Header
	body   string
	problem.Problem
}

func send(t *testing.T, s *httptest.Server, method, path, body string, headers ...string) response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := response{status: res.StatusCode, header: res.Header, body: string(b)}
	if res.Header.Get("Content-Type") == "application/problem+json" {
		if err := json.Unmarshal(b, &got.Problem); err != nil {
			t.Errorf("%s: %v", b, err)
		}
	}
	return got
}

const one, other = `{"title":"one"}`, `{"title":"other"}`

func TestMiddleware(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		c := newCounter(t, db)
		s := testServer(t, c.register)
		post := func(path, body, key, user string, headers ...string) response {
			t.Helper()
			return send(t, s, "POST", path, body, append(headers, "Idempotency-Key", key, "X-User", user)...)
		}
		path := "/api/v1/things/1"
		first := post(path, one, "k", "1")
		if first.status != 201 || first.header.Get("ETag") != `"1"` {
			t.Fatalf("%d %s", first.status, first.body)
		}
		again := post(path, one, "k", "1")
		if again.status != 201 || again.body != first.body || again.header.Get("ETag") != `"1"` || again.header.Get("Content-Type") != first.header.Get("Content-Type") {
			t.Errorf("%d %s %v", again.status, again.body, again.header)
		}
		if again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("not marked: %v", again.header)
		}
		for _, a := range []response{post(path, other, "k", "1"), post("/api/v1/things/2", one, "k", "1"), post(path, one, "white space", "1"), post(path, one, strings.Repeat("x", 256), "1")} {
			if a.status != 422 || a.Code != "invalid" || a.Errors[0].Location != "header.Idempotency-Key" {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
		if n := c.runs.Load(); n != 1 {
			t.Errorf("ran %d times", n)
		}
		if a := post(path, one, "k", "2"); a.status != 201 || a.body == first.body {
			t.Errorf("another user: %d %s", a.status, a.body)
		}
		if a := post(path, one, "k", ""); a.status != 201 {
			t.Errorf("nobody: %d %s", a.status, a.body)
		}
		c.offset.Store(int64(ttl + time.Second))
		if a := post(path, one, "k", "1"); a.body == first.body {
			t.Errorf("the answer is older than a day: %s", a.body)
		}
	})
}

func TestMiddleware_whatIsNotFinalIsNotKept(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		c := newCounter(t, db)
		s := testServer(t, c.register)
		for i, failure := range []*problem.Problem{problem.Internal(), problem.New(429, "rate_limited", ""), problem.New(503, "unavailable", ""), {Code: "panic"}} {
			key := strconv.Itoa(i)
			c.fail.Store(failure)
			a := send(t, s, "POST", "/api/v1/things/1", one, "Idempotency-Key", key, "X-User", "1")
			if a.status < 429 {
				t.Errorf("%d %s", a.status, a.body)
			}
			c.fail.Store(nil)
			if a := send(t, s, "POST", "/api/v1/things/1", one, "Idempotency-Key", key, "X-User", "1"); a.status != 201 {
				t.Errorf("%s: %d %s", failure.Code, a.status, a.body)
			}
		}
		c.fail.Store(problem.New(409, "room_conflict", ""))
		send(t, s, "POST", "/api/v1/things/1", one, "Idempotency-Key", "final", "X-User", "1")
		c.fail.Store(nil)
		if a := send(t, s, "POST", "/api/v1/things/1", one, "Idempotency-Key", "final", "X-User", "1"); a.status != 409 || a.Code != "room_conflict" {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}

func TestMiddleware_oneOfManyRuns(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		c := newCounter(t, db)
		c.took = 100 * time.Millisecond
		s := testServer(t, c.register)
		bodies := make([]string, 10)
		var wg sync.WaitGroup
		for i := range bodies {
			wg.Go(func() {
				if a := send(t, s, "POST", "/api/v1/things/1", one, "Idempotency-Key", "k", "X-User", "1"); a.status == 201 {
					bodies[i] = a.body
				}
			})
		}
		wg.Wait()
		if n := c.runs.Load(); n != 1 {
			t.Errorf("ran %d times", n)
		}
		for _, b := range bodies {
			if b != bodies[0] || b == "" {
				t.Errorf("answers differ: %q", bodies)
				break
			}
		}
	})
}

func TestMiddleware_aProcessThatDiedFreesTheKey(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		c := newCounter(t, db)
		s := testServer(t, c.register)
		now := time.Now()
		post := func() response {
			return send(t, s, "POST", "/api/v1/things/1", one, "Idempotency-Key", "k", "X-User", "1")
		}
		died := request{UserID: 1, Key: hashKey("k"), Method: "POST", Path: "/api/v1/things/1",
			BodyHash: newSeal("k").fingerprint("POST", "/api/v1/things/1", one), Owner: "dead"}
		if first, _, err := c.store.claim(t.Context(), died, now); err != nil || !first {
			t.Fatal(first, err)
		}
		c.offset.Store(int64(lease + time.Second))
		if a := post(); a.status != 201 {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}

// saver is an operation that saves a change and then fails, or waits.
type saver struct {
	*counter
	db *database.DB
}

func (s *saver) register(api huma.API, r *gin.Engine) {
	s.counter.register(api, r)
	huma.Register(api, huma.Operation{OperationID: "create-room", Method: http.MethodPost, Path: "/saved", DefaultStatus: http.StatusCreated},
		func(ctx context.Context, in *countInput) (*counted, error) {
			err := s.db.Gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
				receipt.Created(tx, "thing", "7")
				return tx.Exec("UPDATE users SET version = version + 1 WHERE id = 1").Error
			})
			if err != nil {
				return nil, err
			}
			return s.run(ctx, in)
		})
	huma.Register(api, huma.Operation{OperationID: "room", Method: http.MethodGet, Path: "/saved/{id}"},
		func(context.Context, *struct {
			ID int `path:"id"`
		}) (*counted, error) {
			out := &counted{ETag: `"current"`}
			out.Body.Run = 99
			return out, nil
		})
	s.Recover(api.OpenAPI(), r, nil)
}

// A change that was saved is not made again, even if its request failed after it, or the answer
// could not be stored: the retry gets what was created.
func TestMiddleware_savesOnce(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		c := &saver{newCounter(t, db), db}
		s := testServer(t, c.register)
		post := func() response {
			return send(t, s, "POST", "/api/v1/saved", one, "Idempotency-Key", "k", "X-User", "1")
		}
		c.fail.Store(problem.Internal())
		if a := post(); a.status != 500 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		c.fail.Store(nil)
		for range 2 {
			a := post()
			if a.status != 201 || strings.TrimSpace(a.body) != `{"run":99}` || a.header.Get("Location") != "/api/v1/saved/7" || a.header.Get("ETag") != `"current"` {
				t.Errorf("%d %s %v", a.status, a.body, a.header)
			}
		}
		var version int64
		if err := db.Gorm.Table("users").Where("id = 1").Pluck("version", &version).Error; err != nil || version != 2 || c.runs.Load() != 1 {
			t.Errorf("version %d after %d runs, %v", version, c.runs.Load(), err)
		}
	})
}

// An attempt that has lost its key to a retry, because its process stood still, saves nothing.
func TestMiddleware_attemptThatLostItsKeySavesNothing(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		c := &saver{newCounter(t, db), db}
		stalled := request{UserID: 1, Key: hashKey("k"), Method: "POST", Path: "/x", BodyHash: "same", Owner: "stalled"}
		retry := stalled
		retry.Owner = "retry"
		now := time.Now()
		if first, _, err := c.store.claim(t.Context(), stalled, now); err != nil || !first {
			t.Fatal(first, err)
		}
		if first, _, err := c.store.claim(t.Context(), retry, now.Add(lease+time.Second)); err != nil || !first {
			t.Fatal(first, err)
		}
		save := func(r request) error {
			ctx := receipt.With(t.Context(), func(ctx context.Context, tx *sql.Tx, subject string) error { return c.store.save(ctx, tx, r, subject) })
			return db.Gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
				return tx.Exec("UPDATE users SET version = version + 1 WHERE id = 1").Error
			})
		}
		if err := save(stalled); !errors.Is(err, errTaken) {
			t.Errorf("stalled: %v", err)
		}
		if err := save(retry); err != nil {
			t.Errorf("retry: %v", err)
		}
		if first, known, err := c.store.claim(t.Context(), stalled, now.Add(2*lease+2*time.Second)); err != nil || first || !known.Lost {
			t.Errorf("after the retry died: first %v, lost %v, %v", first, known.Lost, err)
		}
		var version int64
		if err := db.Gorm.Table("users").Where("id = 1").Pluck("version", &version).Error; err != nil || version != 2 {
			t.Errorf("version %d, %v", version, err)
		}
	})
}

// Whoever reads the table learns neither the key nor the body nor the answer; and with an
// answer that is a secret, even a guessed key is of no use.
func TestMiddleware_keepsSecrets(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		c := newCounter(t, db)
		s := testServer(t, c.register)
		post := func(token string) response {
			return send(t, s, "POST", "/api/v1/secret", one, "Idempotency-Key", "guessable", "X-User", "1", "Authorization", "Bearer "+token)
		}
		first := post("a")
		if again := post("a"); again.status != 201 || again.body != first.body {
			t.Errorf("%d %s", again.status, again.body)
		}
		if stranger := post("b"); stranger.status != 422 {
			t.Errorf("%d %s", stranger.status, stranger.body)
		}
		var kept row
		if err := db.Gorm.Take(&kept).Error; err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{kept.Key, kept.BodyHash, string(kept.Body), kept.Headers} {
			if strings.Contains(part, "guessable") || strings.Contains(part, "run") || strings.Contains(part, "one") {
				t.Errorf("%q", part)
			}
		}
		if _, err := newSeal("guessable").open(kept.Body); err == nil {
			t.Error("the key alone opens the answer")
		}
	})
}

func TestMiddleware_trim(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		c := newCounter(t, db)
		s := testServer(t, c.register)
		send(t, s, "POST", "/api/v1/things/1", one, "Idempotency-Key", "k", "X-User", "1")
		count := func() (n int64) {
			if err := db.Gorm.Model(&row{}).Count(&n).Error; err != nil {
				t.Fatal(err)
			}
			return n
		}
		for _, step := range []struct {
			after time.Duration
			want  int64
		}{{0, 1}, {ttl - time.Minute, 1}, {ttl + time.Minute, 0}} {
			if err := c.store.trim(t.Context(), time.Now().Add(step.after)); err != nil {
				t.Fatal(err)
			}
			if n := count(); n != step.want {
				t.Errorf("after %v: %d rows, want %d", step.after, n, step.want)
			}
		}
	})
}

// A key that a retry claims while it is trimmed stays. Postgres finds the row again as it is then.
func TestTrim_keyClaimedMeanwhile(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, migrations.Postgres)
	s := store{db.Gorm}
	insertUsers(t, db)
	req := request{UserID: 1, Key: "k", Method: "POST", Path: "/", BodyHash: "b", Owner: "first"}
	now := time.Now()
	if _, _, err := s.claim(t.Context(), req, now.Add(-ttl-time.Minute)); err != nil {
		t.Fatal(err)
	}
	trimmed := make(chan error, 1)
	err := db.Gorm.Transaction(func(tx *gorm.DB) error {
		req.Owner = "second"
		if err := tx.Exec("SET LOCAL idle_in_transaction_session_timeout = 0").Error; err != nil {
			return err
		}
		if first, _, err := (store{tx}).claim(t.Context(), req, now); err != nil || !first {
			return fmt.Errorf("not claimed: %w", err)
		}
		go func() { trimmed <- s.trim(t.Context(), now) }()
		waiting := "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
		for n, end := 0, time.Now().Add(time.Minute); n == 0; time.Sleep(time.Millisecond) {
			if err := db.SQL.QueryRowContext(t.Context(), waiting).Scan(&n); err != nil {
				return err
			}
			if time.Now().After(end) {
				return errors.New("the deletion does not wait for the row")
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-trimmed; err != nil {
		t.Fatal(err)
	}
	if _, there, err := s.find(t.Context(), req, now); err != nil || !there {
		t.Errorf("the key is gone: %v", err)
	}
}

// A person who has used up what is kept for them gets 429 for a new key, and old answers still.
func TestMiddleware_capPerPerson(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		c := newCounter(t, db)
		s := testServer(t, c.register)
		post := func(key, user string) response {
			return send(t, s, "POST", "/api/v1/things/1", one, "Idempotency-Key", key, "X-User", user)
		}
		first := post("k", "1")
		keys, bytes, err := c.store.usage(t.Context(), 1)
		if err != nil || keys != 1 || bytes == 0 {
			t.Errorf("%d keys of %d bytes, %v", keys, bytes, err)
		}
		c.usage.add(1, maxBytes)
		if a := post("new", "1"); a.status != 429 || a.Code != "rate_limited" || a.header.Get("Retry-After") == "" {
			t.Errorf("%d %s", a.status, a.body)
		}
		if a := post("k", "1"); a.status != 201 || a.body != first.body {
			t.Errorf("%d %s", a.status, a.body)
		}
		if a := post("new", "2"); a.status != 201 {
			t.Errorf("another person: %d %s", a.status, a.body)
		}
	})
}

// An answer that is too long to keep is not given in part: each retry learns that.
func TestMiddleware_longAnswers(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		c := newCounter(t, db)
		for _, size := range []int{maxAnswer / 2, 2 * maxAnswer} {
			text := make([]byte, size)
			for i := range text {
				text[i] = byte('a' + rand.N(26)) // 4.7 bits each, which do not compress well
			}
			long := string(text)
			s := testServer(t, func(api huma.API, r *gin.Engine) {
				c.register(api, r)
				huma.Register(api, huma.Operation{OperationID: "create-site", Method: http.MethodPost, Path: "/long"},
					func(context.Context, *countInput) (*struct{ Body string }, error) {
						return &struct{ Body string }{long}, nil
					})
			})
			key := strconv.Itoa(size)
			post := func() response { return send(t, s, "POST", "/api/v1/long", one, "Idempotency-Key", key, "X-User", "1") }
			first, again, third := post(), post(), post()
			if first.status != 200 {
				t.Errorf("%d bytes: %d", size, first.status)
			}
			if size < maxAnswer && again.body != first.body {
				t.Errorf("%d bytes: another answer", size)
			}
			if size > maxAnswer && (again.status != 409 || again.State != "answered" || third.body != again.body) {
				t.Errorf("%d bytes: %d %.200s", size, again.status, again.body)
			}
		}
	})
}

// A request whose client has left goes on, and a retry waits for it.
func TestMiddleware_runsWithoutItsClient(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		c := newCounter(t, db)
		c.hold = make(chan struct{})
		s := testServer(t, c.register)
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, "POST", s.URL+"/api/v1/things/1", strings.NewReader(one))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Idempotency-Key", "k")
		req.Header.Set("X-User", "1")
		go func() {
			for c.runs.Load() == 0 {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		if _, err := s.Client().Do(req); err == nil {
			t.Fatal("the client did not leave")
		}
		time.AfterFunc(100*time.Millisecond, func() { close(c.hold) })
		if a := send(t, s, "POST", "/api/v1/things/1", one, "Idempotency-Key", "k", "X-User", "1"); a.status != 201 || c.runs.Load() != 1 {
			t.Errorf("%d %s after %d runs", a.status, a.body, c.runs.Load())
		}
	})
}
