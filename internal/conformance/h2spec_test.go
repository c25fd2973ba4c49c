package conformance

import (
	"bytes"
	"encoding/xml"
	"flag"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"lectern/documents/permission"
	"lectern/gateway"
)

var h2spec = flag.String("conformance.h2spec", "", "the program h2spec, which .ci/h2spec builds")

// h2specFailures are the cases of h2spec that fail, by package and name, each with its reason. All are about net/http's
// HTTP/2.
var h2specFailures = map[string]string{
	"http2/4.2: Sends a large size HEADERS frame that exceeds the SETTINGS_MAX_FRAME_SIZE":                        aFrameThatFits,
	"http2/6.5.3: Sends multiple values of SETTINGS_INITIAL_WINDOW_SIZE":                                          "net/http ends a connection that gives a setting twice in a frame",
	"http2/8.1.2.2: Sends a HEADERS frame that contains the connection-specific header field":                     answers400,
	`http2/8.1.2.2: Sends a HEADERS frame that contains the TE header field with any value other than "trailers"`: answers400,
}

const (
	aFrameThatFits = "h2spec sends 17 KB, but net/http announces that it takes frames of 1 MB"
	answers400     = "net/http answers 400, where h2spec wants the stream to be reset"
)

// TestH2Spec has h2spec judge how the server speaks HTTP/2. It asks for a route that reads the whole body before it
// answers: others answer at once what needs no body, and whether h2spec then sees the answer or the error of a frame
// that comes after the header depends on which is faster.
func TestH2Spec(t *testing.T) {
	if *h2spec == "" {
		t.Skip("-conformance.h2spec names no program")
	}
	x := &gateway.Extensions{}
	for _, method := range []string{"GET", "POST"} {
		x.Handle(gateway.Route{Method: method, Path: "/api/read", Handle: readAndAnswer})
	}
	target, err := url.Parse(serveTLS(t, "../clients/project", x).Base)
	if err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(t.TempDir(), "report.xml")
	command := exec.CommandContext(t.Context(), *h2spec, "-t", "-k", "-h", target.Hostname(), "-p", target.Port(), "-P",
		"/api/read", "-j", report)
	output, err := command.CombinedOutput() // h2spec fails if a case fails
	cases := h2specCases(t, report)
	if len(cases) != 145 {
		t.Fatalf("%d cases, want 145: %v\n%s", len(cases), err, output)
	}
	for name, passes := range cases {
		if reason, listed := h2specFailures[name]; passes == listed {
			t.Errorf("%s\npasses: %t; the reason for which it may fail: %q", name, passes, reason)
		}
	}
	for name := range h2specFailures {
		if _, found := cases[name]; !found {
			t.Errorf("h2spec has no case %s", name)
		}
	}
	if t.Failed() {
		_, failures, _ := bytes.Cut(output, []byte("\nFailures:"))
		t.Logf("%s", failures)
	}
}

func readAndAnswer(w http.ResponseWriter, r *http.Request, _ *permission.Access) error {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil // the stream has ended; the server would log an error
	}
	_, err := io.WriteString(w, "the body was read")
	return err
}

// h2specCases reads a report of h2spec, and tells of each case, named by its package and what it does, whether it
// passes.
func h2specCases(t *testing.T, file string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Cases []struct {
			Package string    `xml:"package,attr"`
			Does    string    `xml:"classname,attr"`
			Skipped *struct{} `xml:"skipped"`
			Failure *struct{} `xml:"failure"`
			Error   *struct{} `xml:"error"`
		} `xml:"testsuite>testcase"`
	}
	if err := xml.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	cases := make(map[string]bool)
	for _, c := range report.Cases {
		cases[c.Package+": "+c.Does] = c.Skipped == nil && c.Failure == nil && c.Error == nil
	}
	return cases
}
