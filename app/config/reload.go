package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// editorPause is how long a file must be left alone before it is read: editors and
// configuration managers write in several steps.
const editorPause = 50 * time.Millisecond

// Reloader applies changes of the configuration file while the server runs.
type Reloader struct {
	File    string
	Environ []string
	Seen    string  // the fingerprint of the file, taken before Started was read
	Started *Config // in effect for settings that need a restart
	Current *Config // in effect for the others
	Apply   func(ctx context.Context, old, now *Config) error
	State   *State // records each attempt; may be nil
	Log     *slog.Logger

	watched   string // the folder of templates that is watched; empty: none
	templates string // fingerprint of the templates that were seen last
}

// Run applies what changed since Started was read, and watches the file until ctx ends. If the file
// cannot be watched, Run logs that and the settings do not change.
func (r *Reloader) Run(ctx context.Context) error {
	w, err := fsnotify.NewWatcher()
	if err == nil {
		defer w.Close()
		err = w.Add(filepath.Dir(r.File)) // the directory, because a rename over the file would end a watch of the file
	}
	if err != nil {
		r.Log.Warn("configuration file not watched, changes need a restart", "file", r.File, "error", err)
		<-ctx.Done()
		return nil
	}
	r.watch(ctx, w)
	return nil
}

func (r *Reloader) watch(ctx context.Context, w *fsnotify.Watcher) {
	settled := time.NewTimer(editorPause)
	settled.Stop()
	look := func() {
		r.watchTemplates(ctx, w)
		now, templates := Fingerprint(r.File), fingerprintFolder(r.Current.Notifications.Templates)
		if now != r.Seen || templates != r.templates {
			r.Seen, r.templates = now, templates
			settled.Reset(editorPause)
		}
	}
	look()
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-w.Events: // of any file, because with symbolic links another name changes
			if !ok {
				return
			}
			look()
		case err := <-w.Errors:
			r.Log.Warn("watching the configuration file failed", "file", r.File, "error", err)
			look()
		case <-settled.C:
			r.reload(ctx)
			look() // the folder of templates may be another one
		}
	}
}

// Fingerprint returns a text that changes when the file, links followed, may have changed.
// Other files in its directory, such as a log or a database, do not change it.
func Fingerprint(file string) string {
	info, err := os.Stat(file)
	if err != nil {
		return "absent"
	}
	target, _ := filepath.EvalSymlinks(file)
	return fmt.Sprint(target, info.Size(), info.ModTime().UnixNano())
}

func (r *Reloader) watchTemplates(ctx context.Context, w *fsnotify.Watcher) {
	folder := r.Current.Notifications.Templates
	if folder == r.watched {
		return
	}
	if r.watched != "" && filepath.Clean(r.watched) != filepath.Dir(r.File) {
		_ = w.Remove(r.watched) // it may be gone
	}
	r.watched = folder
	if folder == "" {
		return
	}
	if err := w.Add(folder); err != nil {
		r.Log.WarnContext(ctx, "templates not watched, changes need a reload of the configuration", "folder", folder, "error", err)
	}
}

// fingerprintFolder returns a text that changes when a file of the folder may have changed; empty for
// no folder.
func fingerprintFolder(folder string) string {
	if folder == "" {
		return ""
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return "absent"
	}
	var all []string
	for _, f := range files {
		all = append(all, f.Name(), Fingerprint(filepath.Join(folder, f.Name())))
	}
	return fmt.Sprintf("%q", all)
}

func (r *Reloader) reload(ctx context.Context) {
	l, err := Load(r.File, r.Environ)
	if err != nil {
		r.State.Refuse(err)
		r.refuse(err)
		return
	}
	now := l.Config
	live, _ := Keys(Diff(r.Current, now))
	_, restart := Keys(Diff(r.Started, now))
	templates := fingerprintFolder(now.Notifications.Templates) // before Apply reads them
	if len(live)+len(restart) == 0 && now.Notifications.Templates == "" {
		r.State.Accept(r.File, l.Origins)
		r.Log.Info("configuration file reloaded, nothing changed", "file", r.File)
		return
	}
	if err := r.Apply(ctx, r.Current, now); err != nil {
		r.State.Refuse(err)
		r.Log.Error("applying the changed configuration failed, old settings stay in effect", "file", r.File, "error", err)
		return
	}
	r.State.Accept(r.File, l.Origins)
	r.Current, r.templates = now, templates
	if len(live)+len(restart) == 0 {
		r.Log.Info("configuration and mail templates reloaded", "file", r.File, "templates", now.Notifications.Templates)
	}
	if len(live) > 0 {
		r.Log.Info("configuration reloaded", "file", r.File, "keys", live)
	}
	if len(restart) > 0 {
		r.Log.Warn("changed settings take effect after a restart", "file", r.File, "keys", restart)
	}
}

func (r *Reloader) refuse(err error) {
	const refused = "the changed configuration is refused; the old settings stay in effect"
	e, ok := errors.AsType[*Error](err)
	if !ok {
		r.Log.Error(refused, "file", r.File, "error", err)
		return
	}
	for _, f := range e.Faults {
		r.Log.Error(refused, "file", f.Source, "line", f.Line, "column", f.Column, "error", f.String())
	}
}
