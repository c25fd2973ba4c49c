package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// A Suite is a list of recorded exchanges that starts with an empty store.
type Suite struct {
	Name    string `json:"suite"`
	Project string `json:"project"` // directory of the project, relative to the suite's file
	Steps   []Step `json:"steps"`

	file string
}

// A Step is one exchange. It may use values that earlier steps saved.
type Step struct {
	Name    string            `json:"name"`
	Needs   []string          `json:"needs"` // features that the step depends on, directly or through earlier steps: upload, users
	As      string            `json:"as"`    // full (the default), readonly, public, a token's name, or {{var}}
	Request Request           `json:"request"`
	Headers []string          `json:"headers"` // response headers to compare
	Cookies []string          `json:"cookies"` // cookies to compare that the response sets, by name
	Save    map[string]string `json:"save"`    // from name to dotted path in the response, or cookies.NAME.value
	Expect  Expect            `json:"expect"`
}

// A Request is the request of a step. At most one of JSON, GraphQL, Raw and Multipart is set.
type Request struct {
	Method    string            `json:"method"`
	Path      string            `json:"path"`
	Headers   map[string]string `json:"headers"`
	JSON      json.RawMessage   `json:"json"`
	GraphQL   json.RawMessage   `json:"graphql"`
	Raw       *string           `json:"raw"`
	Multipart []Part            `json:"multipart"`
}

// A Part is a field of a multipart form: a file if File is set, otherwise a value.
type Part struct {
	Name   string          `json:"name"`
	Value  json.RawMessage `json:"value"`
	File   string          `json:"file"`
	Type   string          `json:"type"`
	Base64 string          `json:"base64"`
}

// Expect is the recorded response. An empty body is null.
type Expect struct {
	Status  int             `json:"status"`
	Headers json.RawMessage `json:"headers"`
	Cookies json.RawMessage `json:"cookies"`
	Body    json.RawMessage `json:"body"`
}

var restPath = regexp.MustCompile(`^/(api|uploads|_health)`)

// REST reports whether the request goes to the REST API and not to GraphQL.
func (s *Step) REST() bool { return s.Request.GraphQL == nil && restPath.MatchString(s.Request.Path) }

// Method returns the HTTP method of the request.
func (s *Step) Method() string {
	switch {
	case s.Request.Method != "":
		return s.Request.Method
	case s.Request.GraphQL != nil:
		return "POST"
	}
	return "GET"
}

// StepKey returns the key of a step within its suite: its name, with its index appended if several steps have that
// name.
func (s *Suite) StepKey(index int) string {
	name, same := s.Steps[index].Name, 0
	for i := range s.Steps {
		if s.Steps[i].Name == name {
			same++
		}
	}
	if same == 1 {
		return name
	}
	return fmt.Sprintf("%s #%d", name, index)
}

// ProjectDir returns the directory of the suite's project.
func (s *Suite) ProjectDir() string { return filepath.Join(filepath.Dir(s.file), s.Project) }

// LoadSuites reads the suites of a directory, sorted by file name.
func LoadSuites(dir string) ([]*Suite, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var suites []*Suite
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		s := &Suite{file: file}
		if err := json.Unmarshal(data, s); err != nil {
			return nil, fmt.Errorf("read suite %s: %w", file, err)
		}
		suites = append(suites, s)
	}
	return suites, nil
}
