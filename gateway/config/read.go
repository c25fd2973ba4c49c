package config

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/internal/yamlfile"
)

// settingsFiles lists the files of config/, except permissions and webhooks, which Load reads after the content types.
var settingsFiles = []struct {
	name string
	read func(*Settings, *yamlfile.Node) yamlfile.Problems
}{
	{serverName, func(s *Settings, n *yamlfile.Node) yamlfile.Problems { return s.Server.readServer(n) }},
	{"api", func(s *Settings, n *yamlfile.Node) yamlfile.Problems { return s.REST.readREST(n) }},
	{"plugins", (*Settings).readPlugins},
}

const (
	serverName      = "server"
	permissionsName = "permissions"
	webhooksName    = "webhooks"
)

// readSettings reads the files of config/ except permissions and webhooks.
func readSettings(project fs.FS, lookup yamlfile.Lookup) (Settings, yamlfile.Problems) {
	s := Default()
	problems := unknownFiles(project)
	for _, f := range settingsFiles {
		n, found := readConfig(project, f.name, lookup)
		problems = append(problems, found...)
		if n != nil {
			problems = append(problems, f.read(&s, n)...)
		}
	}
	return s, slices.Concat(problems, s.checkCookie(), s.checkPaths())
}

// ReadReplica reads the settings replica of config/server.yaml in dir. A replica needs them before its origin has sent
// the other files of the project. If there are none, problems of the file are left to Load.
func ReadReplica(dir string) (Replica, error) {
	s, err := readServerAlone(dir)
	if s.Replica.URL == "" {
		return Replica{}, nil
	}
	return s.Replica, err
}

// ReadCluster reads the settings cluster of config/server.yaml in dir. A node needs them before it has the other files
// of the project. If there are none, problems of the file are left to Load.
func ReadCluster(dir string) (Cluster, error) {
	s, err := readServerAlone(dir)
	if s.Cluster.Name == "" {
		return Cluster{}, nil
	}
	return s.Cluster, err
}

// ReadLog reads the settings log of config/server.yaml in dir, for a server that logs before it has the other files of
// the project. Problems of the file are left to Load.
func ReadLog(dir string) Log {
	s, _ := readServerAlone(dir)
	return s.Log
}

// readServerAlone reads config/server.yaml in dir.
func readServerAlone(dir string) (Server, error) {
	lookup, problems := environment(dir)
	n, found := readConfig(os.DirFS(dir), serverName, lookup)
	problems = append(problems, found...)
	s := Default().Server
	if n != nil {
		problems = append(problems, s.readServer(n)...)
	}
	return s, problems.Err()
}

// checkPaths reports paths of the REST API and GraphQL that overlap each other, /uploads, /mcp or the paths for
// operators.
func (s *Settings) checkPaths() (problems yamlfile.Problems) {
	wrong := func(file, format string, args ...any) {
		problems = append(problems, yamlfile.Problem{File: file, Message: fmt.Sprintf(format, args...)})
	}
	paths := []string{"/uploads", "/_health", "/_ready", "/_metrics"}
	if s.MCP {
		paths = append(paths, "/mcp")
	}
	for _, taken := range paths {
		if within(s.REST.Prefix, taken) {
			wrong("config/api.yaml", "the prefix of rest is in the way of %s; choose another", taken)
		}
		if s.GraphQL.Enabled && within(s.GraphQL.Endpoint, taken) {
			wrong("config/plugins.yaml", "the endpoint of graphql is in the way of %s; choose another", taken)
		}
	}
	if s.GraphQL.Enabled && within(s.REST.Prefix, s.GraphQL.Endpoint) {
		wrong("config/plugins.yaml",
			"the endpoint of graphql is in the way of the prefix of rest in config/api.yaml; change one of them")
	}
	return problems
}

// checkEndpoint reports a GraphQL endpoint that overlaps a path of the REST API.
func (s *Settings) checkEndpoint(m *contenttypes.Model) (problems yamlfile.Problems) {
	if !s.GraphQL.Enabled {
		return nil
	}
	names := []string{"users", "auth", "users-permissions", "upload", "i18n"}
	for _, t := range m.Types {
		if t.Kind == contenttypes.SingleType {
			names = append(names, t.Singular)
		} else if !t.BuiltIn {
			names = append(names, t.Plural)
		}
	}
	for _, name := range names {
		if taken := s.REST.Prefix + "/" + name; within(s.GraphQL.Endpoint, taken) {
			problems = append(problems, yamlfile.Problem{File: "config/plugins.yaml",
				Message: fmt.Sprintf("the endpoint of graphql is in the way of %s; choose another", taken)})
		}
	}
	return problems
}

// within reports whether path is other or lies below it, ignoring case.
func within(path, other string) bool {
	return len(path) >= len(other) && strings.EqualFold(path[:len(other)], other) &&
		(len(path) == len(other) || path[len(other)] == '/')
}

// readConfig reads one file of config/. The node is nil if the file is empty, does not exist or cannot be read.
func readConfig(project fs.FS, name string, lookup yamlfile.Lookup) (*yamlfile.Node, yamlfile.Problems) {
	file, problems := yamlfile.Find(project, path.Join("config", name))
	if file == "" {
		return nil, problems
	}
	n, more := yamlfile.Read(project, file, lookup)
	if n.IsNull() {
		n = nil
	}
	return n, append(problems, more...)
}

// fileNames returns the names of all files of config/, without their extensions.
func fileNames() []string {
	names := []string{permissionsName, webhooksName}
	for _, f := range settingsFiles {
		names = append(names, f.name)
	}
	return names
}

// unknownFiles reports files in config/ that Load does not read, since their names are probably misspelled.
func unknownFiles(project fs.FS) (problems yamlfile.Problems) {
	entries, err := fs.ReadDir(project, "config")
	if err != nil {
		return nil // config/ is optional
	}
	known := fileNames()
	for _, e := range entries {
		base := strings.TrimSuffix(e.Name(), path.Ext(e.Name()))
		if yamlfile.HasExtension(e.Name()) && !slices.Contains(known, base) {
			problems = append(problems, yamlfile.Problem{File: path.Join("config", e.Name()),
				Message: "is not a file of the configuration; there are server, api, plugins, permissions and webhooks"})
		}
	}
	return problems
}

// together merges the problems of decoding, unfit, with those of checking the decoded values, wrong. It drops a problem
// of wrong that follows from one of unfit: a problem about the same key on the same line.
func together(unfit, wrong yamlfile.Problems) yamlfile.Problems {
	follows := func(w, u yamlfile.Problem) bool {
		if u.File != w.File || u.Line != w.Line {
			return false
		}
		if key, missing := strings.CutSuffix(u.Message, "\" is missing"); missing {
			return strings.Contains(w.Message, strings.TrimPrefix(key, "key \""))
		}
		return firstWord(u.Message) == firstWord(w.Message)
	}
	all := slices.Clone(unfit)
	for _, w := range wrong {
		if !slices.ContainsFunc(unfit, func(u yamlfile.Problem) bool { return follows(w, u) }) {
			all = append(all, w)
		}
	}
	return all.Sort()
}

// firstWord returns the first word of a message, which is the key that it is about.
func firstWord(message string) string {
	word, _, _ := strings.Cut(message, " ")
	return word
}
