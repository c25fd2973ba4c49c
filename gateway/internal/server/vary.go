package server

import (
	"net/http"
	"slices"
	"strings"
)

// VaryByAccept adds Accept to the header Vary.
func VaryByAccept(h http.Header) {
	if !varies(h["Vary"], "Accept") {
		h["Vary"] = append(slices.Clip(h["Vary"]), "Accept")
	}
}

// VaryBeyond returns the lines of a header Vary without the names that own lines have.
func VaryBeyond(own, lines []string) []string {
	names := slices.DeleteFunc(varyNames(lines), func(name string) bool { return varies(own, name) })
	if len(names) == 0 {
		return nil
	}
	return []string{strings.Join(names, ", ")}
}

// varies reports whether the lines of a header Vary have a name. The name * stands for all.
func varies(lines []string, name string) bool {
	return slices.ContainsFunc(varyNames(lines), func(n string) bool { return n == "*" || strings.EqualFold(n, name) })
}

// varyNames returns the names in the lines of a header Vary.
func varyNames(lines []string) []string {
	return strings.FieldsFunc(strings.Join(lines, ","), func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
}
