package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"punctual/app/config"
)

// If the outbox cannot be made, the program says so and does not start.
func TestNewApplication_outboxCannotBeMade(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("data", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Database.URL = "sqlite:" + filepath.Join(t.TempDir(), "p.db")
	if _, err := startWith(t, c); err == nil || !strings.Contains(err.Error(), "data") {
		t.Errorf("%v", err)
	}
}

// Nobody but the owner reads the database.
func TestNewApplication_databaseIsPrivate(t *testing.T) {
	t.Chdir(t.TempDir())
	file := filepath.Join(t.TempDir(), "p.db")
	if err := os.WriteFile(file, nil, 0o644); err != nil { // of an earlier version
		t.Fatal(err)
	}
	c := config.Default()
	c.Database.URL = "sqlite:" + file
	a, err := startWith(t, c)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	files, err := filepath.Glob(file + "*")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v %v", files, err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v %v", f, info.Mode(), err)
		}
	}
}

func TestProbes_metricsToken(t *testing.T) {
	_, s := startApplication(t, func(c *config.Config) { c.HTTP.MetricsToken = "scraper" })
	for header, want := range map[string]int{"": 401, "Bearer wrong": 401, "Bearer scraper": 200} {
		if a := send(t, s, "GET", "/metrics", "", "Authorization", header); a.status != want {
			t.Errorf("%q: %d, want %d", header, a.status, want)
		}
	}
}

// Without a token, a scrape counts as any request without sign-in.
func TestProbes_metricsRate(t *testing.T) {
	_, s := startApplication(t, func(c *config.Config) { c.Limits.AnonymousRate = config.Rate{Count: 2, Per: time.Hour} })
	for i, want := range []int{200, 200, 200, 200, 429} {
		if a := send(t, s, "GET", "/metrics", ""); a.status != want {
			t.Errorf("scrape %d: %d, want %d", i+1, a.status, want)
		}
	}
}

// A scrape costs more than other requests without sign-in, so fewer of them are answered.
func TestProbes_metricsFlood(t *testing.T) {
	_, s := startApplication(t, func(c *config.Config) { c.Limits.AnonymousRate = config.Rate{Count: 100_000, Per: time.Hour} })
	answered, begin := 0, time.Now()
	for range 60 {
		if send(t, s, "GET", "/metrics", "").status == 200 {
			answered++
		}
	}
	if most := 10 * (2 + int(time.Since(begin)/time.Second)); answered > most {
		t.Errorf("%d of 60 scrapes answered in %s, want at most %d", answered, time.Since(begin), most)
	}
}

func startWith(t *testing.T, c *config.Config) (*Application, error) {
	level := new(slog.LevelVar)
	return New(t.Context(), c, RoleAll, NewLogger(t.Output(), "text", level), level)
}
