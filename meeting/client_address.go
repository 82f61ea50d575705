package meeting

import (
	"context"
)

type uninvitedKey struct{}

// WithoutCaller returns a context for changes that the caller of a request did not ask for, such as
// what an overdue timer should have done. Their history does not have the address of the client.
func WithoutCaller(ctx context.Context) context.Context {
	return context.WithValue(WithClient(ctx, ""), uninvitedKey{}, true)
}

// HasCaller reports whether changes with this context are those that a request asks for, if there
// is a request.
func HasCaller(ctx context.Context) bool { return ctx.Value(uninvitedKey{}) == nil }

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
