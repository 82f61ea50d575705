package account

import (
	"strings"
	"testing"

	"github.com/alexedwards/argon2id"
)

// Hashing as in production would take most of the time of this package's tests, ten times more under the race detector.
var productionParams, productionDecoy = passwordParams, decoyHash

func init() {
	passwordParams = &argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}
	decoyHash = strings.Replace(productionDecoy, "m=19456,t=2", "m=64,t=1", 1)
}

func TestHasher(t *testing.T) {
	t.Parallel()
	h := newHasher()
	hash, err := h.hash(t.Context(), "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=64,t=1,p=1$") {
		t.Errorf("hash %s", hash)
	}
	tests := []struct {
		name, password, hash string
		want                 bool
	}{
		{"right", "correct horse", hash, true},
		{"wrong", "correct horsE", hash, false},
		{"empty", "", hash, false},
		{"nobody's", "correct horse", "", false},
		{"nobody's, the empty password", "", "", false},
		{"too long", strings.Repeat("x", 1<<20), hash, false},
	}
	for _, tt := range tests {
		got, err := h.matches(t.Context(), origin{}, tt.password, tt.hash)
		if err != nil || got != tt.want {
			t.Errorf("%s: %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
	if _, err := h.matches(t.Context(), origin{}, "x", "plain text"); err == nil {
		t.Error("what is no hash was compared without an error")
	}
}

// An unknown address costs what a wrong password does.
func TestDecoyHash(t *testing.T) {
	t.Parallel()
	got, _, key, err := argon2id.DecodeHash(productionDecoy)
	if err != nil {
		t.Fatal(err)
	}
	if *got != *productionParams || len(key) != int(productionParams.KeyLength) {
		t.Errorf("params %+v, want %+v", *got, *productionParams)
	}
	if *productionParams != (argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}) {
		t.Errorf("params %+v are not OWASP's second recommendation", *productionParams)
	}
}
