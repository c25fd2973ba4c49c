package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"lectern/gateway/admin"
)

type statusCommand struct {
	token  string
	asJSON bool
	serverFlags
}

func newStatus(s *session) *cobra.Command {
	var c statusCommand
	cmd := &cobra.Command{
		Use: "status [DIR]",
		Short: "Print how a running server is, and what it has done in the last day: requests, errors, memory, disk, " +
			"replicas, nodes, warnings.",
		Long: dirArgument,
		Args: takes(0, 1),
		RunE: func(_ *cobra.Command, args []string) error { return c.run(s, projectAt(args)) },
	}
	c.serverFlags.add(cmd, 10*time.Second, "Ask the server at this `URL`, such as https://cms.example.com, instead of "+
		"the one that runs on DIR; with the path of its REST API, unless that is /api.")
	f := cmd.Flags()
	f.StringVar(&c.token, "token", "",
		"With --url, the `KEY` of an API token with the permission lectern::server.status ($"+statusToken+").")
	f.BoolVar(&c.asJSON, "json", false, "Print JSON, with a sample for each minute.")
	return cmd
}

// statusToken is the environment variable that stands for the flag --token of status.
const statusToken = "LECTERN_STATUS_TOKEN"

func (c *statusCommand) run(s *session, dir string) error {
	ctx, cancel := context.WithTimeout(s.ctx, c.timeout)
	defer cancel()
	var status admin.Status
	var err error
	switch {
	case c.url == "" && (c.token != "" || c.ca != ""):
		return usageError("--token and --ca are for --url: without it, the server is asked over its control socket")
	case c.url == "":
		status, err = c.directory(s, dir).Status(ctx)
	default:
		status, err = c.statusAt(ctx)
	}
	if err != nil {
		return inCommand("status", err)
	}
	if c.asJSON {
		return printJSON(s, status)
	}
	return printStatus(s.Stdout, &status)
}

// statusAt asks the server at the URL.
func (c *statusCommand) statusAt(ctx context.Context) (status admin.Status, err error) {
	at, err := url.Parse(c.url)
	if err != nil {
		return status, err
	}
	if strings.Trim(at.Path, "/") == "" {
		at = at.JoinPath("api")
	}
	address := at.JoinPath("_status").String()
	var answer struct {
		Data  *admin.Status
		Error struct{ Message string }
	}
	answered, isJSON, err := c.get(ctx, address, cmp.Or(c.token, os.Getenv(statusToken)), maxStatus, &answer)
	if err == nil && (!isJSON || answer.Data == nil) {
		err = fmt.Errorf("%s answers %s %s", address, answered, answer.Error.Message)
	}
	if err != nil {
		return status, err
	}
	return *answer.Data, nil
}

// maxStatus is how many bytes of an answer are read at most.
const maxStatus = 16 << 20

// printStatus prints a status for people.
func printStatus(to io.Writer, s *admin.Status) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	series := &s.Series
	fmt.Fprintf(w, "server\t%s, %s, version %s, up %s\n", s.Condition, s.Mode, cmp.Or(s.Version, "unknown"),
		time.Since(s.Started).Round(time.Second))
	fmt.Fprintf(w, "last day\t%s, %d answered with 4xx and %d with 5xx; %s\n",
		count(int(sum(series.Requests)), "request"), sum(series.ClientErrors), sum(series.ServerErrors),
		count(int(sum(series.Writes)), "write"))
	free := "its disk does not say how much is left"
	if s.Free != nil {
		free = megabytes(*s.Free) + " left on its disk"
	}
	fmt.Fprintf(w, "memory\t%s\n", megabytes(s.Memory))
	fmt.Fprintf(w, "store\t%s, %s\n", megabytes(s.Disk), free)
	backup := "none since the start"
	if s.LastBackup != nil {
		backup = when(*s.LastBackup)
	}
	fmt.Fprintf(w, "backup\t%s\n", backup)
	for _, h := range s.Webhooks {
		fmt.Fprintf(w, "webhook\t%s\n", webhookLine(h))
	}
	for _, r := range s.Replicas {
		fmt.Fprintf(w, "follows\t%s\n", r)
	}
	for _, text := range s.Warnings {
		fmt.Fprintf(w, "warning\t%s\n", text)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if s.Cluster != nil {
		fmt.Fprintln(to)
		if err := printCluster(to, *s.Cluster); err != nil {
			return err
		}
	}
	printRoutes(w, s)
	printNoted(w, fmt.Sprintf("SLOWER THAN %s", time.Duration(s.SlowAfter)*time.Millisecond), s.Slow)
	printNoted(w, "FAILED", s.Failed)
	return w.Flush()
}

func sum(column []uint64) (all uint64) {
	for _, n := range column {
		all += n
	}
	return all
}

func when(at time.Time) string { return at.Local().Format(time.DateTime) }

func webhookLine(h admin.WebhookStatus) string {
	line := fmt.Sprintf("%s: %d waiting, %s", h.Name, h.Waiting, count(h.DeadLetters, "dead letter"))
	switch {
	case h.Stopped != "":
		line += ", stopped: " + h.Stopped
	case h.Down:
		line += ", the receiver does not answer"
	}
	return line
}

// printedRows is how many rows of each table are printed; --json prints all.
const printedRows = 15

func printRoutes(w io.Writer, s *admin.Status) {
	if len(s.Routes) == 0 {
		return
	}
	fmt.Fprintf(w, "\nROUTE\tREQUESTS\t4XX\t5XX\tP50\tP95\tP99\n")
	for _, r := range s.Routes[:min(len(s.Routes), printedRows)] {
		fmt.Fprintf(w, "%s %s\t%d\t%d\t%d\t%s\t%s\t%s\n", r.Method, r.Route, r.Requests, r.ClientErrors, r.ServerErrors,
			milliseconds(r.P50), milliseconds(r.P95), milliseconds(r.P99))
	}
}

func milliseconds(ms *float64) string {
	if ms == nil {
		return "-"
	}
	return fmt.Sprintf("%.3g ms", *ms)
}

func printNoted(w io.Writer, title string, list []admin.NotedRequest) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\tAT\tSTATUS\tTOOK\tROUTE\n", title)
	for _, r := range list[:min(len(list), printedRows)] {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s %s\n", r.ID, when(r.At), r.Status, milliseconds(&r.Took), r.Method, r.Route)
	}
}
