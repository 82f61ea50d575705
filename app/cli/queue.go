package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"punctual/app"
	"punctual/app/audit"
	"punctual/app/config"
	"punctual/app/database"
	"punctual/delayjob"
	"punctual/delayjob/admin"
	jobstore "punctual/delayjob/gormstore"
	jobhttp "punctual/delayjob/httpapi"
)

func (c *cli) queueCommand() *cobra.Command {
	return group("queue", "Look at the queue and mend it", c.queueStatsCommand(), c.queuePeekCommand(), c.queueDeadCommand(),
		c.queueRequeueCommand(), c.queueDiscardCommand(), c.queueCheckCommand())
}

// withQueue runs a command on the queue of the installation, beside the servers that may run.
// inside says what to use instead if the queue lives in the server.
func (c *cli) withQueue(ctx context.Context, inside string, do func(*config.Config, app.Queue) error) error {
	settings, err := c.load()
	if err != nil {
		return err
	}
	if settings.Queue.URL == "memory:" {
		return fmt.Errorf("queue.url is memory:, so the queue lives inside the server; ask that with %s", inside)
	}
	level := new(slog.LevelVar)
	level.Set(slog.LevelWarn)
	q, client, err := app.OpenQueue(ctx, settings.Queue, app.NewLogger(c.stderr, settings.Log.Format, level))
	if err != nil {
		return err
	}
	return errors.Join(do(settings, q), q.Close(), client.Close())
}

func (c *cli) withDeadLetters(ctx context.Context, inside string, do func(*admin.DeadLetters) error) error {
	return c.withQueue(ctx, inside, func(settings *config.Config, q app.Queue) error {
		db, err := app.OpenDatabase(ctx, settings.Database)
		if err != nil {
			return err
		}
		return errors.Join(do(&admin.DeadLetters{Records: jobstore.NewDeadLetters(db.Gorm).Noting(audit.Trail{}), Queue: q}), db.Close())
	})
}

func knownJob(name string) error {
	if config.IsJob(name) {
		return nil
	}
	return usageError{fmt.Errorf("%q is not a job type%s", name, config.Suggest(name, config.JobNames))}
}

func (c *cli) queueStatsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "stats", Short: "Count messages by state, for each job type and topic", Args: cobra.NoArgs,
		Long: "Count messages by state, for each job type and topic. This version does not know job types marked (unknown), so their messages wait.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withQueue(cmd.Context(), "GET /api/v1/jobs and GET /api/v1/topics", func(settings *config.Config, q app.Queue) error {
				return c.queueStats(cmd.Context(), settings, q, asJSON)
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

type jobCounts struct {
	Job       string     `json:"job"`
	Delayed   int        `json:"delayed"`
	Ready     int        `json:"ready"`
	Reserved  int        `json:"reserved"`
	Dead      int        `json:"dead"`
	OldestDue *time.Time `json:"oldest_due"`
	Paused    bool       `json:"paused"`
	Unknown   bool       `json:"unknown,omitempty"` // this version does not know the job type
}

func countsOf(job string, s delayjob.Stats) jobCounts {
	c := jobCounts{Job: job, Delayed: s.Delayed, Ready: s.Ready, Reserved: s.Reserved, Dead: s.Dead, Paused: s.Paused}
	if !s.Oldest.IsZero() {
		c.OldestDue = new(s.Oldest.UTC())
	}
	return c
}

const listedTopics = 1000

func (c *cli) queueStats(ctx context.Context, settings *config.Config, q app.Queue, asJSON bool) error {
	counts := make([]jobCounts, len(config.JobNames))
	for i, job := range config.JobNames {
		s, err := q.Stats(ctx, job)
		if err != nil {
			return fmt.Errorf("count %s: %w", job, err)
		}
		counts[i] = countsOf(job, s)
	}
	ofTopics, err := topicCounts(ctx, settings, q)
	if err != nil {
		err = fmt.Errorf("topics are not listed: %w", err)
	}
	counts = append(counts, ofTopics...)
	unknown, failed := delayjob.Unknown(ctx, q, config.IsJob)
	if failed != nil {
		err = errors.Join(err, fmt.Errorf("count unknown jobs: %w", failed))
	}
	for _, job := range slices.Sorted(maps.Keys(unknown)) {
		line := countsOf(job, unknown[job])
		line.Unknown = true
		counts = append(counts, line)
	}
	return errors.Join(c.printCounts(counts, q, asJSON), err)
}

