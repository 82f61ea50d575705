// Package tests drives the built program from outside, on real servers, and checks what holds
// of the whole source.
package tests

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

type rule struct {
	pattern      string
	ours, others []string
}

// rules tell which packages of punctual a package may import (ours), and which modules
// besides the standard library (others). The first rule whose pattern matches counts. In
// ours "*" is everything and ".." the parent; others name modules or parts of their path.
var rules = []rule{
	{"punctual", []string{"app/cli"}, nil},
	{"app/cli", []string{"..", "account", "account/fault", "account/table", "app/audit", "app/config", "app/database", "app/doctor", "app/leaving", "delayjob", "delayjob/admin", "delayjob/gormstore", "delayjob/httpapi", "delayjob/pause", "meeting", "meeting/booking", "meeting/clock", "meeting/httpapi", "meeting/importing", "meeting/importing/librebooking", "meeting/importing/moving", "meeting/importing/mrbs", "meeting/importing/sqldump", "meeting/itip", "meeting/mailroom", "meeting/places", "meeting/series", "meeting/zones", "migrations", "notify", "notify/email", "notify/render"}, []string{"spf13/cobra", "golang.org/x/term"}},
	{"app/config", []string{"account", "account/fault", "account/ldap", "delayjob", "delayjob/redisqueue", "delayjob/topics", "meeting", "meeting/mailroom", "meeting/mailroom/lmtp", "meeting/policy", "meeting/scheduling", "notify", "notify/bounce", "notify/render", "notify/sms", "app/syslog"}, []string{"goccy/go-yaml", "fsnotify/fsnotify", "golang.org/x/net/publicsuffix", "robfig/cron"}},
	{"app/idempotency", []string{"account", "app/database/receipt", "app/problem", "delayjob/failpoint", "delayjob/pause"}, []string{"danielgtaylor/huma", "gin-gonic/gin", "gorm.io/gorm"}},
	{"app/problem", []string{"account", "account/fault", "app/database", "delayjob", "delayjob/admin", "delayjob/topics", "meeting", "meeting/events", "meeting/mailroom", "notify", "notify/webhook"}, []string{"danielgtaylor/huma", "gin-gonic/gin"}},
	{"app/database/receipt", nil, []string{"gorm.io/"}},
	{"app/database/sqlfile", nil, []string{"gorm.io/"}},
	{"app/database/transaction", nil, []string{"gorm.io/"}},
	{"app/database/fold", nil, []string{"golang.org/x/text"}},
	{"app/database", []string{"app/database/fold", "app/database/receipt", "app/database/transaction", "migrations"}, []string{"gorm.io/", "jackc/pgx", "klauspost/compress", "modernc.org/sqlite"}},
	{"app/syslog", nil, nil},
	{"app/traces", []string{"delayjob"}, []string{"gin-gonic/gin", "go.opentelemetry.io/", "gorm.io/gorm"}},
	{"app/doctor", []string{"app/config", "app/database", "delayjob/redisqueue", "migrations", "notify/email"}, []string{"redis/go-redis", "wneessen/go-mail"}},
	{"app/audit", []string{"account", "app/database/receipt", "app/database/sqlfile", "meeting"}, []string{"gorm.io/"}},
	{"app/leaving", []string{"account", "account/fault", "account/gormstore", "account/rest", "app/audit", "delayjob", "delayjob/pause", "meeting", "meeting/booking", "meeting/series", "meeting/waitlist", "notify"}, []string{"danielgtaylor/huma", "gorm.io/"}},
	{"app", []string{"*"}, []string{"*"}},
	{"tests/testenv", nil, []string{"*"}},
	{"tests/testenv/testdb", []string{"app/database", "migrations", "tests/testenv"}, nil},
	{"tests", nil, nil},
	{"tests/*", []string{"*"}, []string{"*"}},

	// The engine is a library that knows no meetings. Its failpoint is nothing in the program
	// that people run, so who may use delayjob may use it, and so may the stores.
	{"delayjob/failpoint", nil, nil},
	{"delayjob/gather", nil, nil},
	{"delayjob/pause", nil, nil},
	{"delayjob", []string{"delayjob/failpoint"}, []string{"robfig/cron"}},
	{"delayjob/memqueue", []string{".."}, nil},
	{"delayjob/redisqueue", []string{".."}, []string{"redis/go-redis"}},
	{"delayjob/queuetest", []string{".."}, []string{"google/go-cmp", "pgregory.net/rapid"}},
	{"delayjob/admin", []string{".."}, nil},
	{"delayjob/lateness", nil, nil},
	{"delayjob/gormstore", []string{"..", "app/database/sqlfile", "delayjob/admin", "delayjob/lateness", "delayjob/pause", "delayjob/topics"}, []string{"gorm.io/"}},
	{"delayjob/httpapi", []string{"..", "delayjob/admin", "delayjob/lateness", "account", "account/fault", "account/rest"}, []string{"danielgtaylor/huma"}},
	{"delayjob/webhook", nil, nil},
	{"delayjob/topics", []string{"..", "account/fault", "delayjob/gather", "delayjob/pause", "delayjob/webhook"}, nil},
	{"delayjob/topics/httpapi", []string{"..", "account", "account/fault", "account/rest"}, []string{"danielgtaylor/huma"}},

	{"migrations", nil, []string{"pressly/goose"}},
	{"web", nil, nil},
	{"account/rest", nil, nil},
	{"account/signing", nil, nil},
	{"account/fault", nil, []string{"golang.org/x/text", "nyaruka/phonenumbers"}},
	{"account/table", nil, nil},
	{"account/oidc", []string{".."}, []string{"coreos/go-oidc", "golang.org/x/oauth2"}},
	{"account/ldap", []string{".."}, []string{"go-ldap/ldap"}},
	{"account/scim", []string{"..", "account/fault"}, []string{"scim2/filter-parser"}},
	{"account/webauthn", []string{".."}, []string{"go-webauthn/webauthn", "google/uuid"}},
	{"account/httpapi", []string{"..", "account/fault", "account/oidc", "account/rest"}, []string{"gin-gonic/gin", "danielgtaylor/huma"}},
	{"account", []string{"account/fault", "account/signing"}, []string{"golang.org/x/text", "alexedwards/argon2id", "golang.org/x/crypto", "golang.org/x/time", "pquerna/otp"}},
	{"account/redislimit", []string{".."}, []string{"go-redis/redis_rate", "redis/go-redis"}},
	{"notify", []string{"account/fault", "delayjob", "delayjob/failpoint", "delayjob/gather", "meeting", "meeting/clock"}, nil},
	{"notify/gormstore", []string{"..", "notify/chat", "app/database/sqlfile", "delayjob"}, []string{"gorm.io/"}},
	{"notify/httpapi", []string{"..", "notify/chat", "notify/outbox", "account", "account/fault", "account/rest"}, []string{"danielgtaylor/huma"}},
	{"notify/email", []string{"..", "notify/outbox", "notify/render"}, []string{"wneessen/go-mail"}},
	{"notify/sms", []string{"..", "account/fault", "notify/outbox", "notify/render"}, []string{"golang.org/x/net/http/httpguts", "nyaruka/phonenumbers"}},
	{"notify/chat", []string{"..", "notify/render", "account/fault", "delayjob/webhook"}, nil},
	{"notify/render", []string{"..", "account/fault"}, []string{"arran4/golang-ical", "golang.org/x/text/language"}},
	{"notify/outbox", nil, nil},
	{"notify/bounce", nil, nil},
	{"notify/webhook", []string{"delayjob", "delayjob/gather", "delayjob/webhook", "account/fault"}, nil},
	{"notify/webhook/gormstore", []string{"..", "app/database/sqlfile", "delayjob"}, []string{"gorm.io/"}},
	{"notify/webhook/httpapi", []string{"..", "account/fault", "account/rest"}, []string{"danielgtaylor/huma"}},
	{"meeting/clock", []string{"account/fault"}, nil},
	{"meeting/recurrence", []string{"account/fault", "meeting/clock"}, []string{"teambition/rrule-go"}},
	{"meeting/policy", []string{"account/fault", "meeting/clock"}, nil},
	{"meeting/svg", []string{"account/fault"}, nil},
	{"meeting/photo", []string{"account/fault", "meeting/svg"}, []string{"golang.org/x/image"}},
	{"meeting", []string{"delayjob", "account/fault", "meeting/clock", "meeting/policy", "meeting/recurrence"}, nil},
	{"meeting/booking", []string{"..", "delayjob", "account/fault", "meeting/clock", "meeting/policy"}, nil},
	{"meeting/approval", []string{"..", "account/fault", "meeting/booking", "meeting/clock"}, nil},
	{"meeting/series", []string{"..", "account/fault", "meeting/booking", "meeting/clock", "meeting/policy", "meeting/recurrence"}, nil},
	{"meeting/waitlist", []string{"..", "account/fault", "meeting/booking", "meeting/clock", "meeting/policy"}, nil},
	{"meeting/door", []string{"..", "account/fault", "meeting/booking", "meeting/clock", "meeting/policy"}, nil},
	{"meeting/zones", []string{"..", "account/fault", "meeting/booking", "meeting/clock", "meeting/series"}, nil},
	{"meeting/places", []string{"..", "account/fault", "account/table", "delayjob/pause", "meeting/booking", "meeting/clock", "meeting/photo", "meeting/policy"}, nil},
	{"meeting/public", []string{"..", "account/fault", "meeting/booking", "meeting/clock"}, nil},
	{"meeting/branding", []string{"..", "account/fault", "meeting/booking", "meeting/clock", "meeting/photo"}, nil},
	{"meeting/jobs", []string{"..", "meeting/approval", "meeting/booking", "meeting/clock", "meeting/waitlist", "notify", "delayjob", "delayjob/failpoint"}, nil},
	{"meeting/events", []string{".."}, nil},
	{"meeting/finding", []string{"..", "meeting/clock", "meeting/policy", "account/fault"}, nil},
	{"meeting/report", []string{"..", "delayjob/pause", "meeting/clock", "meeting/policy", "account/fault"}, nil},
	{"meeting/forecast", []string{"..", "meeting/policy", "account/fault"}, nil},
	{"meeting/feed", []string{"..", "meeting/clock"}, nil},
	{"meeting/importing", []string{"..", "account/fault", "delayjob/pause", "meeting/booking", "meeting/clock", "meeting/itip", "meeting/recurrence", "meeting/series"}, []string{"golang.org/x/sync"}},
	{"meeting/importing/sqldump", nil, []string{"go-sql-driver/mysql", "jackc/pgx"}},
	{"meeting/importing/moving", []string{"..", "account/fault", "account/table", "delayjob/pause", "meeting", "meeting/approval", "meeting/booking", "meeting/clock", "meeting/places", "meeting/policy", "meeting/recurrence", "meeting/series"}, nil},
	{"meeting/importing/mrbs", []string{"account/fault", "meeting", "meeting/clock", "meeting/importing/moving", "meeting/importing/sqldump", "meeting/policy"}, nil},
	{"meeting/importing/librebooking", []string{"account/fault", "meeting", "meeting/clock", "meeting/importing/moving", "meeting/importing/sqldump", "meeting/policy"}, nil},
	{"meeting/scheduling", []string{"..", "account/fault", "delayjob", "meeting/booking", "meeting/clock", "meeting/finding", "meeting/importing", "meeting/itip", "meeting/recurrence", "meeting/series"}, nil},
	{"meeting/caldav", []string{"..", "account/fault", "meeting/booking", "meeting/clock", "meeting/finding", "meeting/importing", "meeting/itip", "meeting/recurrence", "meeting/series"}, nil},
	{"meeting/itip", []string{"account/fault", "meeting/clock", "meeting/recurrence"}, nil},
	{"meeting/mailroom", []string{"account/fault", "delayjob", "meeting/itip"}, []string{"emersion/go-message", "emersion/go-msgauth", "golang.org/x/net", "golang.org/x/text"}},
	{"meeting/mailroom/lmtp", []string{".."}, []string{"emersion/go-smtp", "golang.org/x/net"}},
	{"meeting/mailroom/imap", []string{".."}, []string{"emersion/go-imap"}},
	{"meeting/mailroom/gormstore", []string{"..", "app/database/sqlfile", "delayjob"}, []string{"gorm.io/"}},
	{"meeting/mailroom/httpapi", []string{"..", "account/fault", "account/rest"}, []string{"danielgtaylor/huma"}},
	{"meeting/linkpages", []string{"..", "meeting/approval", "meeting/booking", "meeting/clock", "meeting/waitlist", "account", "account/fault", "account/signing"}, []string{"gin-gonic/gin"}},
	{"meeting/publicpages", []string{"..", "meeting/clock", "meeting/public", "account", "account/fault"}, []string{"gin-gonic/gin"}},
	{"meeting/gormstore", []string{"..", "app/database/fold", "app/database/receipt", "app/database/sqlfile", "app/database/transaction", "meeting/booking", "meeting/caldav", "meeting/clock", "meeting/events", "meeting/finding", "meeting/importing", "meeting/photo", "meeting/policy", "meeting/recurrence", "meeting/report", "meeting/scheduling", "delayjob/failpoint", "account/fault"}, []string{"golang.org/x/sync", "gorm.io/", "jackc/pgx", "modernc.org/sqlite"}},
	{"meeting/httpapi", []string{"..", "delayjob/pause", "meeting/approval", "meeting/booking", "meeting/branding", "meeting/clock", "meeting/door", "meeting/events", "meeting/feed", "meeting/finding", "meeting/importing", "meeting/itip", "meeting/linkpages", "meeting/places", "meeting/policy", "meeting/public", "meeting/recurrence", "meeting/report", "meeting/series", "meeting/waitlist", "account", "account/fault", "account/rest"}, []string{"gin-gonic/gin", "danielgtaylor/huma"}},

	{"*/gormstore", []string{"..", "account/fault", "app/database/sqlfile"}, []string{"gorm.io/", "jackc/pgx", "modernc.org/sqlite"}},
	{"*/httpapi", []string{"..", "account", "account/fault", "account/rest"}, []string{"gin-gonic/gin", "danielgtaylor/huma"}},
}

