package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"punctual/app/config"
)

// Role is the part of the work that a process does.
type Role string

const (
	RoleAll    Role = "all"
	RoleAPI    Role = "api"    // answers HTTP
	RoleWorker Role = "worker" // runs loader and consumer; serves only probes and metrics over HTTP
)

func (r Role) serves() bool { return r != RoleWorker }
func (r Role) works() bool  { return r != RoleAPI }

// ServeOptions are what a process takes from its command line and its environment.
type ServeOptions struct {
	ConfigFile     string
	Environ        []string // NAME=value
	Role           Role
	Stdout, Stderr io.Writer // the banner; the log
}

// Serve migrates the database, then does the work of the role until ctx ends. It returns nil if it was
// stopped, and otherwise the first failure.
func Serve(ctx context.Context, o ServeOptions) (err error) {
	defer func() {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			err = nil // stopped before it began
		}
	}()
	seen := config.Fingerprint(o.ConfigFile)
	read, err := config.Load(o.ConfigFile, o.Environ)
	if err != nil {
		return err
	}
	settings := read.Config
	if settings.Queue.URL == "memory:" && o.Role != RoleAll {
		return fmt.Errorf("--role %s needs a queue that processes share; queue.url is memory:, which lives in one", o.Role)
	}
	level := new(slog.LevelVar)
	level.Set(settings.Level())
	log := NewLogger(o.Stderr, settings.Log.Format, level)
	for _, w := range read.Warnings {
		log.Warn(w)
	}
	limitMemory(settings.Limits.MemoryMiB, log)

	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", settings.HTTP.Addr) // first, so that a taken port is reported before anything else happens
	if err != nil {
		return fmt.Errorf("listen on http.addr: %w", err)
	}
	defer listener.Close()
	var redirects net.Listener
	if addr := settings.HTTP.TLS.RedirectAddr; addr != "" {
		if redirects, err = (&net.ListenConfig{}).Listen(ctx, "tcp", addr); err != nil {
			return fmt.Errorf("listen on http.tls.redirect_addr: %w", err)
		}
		defer redirects.Close()
	}
	var profiles net.Listener
	if addr := settings.HTTP.PprofAddr; addr != "" {
		if profiles, err = (&net.ListenConfig{}).Listen(ctx, "tcp", addr); err != nil {
			return fmt.Errorf("listen on http.pprof_addr: %w", err)
		}
		defer profiles.Close()
	}
	a, err := New(ctx, settings, o.Role, log, level)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	a.source.Accept(o.ConfigFile, read.Origins)
	a.environ = o.Environ
	if err := a.watchZones(ctx); err != nil {
		return err
	}
	email, password, err := config.FirstAdmin(o.Environ)
	if err != nil {
		return err
	}
	setUp, err := a.firstAdmin(ctx, email, password)
	if err != nil {
		return err
	}
	handler, err := newRouter(a)
	if err != nil {
		return err
	}
	if err := a.openMailroom(ctx); err != nil {
		return err
	}
	switch {
	case len(settings.HTTP.TLS.ACME.Domains) > 0:
		if a.certificates, err = newCertificates(settings.HTTP.TLS.ACME, a.db.Gorm, log); err != nil {
			return err
		}
		listener = tls.NewListener(listener, a.certificates.config())
	case settings.HTTP.TLS.Enabled():
		if listener, err = listenTLS(listener, settings.HTTP.TLS, log); err != nil {
			return err
		}
	}
	a.banner(o.Stdout, listener.Addr(), setUp)
	reload := &config.Reloader{File: o.ConfigFile, Environ: o.Environ, Seen: seen, Started: settings, Current: settings, Apply: a.apply, State: a.source, Log: log}
	return a.run(ctx, listener, redirects, profiles, handler, reload)
}

