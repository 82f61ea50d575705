package topics

import (
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
)

// limit is a middleware that lets each token make only so many requests; who is asking is
// known by then.
func limit(api huma.API, l account.Limiter) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		p, ok := account.FromContext(ctx.Context())
		if !ok { // it is refused by the operation
			next(ctx)
			return
		}
		if ok, after := l.Allow(ctx.Context(), "token:"+strconv.FormatInt(p.TokenID, 10)); !ok {
			_ = huma.WriteErr(api, ctx, http.StatusTooManyRequests, "", &account.RateLimitError{RetryAfter: after}) // it has said so if the caller is gone
			return
		}
		next(ctx)
	}
}
