package app

import (
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"punctual/app/config"
	"punctual/migrations"
	"punctual/tests/testenv/testdb"
)

// Each setting of the form x.keep is applied.
func TestRetentions_useEachSetting(t *testing.T) {
	a, _ := startApplication(t, nil)
	used := map[time.Duration]bool{}
	marked := config.Default()
	settings := 0
	var mark func(v reflect.Value)
	mark = func(v reflect.Value) {
		for i := range v.NumField() {
			switch f := v.Field(i); {
			case f.Kind() == reflect.Struct:
				mark(f)
			case strings.HasSuffix(v.Type().Field(i).Name, "Keep"):
				settings++
				f.SetInt(int64(settings))
			}
		}
	}
	mark(reflect.ValueOf(marked).Elem())
	for _, r := range a.retentions() {
		used[r.keep(marked)] = true
	}
	delete(used, 0) // what says itself when it expires
	if len(used) != settings || settings < 7 {
		t.Errorf("%d of %d settings are used", len(used), settings)
	}
}

// Each kind of data can be deleted and measured, on both databases.
func TestRetain(t *testing.T) {
	for _, dialect := range []migrations.Dialect{migrations.Postgres, migrations.SQLite} {
		url := testdb.URL(t, dialect)
		a, s := startApplication(t, func(c *config.Config) { c.Database.URL = url })
		signIn(t, a, s) // is in the audit log
		for _, r := range a.retentions() {
			if err := a.trim(t.Context(), r); err != nil {
				t.Errorf("%s: %v", r.what, err)
			}
			if r.oldest == nil {
				continue
			}
			shown := httptest.NewRecorder()
			a.metrics.handler().ServeHTTP(shown, httptest.NewRequest("GET", "/metrics", nil))
			line := `punctual_oldest_timestamp_seconds{what="` + r.what + `"} `
			if _, at, ok := strings.Cut(shown.Body.String(), line); !ok || strings.HasPrefix(at, "0\n") == (r.what == "audit") {
				t.Errorf("%s, %s: %t, %.20s", dialect, r.what, ok, at)
			}
		}
	}
}