// run does the work of the role until ctx ends or a part fails. Then it stops every part: no part
// accepts new connections or claims, and running work finishes.
// redirects and profiles may be nil.
func (a *Application) run(ctx context.Context, l, redirects, profiles net.Listener, h http.Handler, reload *config.Reloader) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return serveHTTP(ctx, l, h) })
	if profiles != nil {
		g.Go(func() error { return serveProfiles(ctx, profiles) })
	}
	if redirects != nil {
		answer := redirectTo(a.config.HTTP.BaseURL)
		if a.certificates != nil {
			answer = a.certificates.HTTPHandler(answer) // and challenges of the type HTTP-01
		}
		g.Go(func() error { return serveHTTP(ctx, redirects, answer) })
	}
	if a.certificates != nil {
		g.Go(func() error { return a.certificates.obtain(ctx) })
	}
	g.Go(func() error { return reload.Run(ctx) })
	if a.role.serves() {
		g.Go(func() error { return a.idempotency.RunTrimmer(ctx) })
		g.Go(func() error { return a.topics.Run(ctx) })
		g.Go(func() error { return a.stream.Run(ctx) })
		g.Go(func() error { return a.rights.run(ctx) })
		if server := a.mailroom.server; server != nil {
			g.Go(func() error { return server.Run(ctx, stopGrace) })
		}
	}
	g.Go(func() error { return a.broadcasts.run(ctx) })
	g.Go(func() error { return a.keys.follow(ctx) })
	if a.clock != nil && !a.role.works() { // otherwise the loader measures
		g.Go(func() error { return every(ctx, time.Minute, func() { a.clock.look(ctx) }) })
	}
	if gs := newGenerations(a.queue, a.config.Queue.Horizon, a.log); gs != nil {
		g.Go(func() error { return gs.run(ctx) })
	}
	if a.role.works() {
		g.Go(func() error { return a.unknown.Run(ctx) })
		g.Go(func() error { return a.followDefaults(ctx) })
		g.Go(func() error { return a.followApprovers(ctx) })
		g.Go(func() error { return a.loader.Run(ctx) })
		g.Go(func() error { return a.consumer.Run(ctx) })
		g.Go(func() error { return a.pusher.Run(ctx) })
		g.Go(func() error { return a.metrics.lateness.Run(ctx) })
		g.Go(func() error { return a.addUpDays(ctx) })
		g.Go(func() error { return a.retain(ctx) })
		g.Go(func() error { return a.trimPastChanges(ctx) })
		if box := a.mailbox(); box != nil {
			g.Go(func() error { return box.Run(ctx) })
		}
		g.Go(func() error { return a.watcher.Run(ctx) })
		if a.fallback != nil {
			g.Go(func() error { return a.fallback.Run(ctx) })
		}
	}
	a.log.Info("started", "version", version, "role", a.role, "addr", l.Addr().String(), "database", a.db.Dialect, "queue", scheme(a.config.Queue.URL))
	err := g.Wait()
	a.log.Info("stopped")
	return err
}

// stopGrace is how long running work may continue after SIGTERM. It is longer than a slow mail
// server needs, because a mail that is interrupted may be sent twice. It is short enough for the
// process to store the results and exit within ten seconds, before Docker kills it.
const stopGrace = 7 * time.Second

func serveHTTP(ctx context.Context, l net.Listener, h http.Handler) error {
	server := newHTTPServer(h)
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
		defer cancel()
		stopped <- server.Shutdown(ctx)
	})
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		stop()
		return fmt.Errorf("serve HTTP: %w", err)
	}
	if err := <-stopped; err != nil { // clients retry; the process did not fail
		return server.Close()
	}
	return nil
}

// banner shows the user who started the process which address to open. If the log is for programs,
// the banner is a log line. setUp is the one-time link that creates the first admin; it is empty if
// there is one.
func (a *Application) banner(stdout io.Writer, addr net.Addr, setUp string) {
	if a.config.Log.Format == "json" {
		if setUp != "" {
			a.log.Warn("no admin yet, create the first one with this one-time link", "link", setUp)
		}
		return
	}
	if !a.role.serves() {
		fmt.Fprintf(stdout, "Punctual works. Probes and metrics are on %s.\n", addr)
		return
	}
	base := strings.TrimSuffix(a.config.HTTP.BaseURL, "/")
	fmt.Fprintf(stdout, "Punctual listens on %s.\n\n  Page:    %s/\n  API:     %s/docs\n", addr, base, base)
	if a.config.Email.Driver == "outbox" {
		fmt.Fprintf(stdout, "  Mails:   stored in %s and not sent (email.driver: outbox)\n", outboxDir)
	}
	if setUp != "" {
		fmt.Fprintf(stdout, "  Sign-in: create the first admin with this link, which works once:\n\n  %s\n", setUp)
	}
	fmt.Fprintln(stdout)
}

// scheme returns the scheme of a URL, which shows its kind but no secret.
func scheme(url string) string {
	s, _, _ := strings.Cut(url, ":")
	return s
}
