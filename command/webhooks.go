package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/webhooks"
)

func newWebhooks(s *session) *cobra.Command {
	return newGroup("webhooks", "List webhooks and their deliveries, test them, and send events again.",
		newWebhooksList(s), newWebhooksLog(s), newWebhooksTest(s), newWebhooksReplay(s))
}

func newWebhooksList(s *session) *cobra.Command {
	var flags projectFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "list [DIR]",
		Short: "List the webhooks and how they are doing.",
		Long:  dirArgument,
		Args:  takes(0, 1),
		RunE:  func(_ *cobra.Command, args []string) error { return listWebhooks(s, flags, projectAt(args), asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "Print JSON.")
	flags.add(c)
	return c
}

func listWebhooks(s *session, flags projectFlags, dir string, asJSON bool) error {
	return flags.administer(s, dir, func(a admin.Project) error {
		list, err := a.Webhooks(s.ctx)
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(s, append([]webhooks.Status{}, list...))
		}
		if len(list) == 0 {
			fmt.Fprintln(s.Stderr, "there are no webhooks; config/webhooks.yaml declares them")
			return nil
		}
		w := tabwriter.NewWriter(s.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tSTATE\tWAITING\tUNREAD\tDEAD\tDELIVERED\tFAILED\tURL")
		for _, h := range list {
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n", h.Name, webhookState(h), h.Waiting, h.Unread, h.Dead,
				h.Counters.Delivered, h.Counters.Failed, h.URL)
		}
		return w.Flush()
	})
}

// webhookState returns the state of a webhook in a word.
func webhookState(h webhooks.Status) string {
	switch {
	case h.Disabled:
		return "disabled"
	case h.Stopped != "":
		return "stopped"
	case h.Down:
		return "down"
	}
	return "on"
}

func printJSON(s *session, v any) error {
	e := json.NewEncoder(s.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// webhookArguments explains the arguments of commands about one webhook.
const webhookArguments = "NAME is the name of the webhook. " + dirArgument

func newWebhooksLog(s *session) *cobra.Command {
	var flags projectFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "log [DIR] NAME",
		Short: "List the last deliveries of a webhook, the events that wait, and its dead letters.",
		Long:  webhookArguments,
		RunE:  func(_ *cobra.Command, args []string) error { return printWebhookLog(s, flags, args, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "Print JSON.")
	flags.add(c)
	return c
}

func printWebhookLog(s *session, flags projectFlags, args []string, asJSON bool) error {
	dir, name, err := splitDir(args, "NAME")
	if err != nil {
		return err
	}
	return flags.administer(s, dir, func(a admin.Project) error {
		l, err := a.WebhookLog(s.ctx, name)
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(s, l)
		}
		w := tabwriter.NewWriter(s.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "TIME\tEVENT\tTYPE\tDOCUMENT\tLOCALE\tOUTCOME")
		line := func(at time.Time, e *webhooks.Event, format string, args ...any) {
			locale := e.Locale
			if locale == "" {
				locale = "-"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", at.UTC().Format("2006-01-02 15:04:05"), e.Name, e.Type,
				e.Document, locale, fmt.Sprintf(format, args...))
		}
		for _, d := range l.Dead {
			line(d.GivenUp, d.Event, "dead after %d attempts: %s", d.Attempts, d.Reason)
		}
		for _, d := range l.Deliveries {
			if d.Error != "" {
				line(d.At, d.Event, "failed (attempt %d): %s", d.Attempt, d.Error)
			} else {
				line(d.At, d.Event, "delivered: %d in %s", d.Status, d.Took.Round(time.Millisecond))
			}
		}
		for _, d := range l.Waiting {
			line(d.Next, d.Event, "next attempt, after %d; %d later events wait for it: %s", d.Attempts, d.Behind,
				d.Reason)
		}
		return w.Flush()
	})
}

func newWebhooksTest(s *session) *cobra.Command {
	var flags projectFlags
	c := &cobra.Command{
		Use:   "test [DIR] NAME",
		Short: "Send a webhook a test request and print the answer.",
		Long:  webhookArguments,
		RunE:  func(_ *cobra.Command, args []string) error { return testWebhook(s, flags, args) },
	}
	flags.add(c)
	return c
}

func testWebhook(s *session, flags projectFlags, args []string) error {
	dir, name, err := splitDir(args, "NAME")
	if err != nil {
		return err
	}
	return flags.administer(s, dir, func(a admin.Project) error {
		t, err := a.TestWebhook(s.ctx, name)
		if err != nil {
			return err
		}
		if t.Error != "" {
			return errors.New("the test request failed: " + t.Error)
		}
		_, err = fmt.Fprintf(s.Stdout, "answered %d in %s\n", t.Status, t.Took.Round(time.Millisecond))
		return err
	})
}

func newWebhooksReplay(s *session) *cobra.Command {
	var flags projectFlags
	var since string
	c := &cobra.Command{
		Use:   "replay [DIR] NAME",
		Short: "Send the dead letters of a webhook again, or all events since a time. Resumes a webhook that was stopped.",
		Long:  webhookArguments,
		RunE:  func(_ *cobra.Command, args []string) error { return replayWebhook(s, flags, args, since) },
	}
	c.Flags().StringVar(&since, "since", "",
		"Send all events again that happened since `TIME`: how long ago, such as 2h or 7d, or a time such as "+
			"2030-01-01T09:00:00Z (default: only the dead letters).")
	flags.add(c)
	return c
}

func replayWebhook(s *session, flags projectFlags, args []string, start string) error {
	dir, name, err := splitDir(args, "NAME")
	if err != nil {
		return err
	}
	since, err := sinceOf(start)
	if err != nil {
		return err
	}
	return flags.administer(s, dir, func(a admin.Project) error {
		r, err := a.ReplayWebhook(s.ctx, name, since)
		if err != nil {
			return err
		}
		var parts []string
		parts = append(parts, fmt.Sprintf("%d dead letters are sent again", r.DeadLetters))
		if !since.IsZero() {
			parts = append(parts, fmt.Sprintf("%d entries of the log are read again", r.Entries))
		}
		if r.Missing {
			parts = append(parts, "the log begins later than that")
		}
		_, err = fmt.Fprintln(s.Stdout, strings.Join(parts, "; "))
		return err
	})
}

// sinceOf parses how long ago something was, or when. It returns the zero time for "".
func sinceOf(text string) (at time.Time, err error) {
	if text == "" {
		return at, nil
	}
	if ago, ok := config.ParseLifespan(text); ok {
		return time.Now().Add(-ago), nil
	}
	if at, err = time.Parse(time.RFC3339, text); err != nil {
		return at, usageError(fmt.Sprintf("--since is a time such as 2h, 7d or 2030-01-01T09:00:00Z, not %q", text))
	}
	return at, nil
}
