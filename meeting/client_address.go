package meeting

import (
	"context"
)

type clientKey struct{}

// WithClient returns a context with the address of a request's client, which is recorded in
// history.
func WithClient(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, clientKey{}, address)
}

// Client returns the client address of a context; empty: unknown.
func Client(ctx context.Context) string {
	address, _ := ctx.Value(clientKey{}).(string)
	return address
}
