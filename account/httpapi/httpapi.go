// Package httpapi serves accounts over HTTP: sign-in, the user's own account, users, tokens, and
// the middleware that identifies callers. Handlers return the errors of package account; app maps
// them to problem responses.
package httpapi

import (
	"net"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/account/oidc"
)

// Options of the API. A zero field means the default given here.
type Options struct {
	ClientIP  func(huma.Context) string // the address that failed sign-ins count against; default: the peer of the connection
	Providers []*oidc.Provider          // that people may sign in with
}

type handlers struct {
	svc     *account.Service
	options Options
	base    string // prefix of Location headers
}

// Register adds the operations to api, which must use the middleware [Authenticate].
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
	h.registerPasswordReset(api)
	h.registerMe(api)
	h.registerSecondFactor(api)
	h.registerPasskeys(api)
	h.registerTokens(api)
	h.registerUsers(api)
	h.registerGroups(api)
	h.registerDelegates(api)
}

func peer(ctx huma.Context) string {
	host, _, err := net.SplitHostPort(ctx.RemoteAddr())
	if err != nil {
		return ctx.RemoteAddr()
	}
	return host
}

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

// PageInput is embedded in list inputs. It is exported because huma ignores unexported embedded
// structs.
type PageInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"Maximum number of items"`
	Cursor string `query:"cursor" doc:"The next_cursor of the previous page"`
}

func (p PageInput) page() account.Page { return account.Page{Limit: p.Limit, Cursor: p.Cursor} }

// IDInput is embedded in the input of operations on one resource.
type IDInput struct {
	ID int64 `path:"id" minimum:"1"`
}

// IfMatchInput is embedded in the input of changes.
type IfMatchInput struct {
	IfMatch string `header:"If-Match" doc:"ETag of the version to change; the request fails with 412 if the resource has changed since" example:"\"3\""`
}
