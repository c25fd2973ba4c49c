// Sbom writes the bill of materials of a Lectern binary to standard output, in the JSON format of CycloneDX 1.5.
//
//	sbom -version v1.2.3 -time 1767225600 -npm gateway/internal/pages/sandbox/package-lock.json BINARY
//
// It lists the Go modules and the standard library that are linked into the binary, as the binary itself tells, and the
// npm packages of the GraphQL IDE, as the lock file tells. The same arguments give the same bytes.
package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

func main() {
	version := flag.String("version", "", "`version` of Lectern")
	seconds := flag.Int64("time", 0, "time of the commit, in `seconds` since 1970")
	lock := flag.String("npm", "", "package-lock.json of the IDE")
	flag.Parse()
	if err := run(os.Stdout, flag.Arg(0), *version, *lock, time.Unix(*seconds, 0)); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, binary, version, lock string, at time.Time) error {
	b, err := billOf(binary, version, at)
	if err != nil {
		return err
	}
	if lock != "" {
		packages, err := npmPackages(lock)
		if err != nil {
			return err
		}
		b.add(packages)
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(b)
}

// A bill is a bill of materials: https://cyclonedx.org/docs/1.5/json/.
type bill struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp time.Time `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Ref      string    `json:"bom-ref"`
	Type     string    `json:"type"`
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	Scope    string    `json:"scope,omitempty"`
	Hashes   []hash    `json:"hashes,omitempty"`
	Licenses []license `json:"licenses,omitempty"`
	URL      string    `json:"purl"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"` // in hexadecimal digits
}

type license struct {
	Expression string `json:"expression"` // of SPDX
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// billOf returns the bill of a binary with its Go modules.
func billOf(binary, version string, at time.Time) (*bill, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	program := library("pkg:golang/"+info.Main.Path+"@"+version, strings.TrimSuffix(filepath.Base(binary), ".exe"),
		version)
	program.Type, program.Scope, program.Hashes = "application", "", []hash{{"SHA-256", hex.EncodeToString(sum[:])}}
	b := &bill{
		Format: "CycloneDX", SpecVersion: "1.5", Version: 1,
		Metadata:     metadata{at.UTC(), program},
		Dependencies: []dependency{{Ref: program.Ref}},
	}
	golang := strings.TrimPrefix(info.GoVersion, "go")
	modules := []component{library("pkg:golang/std@"+golang, "std", golang)}
	for _, m := range info.Deps {
		c, err := module(m)
		if err != nil {
			return nil, err
		}
		modules = append(modules, c)
	}
	b.add(modules)
	return b, nil
}

// add adds components that the program depends on, in the order of their URLs.
func (b *bill) add(list []component) {
	b.Components = append(b.Components, list...)
	slices.SortFunc(b.Components, func(x, y component) int { return cmp.Compare(x.URL, y.URL) })
	all := &b.Dependencies[0].DependsOn
	for *all = nil; len(*all) < len(b.Components); {
		*all = append(*all, b.Components[len(*all)].Ref)
	}
}

func library(url, name, version string) component {
	return component{Ref: url, Type: "library", Name: name, Version: version, Scope: "required", URL: url}
}

// module returns the component of a Go module. Its hash is the one in go.sum.
func module(m *debug.Module) (component, error) {
	if m.Replace != nil {
		m = m.Replace
	}
	c := library("pkg:golang/"+m.Path+"@"+m.Version, m.Path, m.Version)
	digest, ok := strings.CutPrefix(m.Sum, "h1:")
	sum, err := base64.StdEncoding.DecodeString(digest)
	if !ok || err != nil {
		return c, fmt.Errorf("module %s has no checksum", m.Path)
	}
	c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
	return c, nil
}

// npmPackages returns the packages of a lock file that a bundle for browsers may hold: all but those for development.
func npmPackages(lock string) ([]component, error) {
	text, err := os.ReadFile(lock)
	if err != nil {
		return nil, err
	}
	var file struct {
		Packages map[string]struct {
			Version, Integrity, License string
			Dev, DevOptional, Optional  bool
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("read %s: %w", lock, err)
	}
	if len(file.Packages) == 0 {
		return nil, errors.New(lock + " lists no packages")
	}
	byURL := map[string]component{}
	for path, p := range file.Packages {
		const dir = "node_modules/"
		if !strings.HasPrefix(path, dir) || p.Dev || p.DevOptional || p.Optional {
			continue
		}
		name := path[strings.LastIndex(path, dir)+len(dir):]
		c := library("pkg:npm/"+strings.Replace(name, "@", "%40", 1)+"@"+p.Version, name, p.Version)
		if digest, ok := strings.CutPrefix(p.Integrity, "sha512-"); ok {
			sum, err := base64.StdEncoding.DecodeString(digest)
			if err != nil {
				return nil, fmt.Errorf("the checksum of %s in %s: %w", name, lock, err)
			}
			c.Hashes = []hash{{"SHA-512", hex.EncodeToString(sum)}}
		}
		if p.License != "" {
			c.Licenses = []license{{p.License}}
		}
		byURL[c.URL] = c
	}
	var list []component
	for _, c := range byURL {
		list = append(list, c)
	}
	return list, nil
}
