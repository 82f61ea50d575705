package email

import "context"

// Check connects to the mail server, starts TLS and signs in as a [Sender] does, and sends nothing.
func Check(ctx context.Context, c SMTP) error {
	p, err := newPool(c)
	if err != nil {
		return err
	}
	conn, err := p.dial(ctx)
	if err != nil {
		return err
	}
	p.end(conn)
	return p.Close()
}
