package config

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"punctual/tests/testenv"

	"github.com/google/go-cmp/cmp"
)

// replace does what an editor does: it writes a new file and renames it over the old one.
func replace(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file+"~", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+"~", file); err != nil {
		t.Fatal(err)
	}
}

func startReloader(t *testing.T, file string) (*testenv.LogBuffer, <-chan *Config) {
	t.Helper()
	return startReloaderLater(t, file, func() {})
}

// startReloaderLater lets meanwhile run between the reading of the file and the watching.
func startReloaderLater(t *testing.T, file string, meanwhile func()) (*testenv.LogBuffer, <-chan *Config) {
	t.Helper()
	seen := Fingerprint(file)
	l, err := Load(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	log, applied := &testenv.LogBuffer{}, make(chan *Config, 10)
	r := &Reloader{
		File: file, Seen: seen, Started: l.Config, Current: l.Config, Log: slog.New(slog.NewTextHandler(log, nil)),
		Apply: func(_ context.Context, _, now *Config) error { applied <- now; return nil },
	}
	meanwhile()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = r.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return log, applied
}

func TestReloader(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	replace(t, file, "log: {level: info}\n")
	log, applied := startReloader(t, file)

	replace(t, file, "log: {level: debug}\n")
	if c := <-applied; c.Log.Level != "debug" {
		t.Errorf("applied level %s", c.Log.Level)
	}
	log.Await(t, "keys=[log.level]")

	replace(t, file, "log: {level: debug}\nbooking:\n  timezone: Nowhere\n")
	log.Await(t, "line=3 column=13")
	log.Await(t, "the old settings stay in effect")

	replace(t, file, "log: {level: debug}\nqueue: {prefix: other}\n")
	<-applied
	log.Await(t, `msg="changed settings take effect after a restart"`)
	log.Await(t, "keys=[queue.prefix]")

	if err := os.WriteFile(file, []byte("log: {level: warn}\n"), 0o600); err != nil { // in place
		t.Fatal(err)
	}
	c := <-applied
	for c.Log.Level == "info" { // on a slow machine the file is read while it is empty, too
		c = <-applied
	}
	if c.Log.Level != "warn" || c.Queue.Prefix != "punctual" {
		t.Errorf("applied %+v", c)
	}
}

// The database is migrated between the reading of the file and the watching.
func TestReloader_aFileThatChangesWhileTheServerStarts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	replace(t, file, "")
	_, applied := startReloaderLater(t, file, func() { replace(t, file, "log: {level: debug}\n") })
	select {
	case c := <-applied:
		if c.Log.Level != "debug" {
			t.Errorf("applied %+v", c.Log)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the change was missed")
	}
}

func TestReloader_aBusyNeighbourKeepsNobodyWaiting(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	replace(t, file, "")
	_, applied := startReloader(t, file)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { // a log in the same folder
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(editorPause / 10):
				_ = os.WriteFile(file+".log", []byte("line"), 0o600)
			}
		}
	}()
	defer func() { close(stop); <-done }()
	replace(t, file, "log: {level: warn}\n")
	select {
	case <-applied:
	case <-time.After(2 * time.Minute):
		t.Error("not applied")
	}
}

func TestReloader_aFileThatIsWrittenSlowlyIsReadOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	replace(t, file, "")
	_, applied := startReloader(t, file)
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	begun := time.Now()
	for _, part := range []string{"log:", " {level:", " warn}\n"} {
		if _, err := f.WriteString(part); err != nil {
			t.Fatal(err)
		}
		time.Sleep(editorPause / 5)
	}
	stalled := time.Since(begun) >= editorPause // then it may have been read before its end
	c := <-applied
	for stalled && c.Log.Level != "warn" {
		c = <-applied
	}
	if c.Log.Level != "warn" {
		t.Errorf("applied %+v", c.Log)
	}
	time.Sleep(3 * editorPause)
	if len(applied) > 0 {
		t.Error("applied twice")
	}
}

func TestChanges(t *testing.T) {
	old, now := Default(), Default()
	now.HTTP.Addr, now.Booking.HoldPending, now.Auth.LoginRate.Count, now.Queue.Jobs = ":1", false, 3, map[string]Job{"notify.sms": {Batch: 1}}
	live, restart := Keys(Diff(old, now))
	if d := cmp.Diff([]string{"booking.hold_pending", "auth.login_rate"}, live); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"http.addr", "queue.jobs"}, restart); d != "" {
		t.Error(d)
	}
}

func TestReloader_templates(t *testing.T) {
	dir, folder := t.TempDir(), t.TempDir()
	file, template := filepath.Join(dir, "c.yaml"), filepath.Join(folder, "change.en.txt")
	replace(t, file, "log: {level: info}\n")
	log, applied := startReloader(t, file)

	replace(t, file, "notifications: {templates: "+folder+"}\n")
	if c := <-applied; c.Notifications.Templates != folder {
		t.Errorf("applied folder %q", c.Notifications.Templates)
	}
	log.Await(t, "keys=[notifications.templates]")

	write := func(content string) { // at once: an empty template has no fault
		t.Helper()
		whole := filepath.Join(t.TempDir(), "new")
		replace(t, whole, content)
		if err := os.Rename(whole, template); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n{{.Titel}}")
	log.Await(t, "file="+template+" line=2 column=3")
	select {
	case <-applied:
		t.Error("applied a faulty template")
	default:
	}

	write("{{.Title}}")
	<-applied
	log.Await(t, "configuration and mail templates reloaded")
}

// Content that a client sends to Parse must not show what is in the folders of the server.
func TestParse_readsNoTemplates(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "secret.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	content := []byte("notifications: {templates: " + folder + "}\n")
	if _, err := Parse("c.yaml", content, nil); err != nil {
		t.Errorf("Parse: %v", err)
	}
	file := filepath.Join(t.TempDir(), "c.yaml")
	replace(t, file, string(content))
	if _, err := Load(file, nil); err == nil {
		t.Error("Load accepted a faulty template")
	}
}
