// Package idempotency answers a repeated POST with the response of its first execution.
package idempotency

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
	"gorm.io/gorm"

	"punctual/account"
	"punctual/app/database/receipt"
	"punctual/app/problem"
	"punctual/delayjob/failpoint"
)

const (
	ttl          = 24 * time.Hour
	lease        = 10 * time.Second // without renewal the process has died
	renewEvery   = 2 * time.Second
	waitForFirst = 25 * time.Second // for the first of two equal requests to finish
	poll         = 25 * time.Millisecond
	patience     = 5 * time.Second // for a statement about a key, even if the client disconnects
	maxAnswer    = 1 << 20         // bytes of a compressed answer
)

// Header of a request with a key.
const Header = "Idempotency-Key"

// Middleware answers a repeated POST with the response of the first one. A request with a key runs
// to its end even if its client disconnects. Its response is kept for a day, except responses that
// may differ the next time: 5xx, 408, 429 and 499. A retry waits for a running request.
//
// Each transaction of a request marks its key. If the process dies before it stores the response,
// or the response is not kept, a retry of a request that saved nothing runs it again. Otherwise the
// retry gets the current state of what the request changed, see [Middleware.Recover].
//
// Operations without a user (sign-in, setup, pairing a door) are excluded, because neither
// passwords nor tokens may be stored. So are operations without effect.
type Middleware struct {
	store   store
	timeout time.Duration             // of a request
	secret  func(huma.Context) string // of the caller
	log     *slog.Logger
	now     func() time.Time
	usage   usage
	recovery
}

// New returns the middleware. A request may run for timeout, even if its client disconnects. secret
// returns the credential of a request.
func New(db *gorm.DB, timeout time.Duration, secret func(huma.Context) string, log *slog.Logger) *Middleware {
	return &Middleware{store: store{db}, timeout: timeout, secret: secret, log: log, now: time.Now}
}

// withoutEffect are POSTs that change nothing: repeating them needs no key.
var withoutEffect = []string{"preview-series", "preview-series-update", "preview-repeat", "preview-holidays", "plan-config"}

// repeatable are operations with several transactions that can be repeated: a second run does what
// the first one left.
var repeatable = []string{"import-ics", "requeue-dead-jobs", "discard-dead-jobs"}

// boundToSignIn lists operations with a secret in the request or the response. For these, the
// caller's credential is part of the encryption key, so that even a guessable Idempotency-Key
// protects the secret. So only the same sign-in gets the response again.
var boundToSignIn = []string{
	"create-my-token", "create-user-token", "create-door-code", "create-feed", "create-user", "create-webhook",
	"enroll-second-factor", "confirm-second-factor", "renew-recovery-codes", "disable-second-factor",
}

// HasEffect reports whether an operation takes part.
func HasEffect(operation string) bool { return !slices.Contains(withoutEffect, operation) }

// BoundToSignIn reports whether only the same sign-in gets an operation's response again.
func BoundToSignIn(operation string) bool { return slices.Contains(boundToSignIn, operation) }

// Handle runs after authentication, and after the body was read.
func (m *Middleware) Handle(ctx huma.Context, next func(huma.Context)) {
	key := ctx.Header(Header)
	who, ok := account.FromContext(ctx.Context())
	op := ctx.Operation().OperationID
	if ctx.Method() != http.MethodPost || key == "" || !ok || !HasEffect(op) {
		next(ctx)
		return
	}
	c := humagin.Unwrap(ctx)
	if !isIdempotencyKey(key) {
		problem.Write(c, keyProblem("malformed", "must be 1 to 255 visible ASCII characters"))
		return
	}
	body, err := io.ReadAll(c.Request.Body)
	if err != nil { // the body is in memory
		_ = c.Error(err)
		problem.Write(c, problem.Internal())
		return
	}
	c.Request.Body = io.NopCloser(bytes.NewReader(body))

	secret := key
	if BoundToSignIn(op) {
		secret += "\x00" + m.secret(ctx)
	}
	s := newSeal(secret)
	m.run(ctx, next, c, s, request{
		UserID: who.UserID, Key: hashKey(key), Method: c.Request.Method, Path: c.Request.URL.Path,
		BodyHash: s.fingerprint(c.Request.Method, c.Request.URL.RequestURI(), string(body)), Owner: rand.Text(),
	})
}

