package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/webhooks"
)

type webhooksCommand struct {
	List   webhooksListCommand   `cmd:"" help:"List the webhooks and how they are doing."`
	Log    webhooksLogCommand    `cmd:"" help:"List the last deliveries of a webhook, the events that wait, and its dead letters."`
	Test   webhooksTestCommand   `cmd:"" help:"Send a webhook a test request and print the answer."`
	Replay webhooksReplayCommand `cmd:"" help:"Send the dead letters of a webhook again, or all events since a time. Resumes a webhook that was stopped."`
}

type webhooksListCommand struct {
	Dir  string `arg:"" optional:"" default:"." help:"Project directory (default: here)." type:"path"`
	JSON bool   `help:"Print JSON."`
	projectFlags
}

func (c *webhooksListCommand) Run(s *session) error {
	return c.administer(s, c.Dir, func(a admin.Project) error {
		list, err := a.Webhooks(s.ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(s, append([]webhooks.Status{}, list...))
		}
		if len(list) == 0 {
			fmt.Fprintln(s.Stderr, "there are no webhooks; config/webhooks.yaml declares them")
			return nil
		}
		w := tabwriter.NewWriter(s.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tSTATE\tWAITING\tUNREAD\tDEAD\tDELIVERED\tFAILED\tURL")
		for _, h := range list {
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n", h.Name, webhookState(h), h.Waiting, h.Unread, h.Dead, h.Counters.Delivered, h.Counters.Failed, h.URL)
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

type webhooksLogCommand struct {
	Args []string `arg:"" name:"[dir] name" help:"Project directory (default: here) and name of the webhook."`
	JSON bool     `help:"Print JSON."`
	projectFlags
}

func (c *webhooksLogCommand) Run(s *session) error {
	dir, name, err := splitDir(c.Args, "NAME")
	if err != nil {
		return err
	}
	return c.administer(s, dir, func(a admin.Project) error {
		l, err := a.WebhookLog(s.ctx, name)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(s, l)
		}
		w := tabwriter.NewWriter(s.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "TIME\tEVENT\tTYPE\tDOCUMENT\tLOCALE\tOUTCOME")
		line := func(at time.Time, e *webhooks.Event, format string, args ...any) {
			locale := e.Locale
			if locale == "" {
				locale = "-"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", at.UTC().Format("2006-01-02 15:04:05"), e.Name, e.Type, e.Document, locale, fmt.Sprintf(format, args...))
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
			line(d.Next, d.Event, "next attempt, after %d; %d later events wait for it: %s", d.Attempts, d.Behind, d.Reason)
		}
		return w.Flush()
	})
}

type webhooksTestCommand struct {
	Args []string `arg:"" name:"[dir] name" help:"Project directory (default: here) and name of the webhook."`
	projectFlags
}

func (c *webhooksTestCommand) Run(s *session) error {
	dir, name, err := splitDir(c.Args, "NAME")
	if err != nil {
		return err
	}
	return c.administer(s, dir, func(a admin.Project) error {
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

type webhooksReplayCommand struct {
	Args  []string `arg:"" name:"[dir] name" help:"Project directory (default: here) and name of the webhook."`
	Since string   `help:"Send all events again that happened since: how long ago, such as 2h or 7d, or a time such as 2030-01-01T09:00:00Z (default: only the dead letters)." placeholder:"TIME"`
	projectFlags
}

func (c *webhooksReplayCommand) Run(s *session) error {
	dir, name, err := splitDir(c.Args, "NAME")
	if err != nil {
		return err
	}
	since, err := sinceOf(c.Since)
	if err != nil {
		return err
	}
	return c.administer(s, dir, func(a admin.Project) error {
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
