package httpapi

import (
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
)

// limit is a middleware that limits the requests of each token. It runs after the authentication.
func limit(api huma.API, l account.Limiter) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		p, ok := account.FromContext(ctx.Context())
		if !ok { // it is refused by the operation
			next(ctx)
			return
		}
		if ok, after := l.Allow(ctx.Context(), "token:"+strconv.FormatInt(p.TokenID, 10)); !ok {
			_ = huma.WriteErr(api, ctx, http.StatusTooManyRequests, "", &account.RateLimitError{RetryAfter: after}) // fails only if the caller is gone
			return
		}
		next(ctx)
	}
}
