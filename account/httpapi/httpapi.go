// Package httpapi is accounts over HTTP: signing in, one's own account, users, and the
// middleware that knows who calls. Errors are the domain's own; app makes problems of them.
package httpapi

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
)

// Options of the API. A zero field means the default given here.
type Options struct {
	ClientIP func(huma.Context) string // whom failed sign-ins are charged to; the peer of the connection
}

type handlers struct {
	svc     *account.Service
	options Options
	base    string // of Location headers
}

// Register adds the operations to api, which has the middleware [Authenticate].
func Register(api huma.API, svc *account.Service, o Options) {
	if o.ClientIP == nil {
		o.ClientIP = peer
	}
	h := &handlers{svc: svc, options: o}
	if servers := api.OpenAPI().Servers; len(servers) > 0 {
		h.base = servers[0].URL
	}
	h.registerSignIn(api)
	h.registerSession(api)
	h.registerMe(api)
	h.registerTokens(api)
	h.registerUsers(api)
}

func peer(ctx huma.Context) string {
	host, _, err := net.SplitHostPort(ctx.RemoteAddr())
	if err != nil {
		return ctx.RemoteAddr()
	}
	return host
}

// anonymous is the security of operations without a sign-in.
var anonymous = []map[string][]string{{}}

func operation(id, method, path, tag, summary string, errors ...int) huma.Operation {
	op := huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{tag}, Errors: errors}
	if account.Public(id) {
		op.Security = anonymous
	} else {
		op.Errors = append(op.Errors, http.StatusUnauthorized, http.StatusForbidden)
		slices.Sort(op.Errors)
	}
	return op
}

// PageInput is embedded in the input of lists; huma passes over what is embedded unexported.
type PageInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"At most this many items"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before"`
}

func (p PageInput) page() account.Page { return account.Page{Limit: p.Limit, Cursor: p.Cursor} }

// IDInput is embedded in the input of operations on one thing.
type IDInput struct {
	ID int64 `path:"id" minimum:"1"`
}

// IfMatchInput is embedded in the input of changes.
type IfMatchInput struct {
	IfMatch string `header:"If-Match" doc:"The ETag that the change is based on; another current version answers 412" example:"\"3\""`
}

// version is nil if any will do. A tag that is none of ours matches no version.
func (i IfMatchInput) version() *int64 {
	tag := strings.TrimSpace(i.IfMatch)
	if tag == "" || tag == "*" {
		return nil
	}
	tag = strings.TrimPrefix(tag, "W/") // a proxy that compressed the answer made it weak
	version, err := strconv.ParseInt(strings.Trim(tag, `"`), 10, 64)
	if err != nil {
		version = -1
	}
	return &version
}

func etag(version int64) string { return fmt.Sprintf(`"%d"`, version) }

// orNull is null for the empty cursor of a last page.
func orNull(cursor string) *string {
	if cursor == "" {
		return nil
	}
	return &cursor
}