func (m *Middleware) run(ctx huma.Context, next func(huma.Context), c *gin.Context, s seal, req request) {
	first, known, err := m.claim(ctx.Context(), req)
	switch {
	case err != nil:
		if p := problem.Of(err); p != nil {
			problem.Write(c, p)
			return
		}
		_ = c.Error(err)
		problem.Write(c, problem.Internal())
	case first:
		m.execute(ctx, next, c, s, req)
	case known.BodyHash != req.BodyHash:
		problem.Write(c, keyProblem("key_reused", "must not be reused: another request used it within the last 24 hours"))
	case known.Lost:
		m.recover(ctx, c, s, req, known)
	case known.Status == 0:
		p := problem.New(http.StatusConflict, "state_conflict", "The first request with this Idempotency-Key is still running")
		p.State, p.RetryAfter = "running", time.Second
		problem.Write(c, p)
	default:
		m.replay(c, s, known)
	}
}

// claim claims the key for this request, or returns the state of the first request, waiting for a
// while if it still runs. The statement continues when the client disconnects, because otherwise it
// would be unknown whether the key is taken.
func (m *Middleware) claim(ctx context.Context, req request) (first bool, known answer, err error) {
	pause := poll
	for deadline := time.Now().Add(waitForFirst); ; pause = min(2*pause, 500*time.Millisecond) {
		first, known, err = m.tryClaim(ctx, req)
		if err != nil || first || known.Status != 0 || known.Lost || known.BodyHash != req.BodyHash || time.Now().After(deadline) {
			return first, known, err
		}
		select {
		case <-ctx.Done():
			return false, known, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (m *Middleware) tryClaim(ctx context.Context, req request) (first bool, known answer, err error) {
	ctx, cancel := m.detached(ctx)
	defer cancel()
	if spent, err := m.usage.spent(ctx, m.store, req.UserID); err != nil {
		return false, known, err
	} else if spent { // stored responses are still sent
		known, there, err := m.store.find(ctx, req, m.now())
		if err == nil && !there {
			err = keysSpent()
		}
		return false, known, err
	}
	first, known, err = m.store.claim(ctx, req, m.now())
	if err != nil {
		m.forget(ctx, req) // the database may have stored it anyway
	}
	return first, known, err
}

// detached returns a context for a statement that must finish even if the client disconnects.
func (m *Middleware) detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), patience)
}

// execute runs the request detached from its client, and stores the response before it is sent, so
// that a client that received it gets it again.
func (m *Middleware) execute(ctx huma.Context, next func(huma.Context), c *gin.Context, s seal, req request) {
	running, cancel := context.WithTimeout(context.WithoutCancel(ctx.Context()), m.timeout)
	defer cancel()
	renewing := m.renew(running, cancel, req)
	if !slices.Contains(repeatable, ctx.Operation().OperationID) {
		running = receipt.With(running, func(ctx context.Context, tx *sql.Tx, subject string) error {
			return m.store.save(ctx, tx, req, subject)
		})
	}
	request := c.Request
	c.Request = request.WithContext(running)
	w := &heldWriter{ResponseWriter: c.Writer, status: http.StatusOK}
	c.Writer = w
	kept := false
	defer func() { // also after a panic, which an outer handler turns into a 500
		cancel()
		<-renewing
		c.Writer, c.Request = w.ResponseWriter, request
		if !kept {
			m.forget(running, req)
		}
	}()
	next(huma.WithContext(ctx, running))

	failpoint.Reach("answer.before", "")
	if isFinal(w.status) {
		kept = m.keep(running, s, req, w)
	}
	w.release()
}

// keep reports whether the key has its final state.
func (m *Middleware) keep(ctx context.Context, s seal, req request, w *heldWriter) bool {
	body, err := s.close(w.body.Bytes())
	if err == nil {
		if len(body) > maxAnswer {
			body = nil // retries get the state instead
		}
		ctx, cancel := m.detached(ctx)
		defer cancel()
		err = m.store.keep(ctx, req, answer{Status: w.status, Headers: w.headers(), Body: body})
		m.usage.add(req.UserID, len(body))
	}
	if err != nil {
		m.log.WarnContext(ctx, "storing an idempotent answer failed", "error", err)
	}
	return err == nil
}

func (m *Middleware) forget(ctx context.Context, req request) {
	ctx, cancel := m.detached(ctx)
	defer cancel()
	if err := m.store.forget(ctx, req, m.now()); err != nil {
		m.log.WarnContext(ctx, "releasing an idempotency key failed, it expires with its lease", "error", err)
	}
}

// renew extends the lease until ctx ends. If that fails for too long, it cancels the request before
// a retry takes the key. The channel is closed when renew has stopped.
func (m *Middleware) renew(ctx context.Context, cancel context.CancelFunc, req request) <-chan struct{} {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(renewEvery)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			asked := time.Now()
			held, err := m.store.renew(ctx, req, m.now())
			if err == nil && held {
				last = asked
			} else if err == nil || time.Since(last) > lease-renewEvery {
				cancel()
				return
			}
		}
	}()
	return stopped
}

