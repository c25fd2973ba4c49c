// Package accept finds out which media type or encoding a client prefers, from its headers Accept and Accept-Encoding.
package accept

import (
	"slices"
	"strconv"
	"strings"
)

// Media types of answers.
const (
	JSON    = "application/json"
	GraphQL = "application/graphql-response+json"
	Events  = "text/event-stream"
)

// Choose returns the media type that the headers Accept prefer: that with the greatest q, then the first in the header,
// then the first of offers. Without a header it returns the first offer. It returns "" if no offer is accepted.
func Choose(accept []string, offers ...string) string {
	header := strings.Join(accept, ",")
	if strings.TrimSpace(header) == "" {
		return offers[0]
	}
	best, bestQ, first := "", 0.0, 0
	for _, offer := range offers {
		q, position := Quality(header, offer)
		if q > bestQ || q > 0 && q == bestQ && position < first {
			best, bestQ, first = offer, q, position
		}
	}
	return best
}

// Prefers reports whether the headers Accept name a media type and prefer it to all others. Headers that do not name it
// cost nearly nothing.
func Prefers(accept []string, mediaType string, others ...string) bool {
	return slices.ContainsFunc(accept, func(value string) bool { return strings.Contains(value, mediaType) }) &&
		Choose(accept, append(others, mediaType)...) == mediaType
}

// PrefersEvents reports whether the headers Accept prefer a stream of events to other answers.
func PrefersEvents(accept []string) bool { return Prefers(accept, Events, JSON, GraphQL) }

// Quality returns the q of an offer in a header Accept or Accept-Encoding, and the position of the range that gives it.
// An exact name has priority over a range with stars.
func Quality(header, offer string) (q float64, position int) {
	kind, _, _ := strings.Cut(offer, "/")
	exactness, i := 0, 0
	for part := range strings.SplitSeq(header, ",") {
		i++
		name, parameters, _ := strings.Cut(part, ";")
		exact := 0
		switch name = strings.ToLower(strings.TrimSpace(name)); name {
		case offer:
			exact = 3
		case kind + "/*":
			exact = 2
		case "*/*":
			exact = 1
		}
		if exact > exactness {
			exactness, position, q = exact, i, quality(parameters)
		}
	}
	return q, position
}

// Gzip reports whether a header Accept-Encoding accepts gzip.
func Gzip(header string) bool {
	accepted := false
	for part := range strings.SplitSeq(header, ",") {
		name, parameters, _ := strings.Cut(part, ";")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "gzip":
			return quality(parameters) > 0
		case "*":
			accepted = quality(parameters) > 0
		}
	}
	return accepted
}

// quality returns the parameter q; 1 if there is none.
func quality(parameters string) float64 {
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !(q >= 0) {
			return 0
		}
		return min(q, 1)
	}
	return 1
}
