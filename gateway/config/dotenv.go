package config

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"

	"lectern/internal/yamlfile"
)

// environment returns a lookup of environment variables for the files of the project in dir. The variables of the
// process take precedence over those in the file .env.
func environment(dir string) (yamlfile.Lookup, yamlfile.Problems) {
	text, err := yamlfile.ReadFile(os.DirFS(dir), ".env")
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return os.LookupEnv, nil
		}
		return os.LookupEnv, yamlfile.Problems{{File: ".env", Message: yamlfile.ReadProblem(err)}}
	}
	file, problems := parseDotEnv(text)
	return func(name string) (string, bool) {
		if value, ok := os.LookupEnv(name); ok {
			return value, true
		}
		value, ok := file[name]
		return value, ok
	}, problems
}

// parseDotEnv reads lines of NAME=value, which may begin with "export". A value in double quotes may contain the
// escapes \n, \t, \" and \\. A value in single quotes is literal. A value without quotes ends before " #", which begins
// a comment.
func parseDotEnv(text []byte) (map[string]string, yamlfile.Problems) {
	values := map[string]string{}
	var problems yamlfile.Problems
	lines := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	lines.Buffer(nil, len(text)+64)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "export "); ok {
			line = strings.TrimSpace(rest)
		}
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if ok && yamlfile.IsVariable(name) {
			value, ok = unquoteEnv(strings.TrimSpace(value))
		} else {
			ok = false
		}
		if !ok {
			// The message does not show the line, since it may hold a secret.
			problems = append(problems, yamlfile.Problem{File: ".env", Line: number,
				Message: `this is no variable; write NAME=value, or NAME="value" with quotes around it`})
			continue
		}
		values[name] = value
	}
	return values, problems
}

func unquoteEnv(s string) (value string, ok bool) {
	if s == "" {
		return "", true
	}
	switch quote := s[0]; quote {
	case '\'', '"':
		end := closingQuote(s, quote)
		if end < 0 {
			return "", false
		}
		if rest := strings.TrimSpace(s[end+1:]); rest != "" && rest[0] != '#' {
			return "", false
		}
		value = s[1:end]
		if quote == '"' {
			value = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n", `\t`, "\t").Replace(value)
		}
		return value, true
	}
	if i := strings.Index(s, " #"); i >= 0 {
		s = s[:i]
	}
	return strings.TrimSpace(s), true
}

// closingQuote returns the index of the quote that closes the one at the beginning of s, or -1.
func closingQuote(s string, quote byte) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quote == '"':
			i++
		case s[i] == quote:
			return i
		}
	}
	return -1
}