func topicCounts(ctx context.Context, settings *config.Config, q app.Queue) ([]jobCounts, error) {
	db, err := app.OpenDatabase(ctx, settings.Database)
	if err != nil {
		return nil, err
	}
	stats, err := app.TopicStats(ctx, q, jobstore.NewTopics(db.Gorm), listedTopics)
	var counts []jobCounts
	for _, job := range slices.Sorted(maps.Keys(stats)) {
		counts = append(counts, countsOf(job, stats[job]))
	}
	return counts, errors.Join(err, db.Close())
}

func (c *cli) printCounts(counts []jobCounts, q app.Queue, asJSON bool) error {
	if asJSON {
		return c.printJSON(counts)
	}
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "JOB\tDELAYED\tREADY\tRESERVED\tDEAD\tPAUSED\tOLDEST DUE")
	for _, j := range counts {
		paused, oldest := "no", "-"
		if j.Paused {
			paused = "yes"
		}
		if j.OldestDue != nil {
			oldest = instant(*j.OldestDue) + ", " + distance(q.Now(), *j.OldestDue)
		}
		name := j.Job
		if j.Unknown {
			name = printable(name) + " (unknown)"
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\t%s\n", name, j.Delayed, j.Ready, j.Reserved, j.Dead, paused, oldest)
	}
	return w.Flush()
}

