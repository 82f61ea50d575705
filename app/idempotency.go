package app

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"punctual/account"
)

const (
	idempotencyTTL   = 24 * time.Hour
	idempotencyLease = time.Minute     // a request that runs longer has lost its process
	idempotencyWait  = 5 * time.Second // for the first of two equal requests to end
	idempotencyPoll  = 25 * time.Millisecond
	idempotencyKey   = "Idempotency-Key"
)

// idempotency gives a repeated POST the answer of the first one. Answers are kept for a day,
// except those that may be otherwise the next time: 5xx, 408 and 429. If the process dies
// between the effect and keeping its answer, the key is free again after a minute.
//
// Signing in, setting up and pairing a door take no part: doing it twice does no harm, and
// neither a trace of the password nor the token shall lie in a table. They are the POSTs without
// a user, which is how they are known.
type idempotency struct {
	store *idempotencyStore
	log   *slog.Logger
	now   func() time.Time
}

// boundToSignIn are operations with a secret in the request or the answer. There the caller's
// credential is a part of the key that seals, so that even a guessable Idempotency-Key
// protects it; the price is that only the same sign-in gets the answer again.
var boundToSignIn = []string{"create-my-token", "create-user-token", "create-door-code", "create-feed", "create-user", "create-webhook", "plan-config"}

// middleware comes after the authentication.
func (i *idempotency) middleware(ctx huma.Context, next func(huma.Context)) {
	key := ctx.Header(idempotencyKey)
	who, ok := account.FromContext(ctx.Context())
	if ctx.Method() != http.MethodPost || key == "" || !ok {
		next(ctx)
		return
	}
	c := humagin.Unwrap(ctx)
	if !isIdempotencyKey(key) {
		writeProblem(c, keyProblem("malformed", "must be 1 to 255 visible ASCII characters"))
		return
	}
	body, err := io.ReadAll(c.Request.Body)
	if err != nil { // it was read before, so this is a mistake in here
		_ = c.Error(err)
		writeProblem(c, internalProblem())
		return
	}
	c.Request.Body = io.NopCloser(bytes.NewReader(body))

	secret := key
	if slices.Contains(boundToSignIn, ctx.Operation().OperationID) {
		cookie, _ := c.Cookie(account.SessionCookie)
		secret += "\x00" + ctx.Header("Authorization") + "\x00" + cookie
	}
	s := newSeal(secret)
	i.run(ctx, next, c, s, idempotentRequest{
		UserID: who.UserID, Key: hashKey(key), Method: c.Request.Method, Path: c.Request.URL.Path,
		BodyHash: s.fingerprint(c.Request.Method, c.Request.URL.RequestURI(), string(body)),
	})
}

// run executes the request, or gives the answer that its first execution had.
func (i *idempotency) run(ctx huma.Context, next func(huma.Context), c *gin.Context, s seal, req idempotentRequest) {
	first, known, err := i.claim(ctx.Context(), req)
	switch {
	case err != nil:
		_ = c.Error(err)
		writeProblem(c, cmp.Or(problem(err), internalProblem()))
	case first:
		i.execute(ctx, next, c, s, req)
	case known.BodyHash != req.BodyHash:
		writeProblem(c, keyProblem("key_reused", "was used for another request within the last 24 hours"))
	case known.Status == 0:
		p := newProblem(http.StatusConflict, "state_conflict", "The first request with this Idempotency-Key still runs")
		p.State, p.retryAfter = "running", time.Second
		writeProblem(c, p)
	default:
		i.replay(c, s, known)
	}
}

// claim makes this request the first of its key, or tells what is known of the first. It
// waits a while for one that runs.
func (i *idempotency) claim(ctx context.Context, req idempotentRequest) (first bool, known idempotentAnswer, err error) {
	for deadline := i.now().Add(idempotencyWait); ; {
		now := i.now()
		first, known, err = i.store.Claim(ctx, req, now, now.Add(idempotencyTTL), now.Add(-idempotencyLease))
		if err != nil || first || known.Status != 0 || known.BodyHash != req.BodyHash || now.After(deadline) {
			return first, known, err
		}
		select {
		case <-ctx.Done():
			return false, known, ctx.Err()
		case <-time.After(idempotencyPoll):
		}
	}
}

// execute keeps the answer before it is sent, so that a client which saw it gets it again.
func (i *idempotency) execute(ctx huma.Context, next func(huma.Context), c *gin.Context, s seal, req idempotentRequest) {
	keep := context.WithoutCancel(ctx.Context())
	w := &heldWriter{ResponseWriter: c.Writer, status: http.StatusOK}
	c.Writer = w
	kept := false
	defer func() { // also after a panic, which becomes a 500 further out
		c.Writer = w.ResponseWriter
		if !kept {
			if err := i.store.Forget(keep, req); err != nil {
				i.log.WarnContext(keep, "an idempotency key stays taken for a minute", "error", err)
			}
		}
	}()
	next(ctx)

	if isFinal(w.status) {
		err := i.store.Keep(keep, req, idempotentAnswer{Status: w.status, Headers: w.headers(), Body: s.close(w.body.Bytes())})
		if err != nil {
			i.log.WarnContext(keep, "an answer could not be kept for its idempotency key", "error", err)
		}
		kept = err == nil
	}
	w.release()
}

func isFinal(status int) bool {
	return status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests
}

func (i *idempotency) replay(c *gin.Context, s seal, known idempotentAnswer) {
	body, err := s.open(known.Body)
	if err != nil {
		writeProblem(c, keyProblem("key_reused", "was used under another sign-in"))
		return
	}
	maps.Copy(c.Writer.Header(), known.Headers)
	c.Header("Idempotent-Replayed", "true")
	c.Status(known.Status)
	_, _ = c.Writer.Write(body)
}

// RunTrimmer deletes what is over every hour until ctx ends.
func (i *idempotency) RunTrimmer(ctx context.Context) error {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		if err := i.store.Trim(ctx, i.now()); err != nil && ctx.Err() == nil {
			i.log.Warn("trimming the idempotency keys failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func isIdempotencyKey(key string) bool {
	return len(key) <= 255 && !slices.ContainsFunc([]byte(key), func(b byte) bool { return b <= ' ' || b > '~' })
}

func keyProblem(code, message string) *Problem {
	p := newProblem(http.StatusUnprocessableEntity, "invalid", "Invalid request")
	p.Errors = []ProblemFault{{Location: "header." + idempotencyKey, Message: message, Code: code}}
	return p
}

// keptHeaders are those of an answer that mean something to whoever repeats the request.
var keptHeaders = []string{"Content-Type", "Etag", "Location", "Link", "Last-Modified"}

// heldWriter holds an answer back until release.
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
	w.ResponseWriter.WriteHeaderNow()
	_, _ = w.ResponseWriter.Write(w.body.Bytes())
}
