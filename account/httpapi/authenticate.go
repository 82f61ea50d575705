package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
)

// Authenticate returns a middleware that identifies the caller, by the header "Authorization:
// Bearer" or else by the session cookie, and checks that they may call the operation (see
// [account.Authorize]). Handlers find the caller in their context. It answers 401 or 403 itself.
// For public operations it ignores credentials: a caller with an expired session can still sign
// in.
func Authenticate(api huma.API, svc *account.Service) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		op := ctx.Operation().OperationID
		if account.Public(op) {
			next(ctx)
			return
		}
		secret := Secret(ctx, svc)
		authenticate := func(ctx context.Context) (*account.Principal, error) {
			p, err := svc.Authenticate(ctx, secret)
			if err == nil {
				err = account.Authorize(p, op)
			}
			return p, err
		}
		p, err := authenticate(ctx.Context())
		if err != nil {
			writeError(api, ctx, err)
			return
		}
		known := context.WithValue(account.WithPrincipal(ctx.Context(), p), authenticatedKey{}, time.Now())
		known = account.WithRecheck(known, func(ctx context.Context) error {
			_, err := authenticate(ctx)
			return err
		})
		next(huma.WithContext(ctx, known))
	}
}

// promptBody is how long a body may take to arrive before its sender is authenticated again.
const promptBody = 100 * time.Millisecond

// Reauthenticate returns a middleware that runs after the body has arrived. A caller that sent it
// slowly may have lost rights meanwhile. Transactions recheck rights themselves; this covers
// operations without one.
func Reauthenticate(api huma.API, svc *account.Service) func(huma.Context, func(huma.Context)) {
	authenticate := Authenticate(api, svc)
	return func(ctx huma.Context, next func(huma.Context)) {
		if at, ok := ctx.Context().Value(authenticatedKey{}).(time.Time); ok && time.Since(at) > promptBody {
			authenticate(ctx, next)
			return
		}
		next(ctx)
	}
}

type authenticatedKey struct{}

// Secret returns the credential of a request, or "". With an Authorization header it ignores the
// cookie: the protection against cross-site requests relies on the fact that a tricked browser
// never sends that header. If cookies hold different sessions, a subdomain may have set one, so it
// ignores them all.
func Secret(ctx huma.Context, svc *account.Service) string {
	if header := ctx.Header("Authorization"); header != "" {
		scheme, value, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return ""
		}
		return strings.TrimSpace(value)
	}
	secret := ""
	for _, value := range cookies(ctx, account.SessionCookie(svc.Secure())) {
		switch {
		case !account.IsSecret(value), value == secret:
		case secret != "":
			return ""
		default:
			secret = value
		}
	}
	return secret
}

func cookies(ctx huma.Context, name string) (values []string) {
	header := http.Header{}
	ctx.EachHeader(func(key, value string) {
		if strings.EqualFold(key, "Cookie") {
			header.Add("Cookie", value)
		}
	})
	for _, c := range (&http.Request{Header: header}).CookiesNamed(name) {
		values = append(values, c.Value)
	}
	return values
}

func writeError(api huma.API, ctx huma.Context, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, account.ErrUnauthorized):
		status = http.StatusUnauthorized
		ctx.SetHeader("WWW-Authenticate", `Bearer realm="punctual"`)
	case errors.Is(err, account.ErrForbidden):
		status = http.StatusForbidden
	}
	_ = huma.WriteErr(api, ctx, status, "", err) // fails only if the caller is gone
}

// MustCover panics if api has an operation that is not in the table of package account, because
// nobody could call it.
func MustCover(api huma.API) {
	known := map[string]bool{}
	for op := range account.Operations() {
		known[op] = true
	}
	for path, item := range api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Delete, item.Options, item.Head, item.Patch, item.Trace} {
			if op != nil && !known[op.OperationID] {
				panic(fmt.Sprintf("%s %s: operation %q is not in the table of package account", op.Method, path, op.OperationID))
			}
		}
	}
}

func caller(ctx context.Context) *account.Principal {
	p, ok := account.FromContext(ctx)
	if !ok {
		panic("account/httpapi: the middleware Authenticate is missing")
	}
	return p
}
