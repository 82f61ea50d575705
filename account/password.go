package account

import (
	"context"
	"fmt"
	"runtime"

	"github.com/alexedwards/argon2id"
)

// passwordParams are OWASP's second recommendation for argon2id; one hash takes 19 MiB and
// about 40 ms of one core.
var passwordParams = &argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// nobodysHash has the form and the price of a real hash, and no password. Comparing with it
// makes an unknown address take as long as a wrong password.
const nobodysHash = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// hasher computes password hashes, a few at a time: a storm of sign-ins queues up instead of
// taking all memory and cores from what else the process does.
type hasher struct{ queue *fairQueue }

func newHasher() *hasher { return &hasher{newFairQueue(max(1, runtime.GOMAXPROCS(0)/2))} }

// hash makes a PHC string of password, for a caller who is signed in.
func (h *hasher) hash(ctx context.Context, password string) (hash string, err error) {
	err = h.do(ctx, origin{familiarity: knownDevice}, func() (err error) {
		hash, err = argon2id.CreateHash(foldPassword(password), passwordParams)
		return err
	})
	return hash, err
}

// matches compares in constant time. An empty hash is nobody's: it takes its time and does
// not match.
func (h *hasher) matches(ctx context.Context, from origin, password, hash string) (ok bool, err error) {
	if len(password) > maxPasswordBytes {
		password = "" // cannot match, and must not cost more than another
	}
	known := hash != ""
	if !known {
		hash = nobodysHash
	}
	err = h.do(ctx, from, func() (err error) {
		folded := foldPassword(password)
		ok, err = argon2id.ComparePasswordAndHash(folded, hash)
		if err == nil && !ok && folded != password { // hashed by a version that did not fold
			ok, err = argon2id.ComparePasswordAndHash(password, hash)
		}
		return err
	})
	return ok && known, err
}

// do runs f in turn. It returns a [*RateLimitError] if too many wait already.
func (h *hasher) do(ctx context.Context, from origin, f func() error) error {
	leave, err := h.queue.enter(ctx, from)
	if err != nil {
		return err
	}
	defer leave()
	if err := f(); err != nil {
		return fmt.Errorf("password hash: %w", err)
	}
	return nil
}
