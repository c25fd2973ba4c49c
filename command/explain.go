package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"lectern/gateway/admin"
	"lectern/store"
)

type explainCommand struct {
	graphQL pathFlag
	role    string
	token   string
	asJSON  bool
	serverFlags
}

func newExplain(s *session) *cobra.Command {
	var c explainCommand
	cmd := &cobra.Command{
		Use:   "explain [DIR] QUERY",
		Short: "Execute a query and print how the store found the answer: the plan, what was touched, the time.",
		Long: "QUERY is what follows /api/ in a request: 'articles?filters[title][$contains]=bread'. " +
			"Nothing is written. " + dirArgument,
		Args: takes(0, 2),
		RunE: func(_ *cobra.Command, args []string) error { return inCommand("explain", c.run(s, args)) },
	}
	f := cmd.Flags()
	f.Var(&c.graphQL, "graphql", "Instead of QUERY, execute the GraphQL operation in this `FILE`; - is the standard input.")
	f.StringVar(&c.role, "role", "",
		"Ask as this role of config/permissions.yaml (`NAME`) instead of as somebody who may do everything.")
	f.StringVar(&c.token, "token", "", "The same for a token of config/permissions.yaml (NAME). With --url, the `KEY` of "+
		"an API token with the permission lectern::server.explain ($"+explainToken+").")
	f.BoolVar(&c.asJSON, "json", false, "Print JSON.")
	c.serverFlags.add(cmd, time.Minute, "Ask the server at this `URL`, such as https://cms.example.com, instead of the "+
		"project in DIR; with the path of its REST API, unless that is /api.")
	return cmd
}

// explainToken is the environment variable that stands for the flag --token of explain with --url.
const explainToken = "LECTERN_EXPLAIN_TOKEN"

func (c *explainCommand) run(s *session, args []string) error {
	dir, question, err := c.question(s, args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.ctx, c.timeout)
	defer cancel()
	var explained admin.Explained
	switch {
	case c.role != "" && (c.token != "" || c.url != ""):
		return usageError("--role can't be used together with --token or --url")
	case c.url == "" && c.ca != "":
		return usageError("--ca is for --url")
	case c.url == "":
		err = c.administer(s, absolute(dir), func(p admin.Project) error {
			explained, err = p.Explain(ctx, question)
			return err
		})
	default:
		explained, err = c.explainAt(ctx, question)
	}
	if err != nil {
		return err
	}
	if c.asJSON {
		err = printJSON(s, explained)
	} else {
		err = printExplained(s.Stdout, &explained)
	}
	if err == nil && explained.Status >= http.StatusBadRequest {
		err = fmt.Errorf("the query is answered %d %s", explained.Status, http.StatusText(explained.Status))
	}
	return err
}

// question returns the directory of the project and the question that a command line asks.
func (c *explainCommand) question(s *session, args []string) (dir string, q admin.Question, err error) {
	q = admin.Question{Role: c.role, Token: c.token}
	switch {
	case c.url != "" && len(args) > 1:
		return "", q, usageError("DIR and --url can't be used together")
	case c.graphQL == "":
		if dir, q.Query, err = splitDir(args, "QUERY"); err == nil {
			q.Query = escapeQuery(q.Query)
		}
		return dir, q, err
	case len(args) > 1:
		return "", q, usageError("QUERY and --graphql can't be used together")
	}
	dir = "."
	if len(args) == 1 {
		dir = args[0]
	}
	text, err := readInput(s, string(c.graphQL))
	if q.GraphQL = string(bytes.TrimSpace(text)); err == nil && q.GraphQL == "" {
		err = errors.New("there is no operation in " + string(c.graphQL))
	}
	return dir, q, err
}

func readInput(s *session, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(s.Stdin)
	}
	return os.ReadFile(file)
}

