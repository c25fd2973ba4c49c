package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// A Suite is a list of exchanges with a server that starts from an empty store.
type Suite struct {
	Name    string `json:"suite"`
	Project string `json:"project"` // its directory, relative to the suite's file
	Steps   []Step `json:"steps"`

	file string
}

// A Step is one exchange. A later step may use what an earlier one saved.
type Step struct {
	Name    string            `json:"name"`
	Needs   []string          `json:"needs"` // upload, users: what the step, or one whose answer it uses, stands on
	As      string            `json:"as"`    // full (the default), readonly, public, a token's name, or {{var}}
	Request Request           `json:"request"`
	Headers []string          `json:"headers"` // response headers that are compared too
	Save    map[string]string `json:"save"`    // name to dotted path in the answer
	Expect  Expect            `json:"expect"`
}

// A Request says what is sent. At most one of JSON, GraphQL, Raw and Multipart is there.
type Request struct {
	Method    string            `json:"method"`
	Path      string            `json:"path"`
	Headers   map[string]string `json:"headers"`
	JSON      json.RawMessage   `json:"json"`
	GraphQL   json.RawMessage   `json:"graphql"`
	Raw       *string           `json:"raw"`
	Multipart []Part            `json:"multipart"`
}

// A Part is a field of a multipart form: a value, or a file when File is set.
type Part struct {
	Name   string          `json:"name"`
	Value  json.RawMessage `json:"value"`
	File   string          `json:"file"`
	Type   string          `json:"type"`
	Base64 string          `json:"base64"`
}

// Expect is the recorded answer. An empty body is null.
type Expect struct {
	Status  int             `json:"status"`
	Headers json.RawMessage `json:"headers"`
	Body    json.RawMessage `json:"body"`
}

var restPath = regexp.MustCompile(`^/(api|uploads|_health)`)

// REST reports whether the step asks the REST API, and not GraphQL.
func (s *Step) REST() bool { return s.Request.GraphQL == nil && restPath.MatchString(s.Request.Path) }

// Method returns the HTTP method that is used.
func (s *Step) Method() string {
	switch {
	case s.Request.Method != "":
		return s.Request.Method
	case s.Request.GraphQL != nil:
		return "POST"
	}
	return "GET"
}

// StepKey names a step within its suite: by its name, and its index too where several have that name.
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

// LoadSuites reads every suite of a directory, by name of file.
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
