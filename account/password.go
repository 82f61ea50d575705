package account

import (
	"context"
	"fmt"
	"runtime"

	"github.com/alexedwards/argon2id"
)

// passwordParams follow OWASP's second recommendation for argon2id. One hash takes 19 MiB and
// about 40 ms of one core.
var passwordParams = &argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// decoyHash has the form and the cost of a real hash and matches no password. Comparing with it
// makes an unknown address take as long as a wrong password.
var decoyHash = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// hasher computes a few password hashes at a time. A burst of sign-ins queues instead of using all
// memory and cores.
type hasher struct{ queue *fairQueue }

func newHasher() *hasher { return &hasher{newFairQueue(max(1, runtime.GOMAXPROCS(0)/2))} }

// hash returns the PHC string of password, for a signed-in caller.
func (h *hasher) hash(ctx context.Context, password string) (hash string, err error) {
	err = h.do(ctx, origin{familiarity: knownDevice}, func() (err error) {
		hash, err = argon2id.CreateHash(foldPassword(password), passwordParams)
		return err
	})
	return hash, err
}

// matches compares in constant time. An empty hash takes as long as a real one and never matches.
func (h *hasher) matches(ctx context.Context, from origin, password, hash string) (ok bool, err error) {
	if len(password) > maxPasswordBytes {
		password = "" // cannot match, and must not cost more than others
	}
	known := hash != ""
	if !known {
		hash = decoyHash
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

// do runs f in turn. It returns a [*RateLimitError] if the queue is full.
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