func (c *cli) queuePeekCommand() *cobra.Command {
	var state string
	var limit int
	var asJSON bool
	states := []string{string(delayjob.StateReserved), string(delayjob.StateReady), string(delayjob.StateDelayed), string(delayjob.StateDead)}
	cmd := &cobra.Command{
		Use: "peek JOB", Short: "List messages of a job type, earliest first, without claiming them", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			look := states
			if state != "" {
				if look = []string{state}; !slices.Contains(states, state) {
					return usageError{fmt.Errorf("--state is %q; it must be delayed, ready, reserved or dead", state)}
				}
			}
			if limit < 1 || limit > 10_000 {
				return usageError{fmt.Errorf("--limit is %d; it must be 1 to 10000", limit)}
			}
			return c.withQueue(cmd.Context(), "GET /api/v1/jobs/{name}/messages", func(_ *config.Config, q app.Queue) error {
				if err := knownJob(args[0]); err != nil {
					if jobs, failed := q.Jobs(cmd.Context()); failed != nil || !slices.Contains(jobs, args[0]) {
						return errors.Join(failed, err)
					}
				}
				return c.queuePeek(cmd.Context(), q, args[0], look, limit, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "only this state: delayed, ready, reserved or dead")
	cmd.Flags().IntVar(&limit, "limit", 20, "maximum number to show")
	jsonFlag(cmd, &asJSON)
	return cmd
}

type peeked struct {
	ID       string    `json:"id"`
	State    string    `json:"state"`
	At       time.Time `json:"at"`  // until when it waits or is leased, or when it died
	Due      time.Time `json:"due"` // as it was asked for
	Version  int64     `json:"version"`
	Attempts int       `json:"attempts"`
}

func (c *cli) queuePeek(ctx context.Context, q app.Queue, job string, states []string, limit int, asJSON bool) error {
	found := []peeked{}
	for _, state := range states {
		for cursor, more := "", true; more && len(found) < limit; more = cursor != "" {
			items, next, err := q.List(ctx, job, delayjob.State(state), cursor, min(limit-len(found), 500))
			if err != nil {
				return fmt.Errorf("list %s: %w", job, err)
			}
			for _, i := range items {
				at := i.WaitsUntil
				switch i.State {
				case delayjob.StateReserved:
					at = i.LeaseUntil
				case delayjob.StateDead:
					at = i.DiedAt
				}
				found = append(found, peeked{i.ID(), string(i.State), at.UTC(), i.Due.UTC(), i.Version, i.Attempt})
			}
			cursor = next
		}
	}
	if asJSON {
		return c.printJSON(found)
	}
	if len(found) == 0 {
		fmt.Fprintf(c.stdout, "The queue has no such messages of %s.\n", job)
		return nil
	}
	now := q.Now()
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATE\tDUE\tVERSION\tATTEMPTS\tAND")
	for _, p := range found {
		and := "runs " + distance(now, p.At)
		switch delayjob.State(p.State) {
		case delayjob.StateReady:
			and = "waits for a handler"
		case delayjob.StateReserved:
			and = "its lease ends " + distance(now, p.At)
		case delayjob.StateDead:
			and = "died " + distance(now, p.At)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\n", printable(p.ID), p.State, instant(p.Due), p.Version, p.Attempts, and)
	}
	return w.Flush()
}

func (c *cli) queueDeadCommand() *cobra.Command {
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use: "dead [JOB]", Short: "List dead letters with their errors, newest first", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var f admin.Filter
			if len(args) > 0 {
				if f.Job = args[0]; knownJob(f.Job) != nil {
					return knownJob(f.Job)
				}
			}
			if limit < 1 {
				return usageError{fmt.Errorf("--limit is %d; it must be 1 or more", limit)}
			}
			return c.withDatabase(cmd.Context(), func(ctx context.Context, db *database.DB) error {
				return c.queueDead(ctx, jobstore.NewDeadLetters(db.Gorm), f, limit, asJSON)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "maximum number to show")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (c *cli) queueDead(ctx context.Context, records *jobstore.DeadLetters, f admin.Filter, limit int, asJSON bool) error {
	found := []jobhttp.DeadJobView{}
	cursor, more := "", true
	for ; more && len(found) < limit; more = cursor != "" {
		rows, next, err := records.List(ctx, f, cursor, min(limit-len(found), admin.PageSize))
		if err != nil {
			return err
		}
		for _, r := range rows {
			found = append(found, jobhttp.ViewDeadLetter(r))
		}
		cursor = next
	}
	if asJSON {
		return c.printJSON(found)
	}
	if len(found) == 0 {
		fmt.Fprintln(c.stdout, "No dead letters.")
		return nil
	}
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tDIED\tATTEMPTS\tERROR")
	for _, d := range found {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", printable(d.ID), instant(d.DeadAt), d.Attempts, shortened(printable(d.Error), 200))
	}
	if err := w.Flush(); err != nil || cursor == "" {
		return err
	}
	fmt.Fprintf(c.stdout, "There are more. Use --limit %d to show twice as many.\n", 2*limit)
	return nil
}

func (c *cli) queueRequeueCommand() *cobra.Command {
	var job string
	var all bool
	cmd := &cobra.Command{
		Use: "requeue {ID... | --job JOB | --all}", Short: "Retry dead letters now", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, ids []string) error {
			ways := 0
			for _, way := range []bool{len(ids) > 0, job != "", all} {
				if way {
					ways++
				}
			}
			if ways != 1 {
				return usageError{errors.New("name dead letters, or --job JOB, or --all; see punctual queue requeue --help")}
			}
			if job != "" && knownJob(job) != nil {
				return knownJob(job)
			}
			const inside = "POST /api/v1/jobs/dead/{id}/requeue or POST /api/v1/jobs/dead/requeue"
			return c.withDeadLetters(cmd.Context(), inside, func(d *admin.DeadLetters) error {
				if len(ids) > 0 {
					return c.eachDeadLetter(ids, "Requeued", func(id string) error { return d.Requeue(cmd.Context(), id) })
				}
				jobs := config.JobNames
				if job != "" {
					jobs = []string{job}
				}
				n, err := d.RequeueAll(cmd.Context(), admin.Filter{Job: job}, jobs)
				if n > 0 || err == nil {
					fmt.Fprintf(c.stdout, "Requeued %d.\n", n)
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&job, "job", "", "all dead letters of this job type")
	cmd.Flags().BoolVar(&all, "all", false, "all dead letters")
	return cmd
}

func (c *cli) queueDiscardCommand() *cobra.Command {
	return &cobra.Command{
		Use: "discard ID...", Short: "Discard dead letters, and messages of unknown job types", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return c.withDeadLetters(cmd.Context(), "DELETE /api/v1/jobs/dead/{id}", func(d *admin.DeadLetters) error {
				return c.eachDeadLetter(ids, "Discarded", func(id string) error {
					if job, _ := delayjob.SplitID(id); config.IsJob(job) {
						return d.Discard(cmd.Context(), id)
					}
					was, err := d.Queue.Remove(cmd.Context(), id)
					if err == nil && was[0] == delayjob.StateAbsent {
						err = delayjob.ErrNotFound
					}
					return err
				})
			})
		},
	}
}

func (c *cli) eachDeadLetter(ids []string, done string, do func(id string) error) error {
	var missing []string
	for _, id := range ids {
		switch err := do(id); {
		case errors.Is(err, delayjob.ErrNotFound):
			missing = append(missing, printable(id))
		case err != nil:
			return fmt.Errorf("%s: %w", printable(id), err)
		default:
			fmt.Fprintf(c.stdout, "%s %s.\n", done, printable(id))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("no dead letter: %s", strings.Join(missing, ", "))
	}
	return nil
}

func (c *cli) queueCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Verify the invariants of the queue while it runs", Args: cobra.NoArgs,
		Long: "Verify the invariants of the queue while it runs:\n" +
			"  1  a message has a body if and only if it is in exactly one of waiting, leased and dead\n" +
			"  2  it has a token if and only if it is leased\n" +
			"  3  no token is newer than the last one its shard issued\n" +
			"  4  it waits for its due time or, after a retry, for a later one; an expired lease is taken over within a second\n" +
			"  5  this version knows its job type, or it is a job of a topic\n" +
			"Prints each violation that lasts for more than a second, and then exits with code 1.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withQueue(cmd.Context(), "GET /api/v1/jobs", func(_ *config.Config, q app.Queue) error { return c.queueCheck(cmd.Context(), q) })
		},
	}
}

// queueCheck reports breaches that last. It ignores the brief ones after a killed process.
func (c *cli) queueCheck(ctx context.Context, q app.Queue) error {
	breaches, err := breachesOf(ctx, q)
	if err == nil && len(breaches) > 0 {
		first := breaches
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
		breaches, err = breachesOf(ctx, q)
		breaches = slices.DeleteFunc(breaches, func(b string) bool { return !slices.Contains(first, b) })
	}
	if err != nil {
		return err
	}
	for _, b := range breaches {
		fmt.Fprintln(c.stdout, printable(b))
	}
	if len(breaches) > 0 {
		return fmt.Errorf("the queue violates its invariants in %d places", len(breaches))
	}
	fmt.Fprintln(c.stdout, "All invariants of the queue hold.")
	return nil
}

func breachesOf(ctx context.Context, q app.Queue) ([]string, error) {
	all, err := q.Check(ctx)
	if err != nil {
		return nil, err
	}
	jobs, err := q.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	more, err := q.Check(ctx, append(jobs, config.JobNames...)...)
	if err != nil {
		return nil, err
	}
	unknown, err := delayjob.Unknown(ctx, q, config.IsJob)
	if err != nil {
		return nil, err
	}
	for job := range unknown { // without counts, so that the second check finds the same breach
		more = append(more, job+" has messages, but this version does not know the job type")
	}
	stranded, err := delayjob.Stranded(ctx, q, config.JobNames...)
	if err != nil {
		return nil, err
	}
	all = slices.Concat(all, more, stranded)
	slices.Sort(all)
	return slices.Compact(all), nil
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000Z") }

func distance(now, t time.Time) string {
	d := t.Sub(now)
	unit := time.Second
	if d.Abs() < 10*time.Second {
		unit = 10 * time.Millisecond
	}
	if d < 0 {
		return (-d).Round(unit).String() + " ago"
	}
	return "in " + d.Round(unit).String()
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return '\uFFFD'
		default:
			return r
		}
	}, strings.Join(strings.Fields(s), " "))
}

func shortened(s string, n int) string {
	if rs := []rune(s); len(rs) > n {
		return string(rs[:n]) + "…"
	}
	return s
}
