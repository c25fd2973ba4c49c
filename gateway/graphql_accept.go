package gateway

import (
	"net/http"
	"strconv"
	"strings"
)

// mediaType chooses what a GraphQL answer is sent as: application/json, or application/graphql-response+json where a client
// wants that more; "" when it wants neither.
func mediaType(accept []string) string {
	return choose(accept, jsonType, graphqlType)
}

// prefersHTML reports whether a page is wanted more than an answer, as browsers do.
func prefersHTML(r *http.Request) bool {
	accept := r.Header["Accept"]
	if r.Method != http.MethodGet || len(accept) == 0 {
		return false
	}
	return choose(accept, jsonType, graphqlType, "text/html") == "text/html"
}

// choose returns the offer that the headers Accept want most: by q, then by the place in the header of what names it, then by
// the order of the offers. Without a header it is the first; when none is wanted, "".
func choose(accept []string, offers ...string) string {
	header := strings.Join(accept, ",")
	if strings.TrimSpace(header) == "" {
		return offers[0]
	}
	best, bestQ, bestPlace := "", 0.0, 0
	for _, offer := range offers {
		q, place := wanted(header, offer)
		if q > bestQ || q > 0 && q == bestQ && place < bestPlace {
			best, bestQ, bestPlace = offer, q, place
		}
	}
	return best
}

// wanted returns how much a header wants an offer, and where it says so. What names the offer in full counts more than what
// names it by stars.
func wanted(header, offer string) (q float64, place int) {
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
			exactness, place, q = exact, i, quality(parameters)
		}
	}
	return q, place
}

// quality is the parameter q, 1 where there is none.
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
