package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// A secret whose key is misspelt, or that stands where none belongs, is shown nowhere.
func TestConfig_masksWhatMayBeASecret(t *testing.T) {
	for _, file := range []string{
		"email:\n  smtp:\n    pasword: hunter2-x\n",
		"email:\n  smtp: { host: mail.example.org, passwrd: hunter2-x }\n",
		"email: {smtp: {pw: 'hunter2-x', port: 587}}\n",
		"email:\n  smtp:\n    pasword: |\n      hunter2-x\n      hunter2-x\n    port: x\n",
		"email:\n  smtp:\n    pasword: >-\n      one hunter2-x\n",
		"email:\n  smtp:\n    pasword: \"one #hunter2-x #two\"\n",
		"email:\n  smtp:\n    # pasword: hunter2-x\n    hots: x\n",
		"email:\n  smtp:\n    hots: x # it was hunter2-x\n",
		"credentials:\n  - hunter2-x\n  - hunter2-x\nlog:\n  level: x\n",
		"email:\n  smtp:\n\tpasword: hunter2-x\n",
		"email:\n  smtp:\n    \"pass word\": hunter2-x\n    pwd : hunter2-x\n",
		"pasword: hunter2-x\nlog: [\n",
		"audit: { syslog: { url: \"tls://u:hunter2-x@host:99999\" } }\n",
		"http: { base_url: \"https://hunter2-x@host/path\" }\n",
		"auth: { oidc: { corp: { issuer: \"http://u:hunter2-x@host\", client_id: a } } }\n",
		"auth: { ldap: { staff: { url: \"ldap://u:hunter2-x@host/x\", base: x } } }\n",
		"http: { tls: { acme: { domains: [a.example.org], directory: \"http://hunter2-x@host\" } } }\n",
		"mailroom: { domain: rooms.example.org, listen: \"smtp://u:hunter2-x@host\" }\n",
		"http: { trusted_proxies: [\"http://u:hunter2-x@host\"] }\n",
	} {
		_, err := Parse("config.yaml", []byte(file), nil)
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("%q: %v", file, err)
			continue
		}
		if report := e.Report() + fmt.Sprint(e.Faults); strings.Contains(report, "hunter2") {
			t.Errorf("%q:\n%s", file, report)
		}
	}
	_, err := Parse("config.yaml", []byte("log:\n  level: loud\nhttp:\n  addr: \":8080\"\n"), nil)
	if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Report(), "level: loud") {
		t.Errorf("settings are not shown: %v", err)
	}
}

func TestConfig_faultsAreBounded(t *testing.T) {
	var unknown, secrets strings.Builder
	for i := range 8000 {
		fmt.Fprintf(&unknown, "key%d: value\n", i)
		fmt.Fprintf(&secrets, "password%d: %d\n", i, i)
	}
	for what, file := range map[string]string{
		"unknown keys": unknown.String(),
		"passwords":    secrets.String(),
		"a long line":  "log: { level: " + strings.Repeat("x", 200_000) + " }\n",
		"a list":       "http:\n  trusted_proxies: [" + strings.Repeat("x, ", 50_000) + "x]\n",
		"too long":     strings.Repeat("# comment\n", 50_000),
	} {
		_, err := Parse("config.yaml", []byte(file), nil)
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if n := len(e.Report()); len(e.Faults) > maxShownFaults || n > 256<<10 {
			t.Errorf("%s: %d faults, %d bytes", what, len(e.Faults), n)
		}
	}
}

func TestConfig_tabs(t *testing.T) {
	_, err := Parse("config.yaml", []byte("log:\n\tlevel: info\n"), nil)
	if err == nil || !strings.Contains(err.Error(), "must not be indented with tabs") || !strings.Contains(err.Error(), "config.yaml:2:") {
		t.Errorf("%v", err)
	}
}

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
