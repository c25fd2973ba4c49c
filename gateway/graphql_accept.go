package gateway

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// mediaType returns the media type of the answer to a request with these headers Accept, "" if the client accepts none. If there are
// subscriptions, clients may ask for a stream of events too.
func (h *graphqlHandler) mediaType(accept []string) string {
	if h.positions != nil {
		return choose(accept, jsonType, graphqlType, eventStreamType)
	}
	return mediaType(accept)
}

// prefersEvents reports whether a client prefers a stream of events to other answers.
func prefersEvents(r *http.Request) bool {
	accept := r.Header["Accept"]
	return slices.ContainsFunc(accept, func(value string) bool { return strings.Contains(value, eventStreamType) }) &&
		choose(accept, jsonType, graphqlType, eventStreamType) == eventStreamType
}

// mediaType returns the media type of a GraphQL answer: application/json, or application/graphql-response+json if the client prefers that.
// It returns "" if the client accepts neither.
func mediaType(accept []string) string {
	return choose(accept, jsonType, graphqlType)
}

// prefersHTML reports whether the client prefers HTML to JSON, as browsers do.
func prefersHTML(r *http.Request) bool {
	accept := r.Header["Accept"]
	if r.Method != http.MethodGet || len(accept) == 0 {
		return false
	}
	return choose(accept, jsonType, graphqlType, "text/html") == "text/html"
}

// choose returns the media type that the headers Accept prefer: that with the greatest q, then the first in the header, then the first of
// offers. Without a header it returns the first offer. It returns "" if no offer is accepted.
func choose(accept []string, offers ...string) string {
	header := strings.Join(accept, ",")
	if strings.TrimSpace(header) == "" {
		return offers[0]
	}
	best, bestQ, first := "", 0.0, 0
	for _, offer := range offers {
		q, position := wanted(header, offer)
		if q > bestQ || q > 0 && q == bestQ && position < first {
			best, bestQ, first = offer, q, position
		}
	}
	return best
}

// wanted returns the q of an offer in a header and the position of the media range that gives it. An exact name has priority over a media
// range with stars.
func wanted(header, offer string) (q float64, position int) {
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
