package media

import (
	"crypto/rand"
	"encoding/hex"
	"path"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"lectern/documents/apierror"
	"lectern/internal/slug"
)

const (
	maxName = 255 // UTF-16 code units of a file's name
	maxStem = 120 // bytes of the stem in a stored name, which with prefix, hash and extension stays below 255 bytes
	maxExt  = 24
)

var errName = apierror.Application("File name contains invalid characters")

// sentName returns the file name that a form gives, without directories before a backslash, which some browsers send.
// It refuses a path, and characters that some file system forbids.
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

// checkName refuses a file name that is too long, not UTF-8, or has control characters.
func checkName(name string) error {
	if !utf8.ValidString(name) || len(utf16.Encode([]rune(name))) > maxName ||
		strings.ContainsFunc(name, unicode.IsControl) {
		return errName
	}
	return nil
}

// extension returns the extension of a name with its dot, or "" if there is none that may stand in a URL unescaped.
func extension(name string) string {
	ext := path.Ext(name)
	if len(ext) < 2 || len(ext) == len(name) || len(ext) > maxExt ||
		strings.ContainsFunc(ext[1:], func(r rune) bool { return !isPlain(r) }) {
		return ""
	}
	return ext
}

// newHash returns a unique name, without extension, to store a file under: the readable part of its own name and ten
// random digits.
func newHash(name string) string {
	var random [5]byte
	_, _ = rand.Read(random[:]) // never fails: crypto/rand ends the process instead
	return stem(name) + "_" + hex.EncodeToString(random[:])
}

// stem returns the words of a name without its extension, in ASCII letters and digits, joined by _. It has at most
// maxStem bytes.
func stem(name string) string {
	name = path.Base(name)
	if ext := extension(name); ext != "" {
		name = strings.TrimSuffix(name, ext)
	}
	words := strings.Join(slug.Words(name), "_")
	return strings.TrimSuffix(words[:min(len(words), maxStem)], "_")
}

func isPlain(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// isStoredName reports whether a name may be that of a stored file: one path element that does not begin with a dot.
func isStoredName(name string) bool {
	return name != "" && len(name) <= 255 && name[0] != '.' && !strings.ContainsFunc(name, func(r rune) bool {
		return r < ' ' || r == '/' || r == '\\' || r == ':' || r == 0x7f || r == utf8.RuneError
	})
}
