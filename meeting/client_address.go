package meeting

import "context"

type clientKey struct{}

// WithClient returns a context of a request that came from this address: history notes it with
// what the request changes.
func WithClient(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, clientKey{}, address)
}

// Client is the address from which the request of a context came; empty: it is unknown, or
// nobody asked.
func Client(ctx context.Context) string {
	address, _ := ctx.Value(clientKey{}).(string)
	return address
}