func isFinal(status int) bool {
	return status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests && status != problem.StatusClientGone
}

func (m *Middleware) replay(c *gin.Context, s seal, known answer) {
	if len(known.Body) == 0 {
		p := problem.New(http.StatusConflict, "state_conflict", "The first request succeeded, but its response was too long to store")
		p.State = "answered"
		maps.Copy(c.Writer.Header(), http.Header{"Location": known.Headers["Location"]})
		problem.Write(c, p)
		return
	}
	body, err := s.open(known.Body)
	if err != nil {
		problem.Write(c, keyProblem("key_reused", "must not be reused: another user or session used it"))
		return
	}
	maps.Copy(c.Writer.Header(), known.Headers)
	c.Header("Idempotent-Replayed", "true")
	c.Status(known.Status)
	_, _ = c.Writer.Write(body)
}

// RunTrimmer deletes expired keys every hour until ctx ends.
func (m *Middleware) RunTrimmer(ctx context.Context) error {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		if err := m.store.trim(ctx, m.now()); err != nil && ctx.Err() == nil {
			m.log.Warn("deleting old idempotency keys failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Limits of what is stored for one user.
const (
	maxKeys  = 50_000
	maxBytes = 64 << 20
	recount  = 10 * time.Second // interval of counting again
)

// idempotencyUsage caches what is stored for each user.
type usage struct {
	mu sync.Mutex
	of map[int64]*keptFor
}

type keptFor struct {
	keys, bytes int64
	counted     time.Time
}

func (u *usage) spent(ctx context.Context, s store, userID int64) (bool, error) {
	u.mu.Lock()
	k, ok := u.of[userID]
	if ok && time.Since(k.counted) < recount {
		defer u.mu.Unlock()
		return k.keys >= maxKeys || k.bytes >= maxBytes, nil
	}
	u.mu.Unlock()
	keys, bytes, err := s.usage(ctx, userID)
	if err != nil {
		return false, fmt.Errorf("count idempotency keys: %w", err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil || len(u.of) > 10_000 {
		u.of = map[int64]*keptFor{}
	}
	u.of[userID] = &keptFor{keys, bytes, time.Now()}
	return keys >= maxKeys || bytes >= maxBytes, nil
}

func (u *usage) add(userID int64, bytes int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if k, ok := u.of[userID]; ok {
		k.keys++
		k.bytes += int64(bytes)
	}
}

func keysSpent() *problem.Problem {
	p := problem.New(http.StatusTooManyRequests, "rate_limited", "Too many Idempotency-Keys within 24 hours")
	p.Detail = "Keys are kept for 24 hours. Wait, or send the request without a key."
	p.RetryAfter = time.Hour
	return p
}

func isIdempotencyKey(key string) bool {
	return len(key) <= 255 && !slices.ContainsFunc([]byte(key), func(b byte) bool { return b <= ' ' || b > '~' })
}

func keyProblem(code, message string) *problem.Problem {
	p := problem.New(http.StatusUnprocessableEntity, "invalid", "Invalid request")
	p.Errors = []problem.ProblemFault{{Location: "header." + Header, Message: message, Code: code}}
	return p
}

// keptHeaders are the response headers that matter to a retry.
var keptHeaders = []string{"Content-Type", "Etag", "Location", "Link", "Last-Modified"}

type heldWriter struct {
	gin.ResponseWriter
	status int
	body   bytes.Buffer
}

func (w *heldWriter) WriteHeader(status int)            { w.status = status }
func (w *heldWriter) WriteHeaderNow()                   {}
func (w *heldWriter) Write(b []byte) (int, error)       { return w.body.Write(b) }
func (w *heldWriter) WriteString(s string) (int, error) { return w.body.WriteString(s) }
func (w *heldWriter) Status() int                       { return w.status }
func (w *heldWriter) Size() int                         { return w.body.Len() }
func (w *heldWriter) Written() bool                     { return w.body.Len() > 0 }
func (w *heldWriter) Flush()                            {}

func (w *heldWriter) headers() http.Header {
	kept := http.Header{}
	for _, h := range keptHeaders {
		if v := w.Header().Values(h); len(v) > 0 {
			kept[h] = v
		}
	}
	return kept
}

func (w *heldWriter) release() {
	w.ResponseWriter.WriteHeader(w.status)
	if w.body.Len() == 0 {
		w.ResponseWriter.WriteHeaderNow()
		return
	}
	_, _ = w.ResponseWriter.Write(w.body.Bytes()) // in one piece like a replay, so that both are compressed or neither is
}