// TestImports keeps the table of who imports whom: so that the compiler, not discipline,
// keeps SQL and HTTP out of the rules. Tests may import what they like.
func TestImports(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, p := range listPackages(t, "punctual/...") {
		name := strings.TrimPrefix(p.ImportPath, "punctual/")
		i := slices.IndexFunc(rules, func(r rule) bool { ok, _ := path.Match(r.pattern, name); return ok })
		if i < 0 {
			t.Errorf("package %s: no rule says what it may import; add one to tests/imports_test.go", name)
			continue
		}
		seen++
		for _, imported := range p.Imports {
			switch inner, ours := strings.CutPrefix(imported, "punctual/"); {
			case ours && !mayImport(rules[i], name, inner):
				t.Errorf("package %s imports %s; of punctual it may import %s", name, inner, listed(rules[i].ours))
			case !ours && isModule(imported) && !mayDepend(rules[i], imported):
				t.Errorf("package %s imports %s; besides the standard library it may import %s", name, imported, listed(rules[i].others))
			}
		}
	}
	if seen == 0 {
		t.Error("no package was looked at")
	}
}

func mayImport(r rule, importer, imported string) bool {
	return slices.ContainsFunc(r.ours, func(allowed string) bool {
		return allowed == "*" || allowed == imported || allowed == ".." && imported == path.Dir(importer)
	})
}

func mayDepend(r rule, imported string) bool {
	return slices.ContainsFunc(r.others, func(allowed string) bool { return allowed == "*" || strings.Contains(imported, allowed) })
}

// isModule reports whether an import path is outside the standard library.
func isModule(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return strings.Contains(first, ".")
}

func listed(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

func listPackages(t *testing.T, pattern string) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", pattern)
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var packages []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages = append(packages, p)
	}
}
