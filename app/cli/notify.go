package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"punctual/app/config"
	"punctual/notify"
	"punctual/notify/email"
	"punctual/notify/render"
)

func (c *cli) notifyCommand() *cobra.Command {
	return group("notify", "Look at notifications", c.notifyPreviewCommand())
}

func (c *cli) notifyPreviewCommand() *cobra.Command {
	var language, format string
	cmd := &cobra.Command{
		Use:   "preview KIND",
		Short: "Print a sample mail of a kind, such as invitation",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if kinds := render.Kinds(); !slices.Contains(kinds, notify.Kind(args[0])) {
				return usageError{fmt.Errorf("unknown kind %q; use one of %s", args[0], strings.Trim(fmt.Sprint(kinds), "[]"))}
			}
			found := render.Samples(notify.Kind(args[0]), language)
			if len(found) == 0 {
				return usageError{fmt.Errorf("unknown language %q; use one of en, de, zh", language)}
			}
			settings, err := c.load()
			if e, ok := errors.AsType[*config.Error](err); ok {
				fmt.Fprint(c.stderr, e.Report())
				return errReported
			}
			if err != nil {
				return err
			}
			r, err := render.New(render.Config{BaseURL: settings.HTTP.BaseURL})
			if err != nil {
				return err
			}
			templates, err := render.ReadOverrides(settings.Notifications.Templates)
			if err != nil {
				return err
			}
			r.Use(templates)
			if format == "eml" {
				n := found[0].Notification
				n.MessageID = "<preview@punctual>"
				return email.Write(c.stdout, settings.Email.From, r, n, found[0].Now)
			}
			m, err := r.Mail(found[0].Notification, found[0].Now)
			if err != nil {
				return err
			}
			switch format {
			case "text":
				_, err = fmt.Fprintf(c.stdout, "Subject: %s\n\n%s", m.Subject, m.Text)
			case "html":
				_, err = fmt.Fprint(c.stdout, m.HTML)
			default:
				return usageError{fmt.Errorf("unknown format %q; use text, html or eml", format)}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&language, "language", "en", "en, de or zh")
	cmd.Flags().StringVar(&format, "format", "text", "text, html or eml")
	return cmd
}
