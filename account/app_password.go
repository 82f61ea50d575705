package account

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"

	"punctual/account/fault"
)

// AppPassword returns the user whose address and app password a calendar program sent. An app
// password is a token with the scope [CalDAV]; neither the password of the account nor another
// token is accepted. For anything wrong it returns the same [ErrUnauthorized]. Failures are limited
// as those of sign-ins are, with counts of their own: a phone with an old app password must not
// lock its user out. After too many it returns a [*RateLimitError], except for a correct one: 256
// random bits cannot be guessed.
func (s *Service) AppPassword(ctx context.Context, email, password, ip string) (*Principal, error) {
	email = fault.FoldEmail(email)
	p, err := s.Authenticate(ctx, password)
	if err == nil {
		right := subtle.ConstantTimeCompare([]byte(email), []byte(fault.FoldEmail(p.Email))) == 1
		if right && p.isAppPassword() {
			return p, nil
		}
		err = ErrUnauthorized
	}
	if !errors.Is(err, ErrUnauthorized) {
		return nil, fmt.Errorf("check app password: %w", err)
	}
	networks := Networks(ip)
	charges := []charge{{s.limiter, limitKey("caldav", email+"\x00"+networks[len(networks)-1])}}
	for _, n := range networks {
		charges = append(charges, charge{s.wide, limitKey("caldav-ip", n)})
	}
	return nil, s.attempts.limited(ctx, charges, func() error { return fmt.Errorf("check app password: %w", err) })
}
