package media

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"lectern/documents/apierror"
	"lectern/internal/etag"
)

// errNoRange answers a read of parts of a file none of which exists. Like errOtherContent it is an error, and no work
// of http.ServeContent, which would answer it in plain text.
var errNoRange = &apierror.Error{Status: http.StatusRequestedRangeNotSatisfiable, Name: "RangeNotSatisfiableError",
	Message: "Range Not Satisfiable"}

// checkRange returns what http.ServeContent is to answer: r, or r without a Range header that is to be ignored. It
// fails with errNoRange if no requested part of the content exists. size, tag and modified are those of the content.
func checkRange(h http.Header, r *http.Request, size int64, tag string, modified time.Time) (*http.Request, error) {
	header := r.Header.Get("Range")
	if header == "" {
		return r, nil
	}
	valid, within := readRange(header, size)
	if !valid || r.Method == http.MethodHead { // ranges are for GET alone (RFC 9110, section 14.2)
		r = r.Clone(r.Context())
		r.Header.Del("Range")
		return r, nil
	}
	if within || size == 0 || isUnchanged(r.Header, tag, modified) ||
		!rangeApplies(r.Header.Get("If-Range"), tag, modified) {
		return r, nil
	}
	h.Set("Content-Range", fmt.Sprintf("bytes */%d", size))
	return nil, errNoRange
}

// readRange reports whether a Range header is well-formed, which is a list of first-last, first- and -length, and
// whether some part of content of the given size is within it.
func readRange(header string, size int64) (valid, within bool) {
	list, ok := strings.CutPrefix(header, "bytes=")
	if !ok {
		return false, false
	}
	for part := range strings.SplitSeq(list, ",") {
		from, to, ok := strings.Cut(strings.TrimSpace(part), "-")
		first, isFirst := position(from)
		last, isLast := position(to)
		if !ok || !isFirst || !isLast || from+to == "" || from != "" && to != "" && first > last {
			return false, false
		}
		within = within || from != "" && first < size || from == "" && last > 0
	}
	return true, within
}

// position returns the number that a part of a range has; 0 for one that is left out.
func position(s string) (n int64, ok bool) {
	if s == "" {
		return 0, true
	}
	u, err := strconv.ParseUint(s, 10, 63) // unlike ParseInt, it takes no sign
	return int64(u), err == nil
}

// isUnchanged reports whether a read is answered 304: it has If-None-Match or, without it, If-Modified-Since, for the
// present content.
func isUnchanged(h http.Header, tag string, modified time.Time) bool {
	if match := h["If-None-Match"]; match != nil {
		return etag.IsAny(match) || etag.Lists(match, []byte(tag))
	}
	since, err := http.ParseTime(h.Get("If-Modified-Since"))
	return err == nil && !modified.IsZero() && !modified.Truncate(time.Second).After(since)
}

// rangeApplies reports whether a Range header counts: there is no If-Range, or it names the present content (RFC 9110,
// section 13.1.5).
func rangeApplies(condition, tag string, modified time.Time) bool {
	if condition == "" || condition == tag {
		return true
	}
	at, err := http.ParseTime(condition)
	return err == nil && !modified.IsZero() && modified.Truncate(time.Second).Equal(at)
}
