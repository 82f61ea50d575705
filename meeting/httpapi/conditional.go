package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/meeting"
)

// State returns a comparable value. If two of them are equal, nothing that was saved and no setting has
// changed in between.
type State func(context.Context) (any, error)

// maxValidated limits the responses that a [revalidator] remembers, some 200 bytes each.
const maxValidated = 10_000

// revalidator responds with 304 if the client already has the response. It remembers tags of recent
// responses, with the state in which they were computed: as long as that lasts, none is computed again.
// Safe for concurrent use.
type revalidator struct {
	state State
	now   func() time.Time

	mu    sync.Mutex
	known map[[sha256.Size]byte]validated
}

type validated struct {
	tag   string
	state any
	until time.Time // from when on the response can differ in the same state
}

func newRevalidator(state State, now func() time.Time) *revalidator {
	return &revalidator{state: state, now: now, known: map[[sha256.Size]byte]validated{}}
}

// respond responds to a query of an actor with a body, or with 304. The ETag is a hash of the body, so equal
// bodies have equal tags. Clients may cache the body but must revalidate it. compute also returns from when
// on the body can differ although the state is the same.
func (v *revalidator) respond(ctx context.Context, by meeting.Actor, query any, ifNoneMatch string, compute func() (body any, until time.Time, err error)) (*huma.StreamResponse, error) {
	before, err := v.state(ctx)
	if err != nil {
		return nil, err
	}
	var groups []int64 // as they were before the state was read
	if by.Groups != nil {
		groups = *by.Groups
	}
	id := sha256.Sum256(fmt.Appendf(nil, "%q %d %q %q %v %v %v %+v", by.Kind, by.ID, by.Email, by.Role, groups, by.Delegations(), by.Blind, query))
	if tag, ok := v.valid(id, before); ok && knows(ifNoneMatch, tag) {
		return notModified(tag), nil
	}
	body, until, err := compute()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	tag := `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	if after, err := v.state(ctx); err == nil && after == before {
		v.remember(id, validated{tag, before, until})
	}
	if knows(ifNoneMatch, tag) {
		return notModified(tag), nil
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		revalidate(ctx, tag)
		ctx.SetHeader("Content-Type", "application/json")
		_, _ = ctx.BodyWriter().Write(text)
	}}, nil
}

func (v *revalidator) valid(id [sha256.Size]byte, state any) (tag string, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	k, ok := v.known[id]
	return k.tag, ok && k.state == state && v.now().Before(k.until)
}

func (v *revalidator) remember(id [sha256.Size]byte, k validated) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.known) >= maxValidated {
		clear(v.known)
	}
	v.known[id] = k
}

func notModified(tag string) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		revalidate(ctx, tag)
		ctx.SetStatus(http.StatusNotModified)
	}}
}

func revalidate(ctx huma.Context, tag string) {
	ctx.SetHeader("ETag", tag)
	ctx.SetHeader("Cache-Control", "private, no-cache")
}

// knows reports whether a list of tags holds one, by weak comparison.
func knows(list, tag string) bool {
	bare := func(t string) string { return strings.TrimPrefix(strings.TrimSpace(t), "W/") }
	return slices.ContainsFunc(strings.Split(list, ","), func(t string) bool { return bare(t) == "*" || bare(t) == bare(tag) })
}
