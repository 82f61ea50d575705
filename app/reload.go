package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/fsnotify/fsnotify"
)

// editorPause is how long a file must be left alone before it is read: editors and
// configuration managers write in several steps.
const editorPause = 50 * time.Millisecond

// reloader takes over changes of the configuration file while the server runs.
type reloader struct {
	file    string
	environ []string
	seen    string  // the fingerprint of the file, from before started was read
	started *Config // what holds for settings that need a restart
	current *Config // and for the others
	apply   func(ctx context.Context, old, now *Config) error
	state   *configState // is told of each attempt; may be nil
	log     *slog.Logger
}

// Run takes over what changed since started was read, and watches the file until ctx ends. A file
// that cannot be watched is logged, and the settings stay what they are.
func (r *reloader) Run(ctx context.Context) error {
	w, err := fsnotify.NewWatcher()
	if err == nil {
		defer w.Close()
		err = w.Add(filepath.Dir(r.file)) // the directory: a rename over the file would end a watch of it
	}
	if err != nil {
		r.log.Warn("the configuration file is not watched; changes need a restart", "file", r.file, "error", err)
		<-ctx.Done()
		return nil
	}
	r.watch(ctx, w)
	return nil
}

func (r *reloader) watch(ctx context.Context, w *fsnotify.Watcher) {
	settled := time.NewTimer(editorPause)
	settled.Stop()
	look := func() {
		if now := fingerprint(r.file); now != r.seen {
			r.seen = now
			settled.Reset(editorPause)
		}
	}
	look()
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-w.Events: // of any file: with symbolic links the name that changes is another one
			if !ok {
				return
			}
			look()
		case err := <-w.Errors:
			r.log.Warn("watching the configuration file failed", "file", r.file, "error", err)
			look()
		case <-settled.C:
			r.reload(ctx)
		}
	}
}

// fingerprint tells whether a file may have changed, links followed: a log or a database
// beside it may be written all the time.
func fingerprint(file string) string {
	info, err := os.Stat(file)
	if err != nil {
		return "absent"
	}
	target, _ := filepath.EvalSymlinks(file)
	return fmt.Sprint(target, info.Size(), info.ModTime().UnixNano())
}

// reload reads the file and applies what changed, or keeps the old settings.
func (r *reloader) reload(ctx context.Context) {
	l, err := loadConfig(r.file, r.environ)
	if err != nil {
		r.state.refuse(err)
		r.refuse(err)
		return
	}
	now := l.config
	live, _ := changes(r.current, now)
	_, restart := changes(r.started, now)
	if len(live)+len(restart) == 0 {
		r.state.accept(r.file, l.origins)
		r.log.Info("the configuration file was read again; nothing changed", "file", r.file)
		return
	}
	if err := r.apply(ctx, r.current, now); err != nil {
		r.state.refuse(err)
		r.log.Error("the changed configuration could not be applied; the old settings stay in force", "file", r.file, "error", err)
		return
	}
	r.state.accept(r.file, l.origins)
	r.current = now
	if len(live) > 0 {
		r.log.Info("the changed configuration is in force", "file", r.file, "keys", live)
	}
	if len(restart) > 0 {
		r.log.Warn("these settings differ from those in force until a restart", "file", r.file, "keys", restart)
	}
}

// refuse logs each fault with its line.
func (r *reloader) refuse(err error) {
	const refused = "the changed configuration is refused; the old settings stay in force"
	e, ok := isConfigError(err)
	if !ok {
		r.log.Error(refused, "file", r.file, "error", err)
		return
	}
	for _, f := range e.Faults {
		r.log.Error(refused, "file", f.Source, "line", f.Line, "column", f.Column, "error", f.String())
	}
}

// changes lists the keys in which two configurations differ: those a running server takes
// over, and those that need a restart. Values are left out, some are secret.
func changes(old, now *Config) (live, restart []string) {
	var walk func(path string, a, b reflect.Value, needsRestart bool)
	walk = func(path string, a, b reflect.Value, needsRestart bool) {
		_, isScalar := a.Addr().Interface().(scalar)
		if a.Kind() == reflect.Struct && !isScalar {
			for f := range a.Type().Fields() {
				walk(join(path, f.Tag.Get("yaml")), a.FieldByIndex(f.Index), b.FieldByIndex(f.Index), needsRestart || f.Tag.Get("restart") != "")
			}
			return
		}
		switch {
		case reflect.DeepEqual(a.Interface(), b.Interface()):
		case needsRestart:
			restart = append(restart, path)
		default:
			live = append(live, path)
		}
	}
	walk("", reflect.ValueOf(old).Elem(), reflect.ValueOf(now).Elem(), false)
	return live, restart
}
