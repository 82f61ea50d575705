package app

import "testing"

func TestMaskPassword(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"memory:":                                         "memory:",
		"sqlite:data/punctual.db":                         "sqlite:data/punctual.db",
		"sqlite:x.db?_auth_pass=s3@cret":                  "sqlite:x.db?_auth_pass=***",
		"postgres://punctual:s3cret@db:5432/punctual":     "postgres://punctual:***@db:5432/punctual",
		"postgres://p:s3@cr/e?t:@db/punctual?sslmode=off": "postgres://p:***@db/punctual?sslmode=off",
		"postgres://db/punctual?user=p&password=s3cret":   "postgres://db/punctual?user=p&password=***",
		"postgres://db/punctual?p%61ssword=s3cret":        "postgres://db/punctual?p%61ssword=***",
		"postgres://db/punctual?password=s3@cret":         "postgres://***",
		"redis://:s3cret@cache:6379/0":                    "redis://:***@cache:6379/0",
		"redis://s3cret@cache":                            "redis://***@cache",
		"redis+sentinel://u:s3cret@h1:1,h2:2/main":        "redis+sentinel://u:***@h1:1,h2:2/main",
	} {
		if got := maskPassword(address); got != want {
			t.Errorf("%s is shown as %s, not %s", address, got, want)
		}
	}
}
