package media

import (
	"crypto/rand"
	"encoding/hex"
	"path"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"lectern/documents/apierror"
)

const (
	maxName = 255 // UTF-16 units of a file's name
	maxStem = 120 // bytes that a stored name takes over from it: with all that comes before and after it stays below 255
	maxExt  = 24
)

var errName = apierror.Application("File name contains invalid characters")

// sentName is the name of a file as a form gives it: without directories before a backslash, which some browsers send. What
// would be a path, or no name on some system, is refused.
func sentName(name string) (string, error) {
	name = name[strings.LastIndexByte(name, '\\')+1:]
	if name == "" {
		return "unnamed", nil
	}
	if strings.ContainsAny(name, `/<>:"|?*`) || name == "." || name == ".." {
		return "", errName
	}
	return name, checkName(name)
}

// checkName refuses what no name of a file may hold, wherever it comes from.
func checkName(name string) error {
	if !utf8.ValidString(name) || len(utf16.Encode([]rune(name))) > maxName || strings.ContainsFunc(name, unicode.IsControl) {
		return errName
	}
	return nil
}

// extension is the extension of a name with its dot, "" where there is none or none that a url can hold as it stands.
func extension(name string) string {
	ext := path.Ext(name)
	if len(ext) < 2 || len(ext) == len(name) || len(ext) > maxExt || strings.ContainsFunc(ext[1:], func(r rune) bool { return !isPlain(r) }) {
		return ""
	}
	return ext
}

// newHash makes the name under which a file is stored, without extension: what is readable of its own name, and ten random
// digits so that no two files, and no file and one that was removed, have the same.
func newHash(name string) string {
	var random [5]byte
	_, _ = rand.Read(random[:]) // never fails: crypto/rand ends the process instead
	return stem(name) + "_" + hex.EncodeToString(random[:])
}

// stem is a name without its extension in letters and digits of ASCII; whatever else it holds becomes a single _.
func stem(name string) string {
	name = path.Base(name)
	if ext := extension(name); ext != "" {
		name = strings.TrimSuffix(name, ext)
	}
	var b strings.Builder
	gap := false
	for _, r := range norm.NFC.String(name) {
		for _, c := range transliterate(r) {
			if !isPlain(c) {
				gap = true
				continue
			}
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			gap = false
			b.WriteRune(c)
		}
		if b.Len() >= maxStem {
			break
		}
	}
	return b.String()
}

func isPlain(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// isStoredName reports whether a name may be one of a stored file: one part of a path that is not hidden.
func isStoredName(name string) bool {
	return name != "" && len(name) <= 255 && name[0] != '.' && !strings.ContainsFunc(name, func(r rune) bool {
		return r < ' ' || r == '/' || r == '\\' || r == ':' || r == 0x7f || r == utf8.RuneError
	})
}
