package idempotency

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"punctual/app/problem"
)

// recovery holds what it takes to answer a retry whose first request lost its response.
type recovery struct {
	api     *huma.OpenAPI
	handler http.Handler
	rebuild map[string]Rebuild // by schema
}

// Rebuild returns the body of a response that no GET returns. path is that of what the request
// created or changed, since an instant, and get reads a path of the API as the caller.
type Rebuild func(get func(path string, into any) error, path string, since time.Time) (any, error)

// Recover sets how lost responses are recovered: by reading with h what an operation of api changed,
// if a GET returns the same schema, or else by the function for the schema in rebuild. Call it
// before the first request.
func (m *Middleware) Recover(api *huma.OpenAPI, h http.Handler, rebuild map[string]Rebuild) {
	m.recovery = recovery{api, h, rebuild}
}

// lost describes the response to recover.
type lost struct {
	status   int    // 0: it cannot be recovered
	path     string // of what was created or changed; empty: the response has no body
	location string // of what was created
	rebuild  Rebuild
}

// collections have the things of these kinds; others are created by a POST to their collection.
var collections = map[string]string{"meeting": "/meetings", "series": "/series", "wait": "/waitlist"}

// lost finds out how to recover the response of an operation, whose request had a path, and which
// created subject.
func (r *recovery) lost(op *huma.Operation, path, subject string) (l lost) {
	if r.api == nil {
		return l
	}
	success := map[string]int{} // status by schema
	for _, code := range slices.Sorted(maps.Keys(op.Responses)) {
		if status, err := strconv.Atoi(code); err == nil && status/100 == 2 {
			success[schemaOf(op.Responses[code])] = status
		}
	}
	if kind, id, ok := strings.Cut(subject, " "); ok {
		base := path
		collection, elsewhere := collections[kind]
		if !elsewhere {
			collection = op.Path
		} else {
			base = above(path, strings.Count(op.Path, "/")) + collection
		}
		if schema, ok := r.read(collection + "/{id}"); ok {
			l.location = base + "/" + url.PathEscape(id)
			if r.reads(&l, schema, l.location, success) {
				return l
			}
		}
	}
	for resource, up := op.Path, 0; resource != ""; resource, up = above(resource, 1), up+1 {
		if schema, ok := r.read(resource); ok && r.reads(&l, schema, above(path, up), success) {
			return l
		}
	}
	l.status = success[""]
	return l
}

// reads reports whether one of the successes can be read at a path, where GET returns schema. If so
// it completes l.
func (r *recovery) reads(l *lost, schema, path string, success map[string]int) bool {
	if status := success[schema]; status != 0 {
		l.status, l.path = status, path
		return true
	}
	for schema, status := range success {
		if f := r.rebuild[schema]; f != nil {
			l.status, l.path, l.rebuild = status, path, f
			return true
		}
	}
	return false
}

// read returns the schema that GET returns at a path of the API.
func (r *recovery) read(path string) (schema string, ok bool) {
	item := r.api.Paths[path]
	if item == nil || item.Get == nil {
		return "", false
	}
	schema = schemaOf(item.Get.Responses["200"])
	return schema, schema != ""
}

// schemaOf returns the name of the schema of a response, or "" if it has no body.
func schemaOf(r *huma.Response) string {
	if r == nil {
		return ""
	}
	for _, m := range r.Content {
		if m.Schema != nil {
			return m.Schema.Ref[strings.LastIndexByte(m.Schema.Ref, '/')+1:] + m.Schema.Type
		}
	}
	return ""
}

// above returns a path without its last n segments.
func above(path string, n int) string {
	for range n {
		path = path[:max(0, strings.LastIndexByte(path, '/'))]
	}
	return path
}

// recover answers a retry with the current state of what the first request changed. The answer is
// stored, so that later retries get the same.
func (m *Middleware) recover(ctx huma.Context, c *gin.Context, s seal, req request, known answer) {
	l := m.lost(ctx.Operation(), c.Request.URL.Path, known.Subject)
	found := m.current(c, l, known.Since)
	if found.status == http.StatusTooManyRequests || found.status >= http.StatusInternalServerError {
		p := problem.New(http.StatusServiceUnavailable, "unavailable", "The result of the first request cannot be read now")
		p.RetryAfter = time.Second
		problem.Write(c, p)
		return
	}
	if found.status != l.status || l.status == 0 {
		p := problem.New(http.StatusConflict, "state_conflict", "The first request saved its changes, but its response was lost")
		p.State = "answered"
		if l.location != "" {
			c.Header("Location", l.location)
		}
		problem.Write(c, p)
		return
	}
	if l.location != "" && l.path == l.location {
		found.headers.Set("Location", l.location)
	}
	body, err := s.close(found.body)
	if err == nil {
		ctx, cancel := m.detached(ctx.Context())
		defer cancel()
		var first bool
		first, err = m.store.recover(ctx, req, answer{Status: l.status, Headers: found.headers, Body: body})
		if err == nil && !first { // another retry was faster
			known, _, err = m.store.find(ctx, req, m.now())
		} else {
			known = answer{Status: l.status, Headers: found.headers, Body: body}
		}
	}
	if err != nil {
		_ = c.Error(err)
		problem.Write(c, problem.Internal())
		return
	}
	m.replay(c, s, known)
}

// current reads the answer that l describes. Its status is that of l, unless reading failed.
func (m *Middleware) current(c *gin.Context, l lost, since time.Time) (found found) {
	found.headers = http.Header{}
	switch {
	case l.status == 0:
	case l.rebuild != nil:
		get := func(path string, into any) error {
			r := m.get(c, path)
			if r.status != http.StatusOK {
				found.status = r.status
				return fmt.Errorf("GET %s: %d", path, r.status)
			}
			if path == l.path {
				found.headers = r.headers
			}
			return json.Unmarshal(r.body, into)
		}
		body, err := l.rebuild(get, l.path, since)
		if err == nil {
			found.body, err = json.Marshal(body)
		}
		if err == nil {
			found.status = l.status
		}
	case l.path == "":
		found.status = l.status
	default:
		if found = m.get(c, l.path); found.status == http.StatusOK {
			found.status = l.status
		}
	}
	return found
}

// found is a response within the process.
type found struct {
	status  int
	headers http.Header
	body    []byte
}

// get reads a path as the caller of a request.
func (m *Middleware) get(c *gin.Context, path string) found {
	req := c.Request.Clone(c.Request.Context())
	u, err := url.Parse(path)
	if err != nil {
		return found{status: http.StatusInternalServerError}
	}
	req.Method, req.URL, req.RequestURI, req.Body, req.ContentLength = http.MethodGet, u, path, http.NoBody, 0
	for _, h := range []string{Header, "If-Match", "Content-Type", "Content-Length", "Accept-Encoding"} {
		req.Header.Del(h)
	}
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	m.handler.ServeHTTP(w, req)
	kept := http.Header{}
	for _, h := range keptHeaders {
		if v := w.header.Values(h); len(v) > 0 {
			kept[h] = v
		}
	}
	return found{w.status, kept, w.body}
}

type recorder struct {
	header http.Header
	status int
	body   []byte
}

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(s int)   { r.status = s }
func (r *recorder) Write(b []byte) (int, error) {
	r.body = append(r.body, b...)
	return len(b), nil
}
