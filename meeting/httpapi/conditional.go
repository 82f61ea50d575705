package httpapi

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// unlessKnown responds with body, or with 304 if the client already has it. The ETag is a hash of
// the body, so equal bodies have equal tags. Clients may cache the body but must revalidate it.
func unlessKnown(ifNoneMatch string, body any) (*huma.StreamResponse, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	tag := `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		ctx.SetHeader("ETag", tag)
		ctx.SetHeader("Cache-Control", "private, no-cache")
		if knows(ifNoneMatch, tag) {
			ctx.SetStatus(http.StatusNotModified)
			return
		}
		ctx.SetHeader("Content-Type", "application/json")
		_, _ = ctx.BodyWriter().Write(text)
	}}, nil
}

// knows reports whether a list of tags holds one, by weak comparison.
func knows(list, tag string) bool {
	bare := func(t string) string { return strings.TrimPrefix(strings.TrimSpace(t), "W/") }
	return slices.ContainsFunc(strings.Split(list, ","), func(t string) bool { return bare(t) == "*" || bare(t) == bare(tag) })
}