// escapeQuery returns a query as it stands in a request: what a person types may have spaces and letters that a URL
// cannot have. A leading /api is left out.
func escapeQuery(typed string) string {
	typed = strings.TrimPrefix(strings.TrimPrefix(typed, "/api/"), "/")
	var b strings.Builder
	for i := range len(typed) {
		if c := typed[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"<>#`, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// explainAt asks the server at the URL.
func (c *explainCommand) explainAt(ctx context.Context, q admin.Question) (explained admin.Explained, err error) {
	at, err := url.Parse(c.url)
	if err != nil {
		return explained, err
	}
	address := strings.TrimSuffix(at.String(), "/")
	switch {
	case q.GraphQL != "":
		address = at.Scheme + "://" + at.Host + "/graphql?query=" + url.QueryEscape(q.GraphQL)
	case strings.Trim(at.Path, "/") == "":
		address += "/api/" + q.Query
	default:
		address += "/" + q.Query
	}
	res, err := c.send(ctx, address, cmp.Or(c.token, os.Getenv(explainToken)), map[string]string{
		"Lectern-Explain": "1",
		"Content-Type":    "application/json", // or GraphQL expects a preflight by a browser
	})
	if err != nil {
		return explained, err
	}
	defer res.Body.Close()
	const most = 2000
	begin, err := io.ReadAll(io.LimitReader(res.Body, most))
	if err != nil {
		return explained, err
	}
	header := res.Header.Get("Lectern-Explain")
	if header == "" {
		return explained, fmt.Errorf("%s answers %s without an explanation: %s", c.url, res.Status, begin)
	}
	if err := json.Unmarshal([]byte(header), &explained); err != nil {
		return explained, fmt.Errorf("%s explains itself in words of another version: %w", c.url, err)
	}
	rest, err := io.Copy(io.Discard, res.Body)
	explained.Status, explained.Bytes = res.StatusCode, int64(len(begin))+rest
	if res.StatusCode >= http.StatusBadRequest || strings.HasPrefix(string(begin), `{"errors":`) {
		explained.Answer = string(begin)
	}
	return explained, err
}

// planTexts say what the plans do.
var planTexts = map[string]string{
	store.RangeInOrder.String():   "one range of an index, in the requested order",
	store.IndexWalk.String():      "a walk in the requested order until the page is full, testing rows",
	store.CheapestSource.String(): "the rows of the cheapest condition, the others tested on them",
	store.Intersection.String():   "the rows of several conditions, intersected",
	store.FullScan.String():       "a scan of all rows",
}

// printExplained prints an explanation for people.
func printExplained(to io.Writer, e *admin.Explained) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for i := range e.Queries {
		printQuery(w, &e.Queries[i])
		fmt.Fprintln(w)
	}
	if e.Omitted > 0 {
		fmt.Fprintf(w, "omitted\t%s\n", count(e.Omitted, "further query"))
	}
	fmt.Fprintf(w, "answer\t%d, %d bytes, %.3g ms\n", e.Status, e.Bytes, e.Took)
	fmt.Fprintf(w, "touched\t%s\n", workText(e.Work))
	if e.Answer != "" {
		fmt.Fprintf(w, "says\t%s\n", e.Answer)
	}
	return w.Flush()
}

func printQuery(w io.Writer, q *store.ExplainedQuery) {
	of := q.Type
	if q.Locale != "" {
		of += ", " + q.Locale
	}
	fmt.Fprintf(w, "query\tof %s\n", of)
	fmt.Fprintf(w, "plan\t%s: %s\n", q.Plan, cmp.Or(planTexts[q.Plan], "of another version"))
	for _, c := range q.Conditions {
		finds := "tested on rows"
		if c.Cost != nil {
			finds = fmt.Sprintf("an index finds them, about %d entries", *c.Cost)
		}
		fmt.Fprintf(w, "where\t%s: %s\n", strings.TrimSpace(c.Attribute+" "+c.Operator), finds)
	}
	for _, of := range q.Searches {
		fmt.Fprintf(w, "search\tof %s: %s\n", of.Type, of.Plan)
	}
	fmt.Fprintf(w, "order\t%s\n", cmp.Or(strings.Join(q.Order, ", "), "id"))
	total := "not asked for"
	if q.Total != nil {
		total = fmt.Sprintf("%d, from the index", *q.Total)
		if q.Counted != "index" {
			total = fmt.Sprintf("%d, of the rows that were found", *q.Total)
		}
	}
	fmt.Fprintf(w, "total\t%s\n", total)
	fmt.Fprintf(w, "found\t%s in %.3g ms\n", count(q.Found, "row"), q.Took)
	fmt.Fprintf(w, "touched\t%s\n", workText(q.Work))
}

func workText(w store.Work) string {
	text := strings.Join([]string{count(int(w.Rows), "row"), count(int(w.Entries), "index entry"),
		count(int(w.Links), "link"), count(int(w.Seeks), "search")}, ", ")
	if w.Kept > 0 {
		text += "; " + count(int(w.Kept), "set") + " kept from former queries"
	}
	return text
}
