// Package etag reads the headers If-Match and If-None-Match, and makes entity tags from hashes.
package etag

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// AppendHash appends a hash of text that is long enough to identify it, in letters that an entity tag may have.
func AppendHash(dst, text []byte) []byte {
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.AppendEncode(dst, sum[:16])
}

// Each calls yield with the entity tags that the lines of a header list, until yield returns false. A tag is strong as
// it is listed, without W/. Commas inside of tags count as ends, because no tag of this program has one.
func Each(header []string, yield func(tag string, weak bool) bool) {
	for _, line := range header {
		for listed := range strings.SplitSeq(line, ",") {
			tag := strings.TrimSpace(listed)
			strong := strings.TrimPrefix(tag, "W/")
			if !yield(strong, len(strong) < len(tag)) {
				return
			}
		}
	}
}

// Lists reports whether a header If-None-Match has an entity tag, compared weakly. The value * is no tag.
func Lists(header []string, tag []byte) (found bool) {
	Each(header, func(listed string, _ bool) bool {
		found = listed == string(tag)
		return !found
	})
	return found
}

// Excludes reports whether a read is to be answered 412 because of its header If-Match: it names other answers than the
// one with the entity tag, compared strongly (RFC 9110, section 13.1.1).
func Excludes(header []string, tag []byte) bool {
	if len(header) == 0 || IsAny(header) {
		return false
	}
	found := false
	Each(header, func(listed string, weak bool) bool {
		found = !weak && listed == string(tag)
		return !found
	})
	return !found
}

// IsAny reports whether a header is the value *, which stands for any entity tag.
func IsAny(header []string) bool { return len(header) == 1 && strings.TrimSpace(header[0]) == "*" }

// Suffixes end the entity tags of compressed answers, inside their quotes, because a strong tag identifies the bytes
// that are sent.
var Suffixes = []string{"-gzip", "-zstd"}

// Plain returns a header with the tags of compressed answers, which end in one of suffixes, replaced by those of the
// same answers without compression, since both change together.
func Plain(header string, suffixes []string) string {
	for _, suffix := range suffixes {
		header = strings.ReplaceAll(header, suffix+`"`, `"`)
	}
	return header
}
