package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"punctual/app"
	"punctual/meeting/mailroom"
)

func (c *cli) mailroomCommand() *cobra.Command {
	return group("mailroom", "Look at the mails that rooms received", c.mailroomTestCommand(), c.mailroomListCommand(),
		c.mailroomShowCommand(), c.mailroomRetryCommand())
}

func (c *cli) mailroomTestCommand() *cobra.Command {
	var recipient string
	cmd := &cobra.Command{
		Use: "test FILE.eml", Short: "Show the verdict on a mail, and how the room would respond", Args: cobra.ExactArgs(1),
		Long: "Show the verdict on a mail, and how the room would respond. Nothing is stored, booked or sent. - reads standard input.",
		RunE: func(cmd *cobra.Command, args []string) error {
			raw, err := c.readFile(args[0])
			if err != nil {
				return err
			}
			return c.withApplication(cmd.Context(), func(a *app.Application) error {
				return c.testMail(cmd.Context(), a.Mailroom(), []byte(raw), recipient)
			})
		},
	}
	cmd.Flags().StringVar(&recipient, "recipient", "", "address of a room or site; default: those in To and Cc")
	return cmd
}

func (c *cli) testMail(ctx context.Context, m *mailroom.Process, raw []byte, recipient string) error {
	recipients := []string{recipient}
	known, err := m.Known(ctx, recipient)
	if recipient == "" {
		recipients, err = m.Addressed(ctx, raw)
		known = len(recipients) > 0
	}
	if err != nil {
		return err
	}
	if !known {
		return errors.New("the mail names no address of a room or a site; is mailroom.domain set?")
	}
	tried, err := m.Try(ctx, mailroom.Envelope{Source: mailroom.Upload, Recipients: recipients}, raw)
	if err != nil {
		return err
	}
	for _, t := range tried {
		fmt.Fprintf(c.stdout, "%s: %s (%s)\n", t.Recipient, t.Verdict, t.State)
		if t.Reason != "" {
			fmt.Fprintf(c.stdout, "  %s\n", t.Reason)
		}
		if t.Outcome != nil {
			c.showOutcome(t.Outcome)
		}
	}
	return nil
}

func (c *cli) showOutcome(o *mailroom.Outcome) {
	if o.Text != "" {
		fmt.Fprintf(c.stdout, "  %s\n", o.Text)
	}
	for _, a := range o.Answers {
		fmt.Fprintf(c.stdout, "  %s %s %s\n", a.Address, a.Status, a.Date)
		if a.Text != "" {
			fmt.Fprintf(c.stdout, "    %s\n", strings.ReplaceAll(a.Text, "\n", "\n    "))
		}
		if a.Mail != nil {
			fmt.Fprintf(c.stdout, "\nFrom: %s\nTo: %s\nSubject: %s\n\n%s\n\n%s\n", a.Mail.From, a.Mail.To, a.Mail.Subject, a.Mail.Text, a.Mail.Calendar)
		}
	}
}

func (c *cli) mailroomListCommand() *cobra.Command {
	var state, text string
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List mails, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if state != "" && !slices.Contains(mailroom.States(), mailroom.State(state)) {
				return usageError{fmt.Errorf("--state is %q; it must be one of %v", state, mailroom.States())}
			}
			if limit < 1 {
				return usageError{errors.New("--limit must be at least 1")}
			}
			return c.withApplication(cmd.Context(), func(a *app.Application) error {
				ms, err := a.Mailroom().List(cmd.Context(), mailroom.Filter{State: mailroom.State(state), Text: text, Limit: limit})
				if err != nil {
					return err
				}
				w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "ID\tRECEIVED\tSTATE\tVERDICT\tFROM\tTO\tSUBJECT")
				for _, m := range ms {
					fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", m.ID, m.Received.Format("2006-01-02 15:04:05Z"), m.State, m.Verdict, m.From, m.Recipient, m.Subject)
				}
				return w.Flush()
			})
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "only mails in this state: new, done, outdated, refused, quarantined or dead")
	cmd.Flags().StringVar(&text, "search", "", "only mails with this text in sender, recipient, subject or UID")
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number of mails")
	return cmd
}

func mailID(arg string) (int64, error) {
	id, err := strconv.ParseInt(arg, 10, 64)
	if err != nil || id < 1 {
		return 0, usageError{fmt.Errorf("%q is not the ID of a mail", arg)}
	}
	return id, nil
}

func (c *cli) mailroomShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a mail: verdict, answers and the mail as received", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := mailID(args[0])
			if err != nil {
				return err
			}
			return c.withApplication(cmd.Context(), func(a *app.Application) error {
				m, err := a.Mailroom().Mail(cmd.Context(), id)
				if err != nil {
					return mailError(id, err)
				}
				fmt.Fprintf(c.stdout, "Mail %d for %s: %s, %s\n", m.ID, m.Recipient, m.State, m.Verdict)
				for _, why := range []string{m.Reason, m.LastError} {
					if why != "" {
						fmt.Fprintf(c.stdout, "  %s\n", why)
					}
				}
				var o mailroom.Outcome
				if len(m.Outcome) > 0 && json.Unmarshal(m.Outcome, &o) == nil {
					c.showOutcome(&o)
				}
				fmt.Fprintf(c.stdout, "\n%s\n", strings.ReplaceAll(string(m.Raw), "\r\n", "\n"))
				return nil
			})
		},
	}
}

func (c *cli) mailroomRetryCommand() *cobra.Command {
	return &cobra.Command{
		Use: "retry ID", Short: "Process a mail that is quarantined or dead", Args: cobra.ExactArgs(1),
		Long: "Process a mail that is quarantined or dead. The server does it within 15 seconds (queue.load_every).",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := mailID(args[0])
			if err != nil {
				return err
			}
			return c.withApplication(cmd.Context(), func(a *app.Application) error {
				if _, err := a.Mailroom().Release(cmd.Context(), id); err != nil {
					return mailError(id, err)
				}
				fmt.Fprintf(c.stdout, "Mail %d will be processed.\n", id)
				return nil
			})
		},
	}
}

func mailError(id int64, err error) error {
	if errors.Is(err, mailroom.ErrNotFound) {
		return fmt.Errorf("there is no mail %d", id)
	}
	if e, ok := errors.AsType[*mailroom.StateError](err); ok {
		return fmt.Errorf("mail %d is %s; only mails that are quarantined or dead can be processed again", id, e.State)
	}
	return err
}
