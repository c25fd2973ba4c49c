package archive

import (
	"fmt"
	"strings"
	"unicode"
)

// maxUID bounds a uid. Strapi makes tables and routes of the parts of one, which are shorter.
const maxUID = 250

// CheckUID returns an error unless a text can be the uid of a content-type or component: names joined by dots, for
// content-types after a namespace and "::". Files are named after uids, so a name in one is never the name of a
// directory above, hidden, or a path.
func CheckUID(uid string) error {
	namespace, name, ok := strings.Cut(uid, "::")
	if !ok {
		namespace, name = "none", uid
	}
	valid := len(uid) <= maxUID && isName(namespace)
	for part := range strings.SplitSeq(name, ".") {
		valid = valid && isName(part)
	}
	if !valid {
		return fmt.Errorf("%.300q cannot be the uid of a content-type or component; the source is damaged, "+
			"or made to do harm", uid)
	}
	return nil
}

// isName reports whether a part of a uid is a word or several: without separators of paths and dots, and without
// characters that cannot be seen.
func isName(part string) bool {
	return strings.TrimSpace(part) != "" && !strings.ContainsFunc(part, func(c rune) bool {
		return strings.ContainsRune(`/\:.*?"<>|`, c) || c == unicode.ReplacementChar || unicode.In(c, unicode.C)
	})
}
