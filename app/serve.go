package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"punctual/app/config"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// role is the part of the work that a process does.
type role string

const (
	roleAll    role = "all"
	roleAPI    role = "api"    // answers HTTP
	roleWorker role = "worker" // runs loader and consumer; serves only probes and metrics over HTTP
)

func (r role) serves() bool { return r != roleWorker }
func (r role) works() bool  { return r != roleAPI }

func (c *cli) serveCommand() *cobra.Command {
	var as string
	cmd := &cobra.Command{
		Use: "serve", Short: "Migrate the database, then serve until SIGTERM or SIGINT", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch r := role(as); r {
			case roleAll, roleAPI, roleWorker:
				return c.serve(cmd.Context(), r)
			default:
				return usageError{fmt.Errorf("--role is %q; it must be all, api or worker", as)}
			}
		},
	}
	cmd.Flags().StringVar(&as, "role", string(roleAll), "all, api (HTTP only) or worker (loader and consumer only)")
	return cmd
}

func (c *cli) serve(ctx context.Context, r role) (err error) {
	defer func() {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			err = nil // stopped before it began
		}
	}()
	seen := config.Fingerprint(c.configFile)
	read, err := config.Load(c.configFile, c.environ)
	if err != nil {
		return err
	}
	settings := read.Config
	if settings.Queue.URL == "memory:" && r != roleAll {
		return fmt.Errorf("--role %s needs a queue that processes share; queue.url is memory:, which lives in one", r)
	}
	level := new(slog.LevelVar)
	level.Set(settings.Level())
	log := newLogger(c.stderr, settings.Log.Format, level)
	for _, w := range read.Warnings {
		log.Warn(w)
	}
	limitMemory(settings.Limits.MemoryMiB, log)

	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", settings.HTTP.Addr) // first, so that a taken port is reported before anything else happens
	if err != nil {
		return fmt.Errorf("listen on http.addr: %w", err)
	}
	defer listener.Close()
	a, err := newApplication(ctx, settings, r, log, level)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	a.source.Accept(c.configFile, read.Origins)
	a.environ = c.environ
	if err := a.watchZones(ctx); err != nil {
		return err
	}
	setUp, err := a.firstAdmin(ctx, c.env(config.EnvAdminEmail), c.env(config.EnvAdminPassword))
	if err != nil {
		return err
	}
	handler, err := newRouter(a)
	if err != nil {
		return err
	}
	c.banner(a, listener.Addr(), setUp)
	reload := &config.Reloader{File: c.configFile, Environ: c.environ, Seen: seen, Started: settings, Current: settings, Apply: a.apply, State: a.source, Log: log}
	return a.run(ctx, listener, handler, reload)
}

// run does the work of the role until ctx ends or a part fails. Then it stops every part: no part
// accepts new connections or claims, and running work finishes.
func (a *application) run(ctx context.Context, l net.Listener, h http.Handler, reload *config.Reloader) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return serveHTTP(ctx, l, h) })
	g.Go(func() error { return reload.Run(ctx) })
	if a.role.serves() {
		g.Go(func() error { return a.idempotency.RunTrimmer(ctx) })
		g.Go(func() error { return a.topics.Run(ctx) })
		g.Go(func() error { return a.stream.Run(ctx) })
		g.Go(func() error { return a.rights.run(ctx) })
	}
	g.Go(func() error { return a.broadcasts.run(ctx) })
	if a.clock != nil && !a.role.works() { // else the loader looks
		g.Go(func() error { return a.clock.run(ctx, time.Minute) })
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
		g.Go(func() error { return a.trimAudit(ctx) })
		g.Go(func() error { return a.trimNotifications(ctx) })
		g.Go(func() error { return a.watcher.Run(ctx) })
		g.Go(func() error { return a.webhooks.RunTrimmer(ctx, a.log) })
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

// serveHTTP serves requests until ctx ends, then lets running requests finish.
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
func (c *cli) banner(a *application, addr net.Addr, setUp string) {
	if a.config.Log.Format == "json" {
		if setUp != "" {
			a.log.Warn("no admin yet, create the first one with this one-time link", "link", setUp)
		}
		return
	}
	if !a.role.serves() {
		fmt.Fprintf(c.stdout, "Punctual works. Probes and metrics are on %s.\n", addr)
		return
	}
	base := strings.TrimSuffix(a.config.HTTP.BaseURL, "/")
	fmt.Fprintf(c.stdout, "Punctual listens on %s.\n\n  Page:    %s/\n  API:     %s/docs\n", addr, base, base)
	if a.config.Email.Driver == "outbox" {
		fmt.Fprintf(c.stdout, "  Mails:   are kept in %s and sent to nobody (email.driver: outbox)\n", outboxDir)
	}
	if setUp != "" {
		fmt.Fprintf(c.stdout, "  Sign-in: nobody can yet. Make the first admin with this link, which works once:\n\n  %s\n", setUp)
	}
	fmt.Fprintln(c.stdout)
}

// scheme returns the scheme of a URL, which shows its kind but no secret.
func scheme(url string) string {
	s, _, _ := strings.Cut(url, ":")
	return s
}
