package auth

import (
	"slices"
	"time"
)

// A slidingWindow counts the requests that one sender was allowed lately. It keeps no time for each request: requests
// that come soon after one another are counted together in a run, until the last of them is older than the window. So
// it never allows too many, has at most runsInWindow+1 runs whatever the limit is, and allows a request again at most a
// runsInWindow-th of the window later than it could.
type slidingWindow struct {
	runs  []run         // oldest first
	first time.Duration // when the newest run began
}

// A run is a number of requests that were allowed within a runsInWindow-th of the window.
type run struct {
	last  time.Duration // when the last of them was allowed
	count int
}

const runsInWindow = 8

// take counts a request at a time, unless most requests were allowed in the window that ends then.
func (w *slidingWindow) take(now, window time.Duration, most int) Quota {
	left := most - w.count(now, window)
	if left <= 0 {
		return Quota{Reset: w.runs[len(w.runs)-1].last + window - now, Retry: w.runs[0].last + window - now}
	}
	// There are more than runsInWindow runs only if the clock is set back again and again.
	if len(w.runs) == 0 || len(w.runs) <= runsInWindow && now-w.first >= (window+runsInWindow-1)/runsInWindow {
		w.runs, w.first = append(w.runs, run{}), now
	}
	newest := &w.runs[len(w.runs)-1]
	newest.last = now
	newest.count++
	return Quota{Allowed: true, Remaining: left - 1, Reset: window}
}

// count returns how many requests the window that ends now holds, and drops the runs before it.
func (w *slidingWindow) count(now, window time.Duration) (total int) {
	gone := 0
	w.first = min(w.first, now)
	for i := range w.runs {
		r := &w.runs[i]
		r.last = min(r.last, now) // if the clock was set back, the run counts for one more window
		if r.last+window <= now {
			gone = i + 1
			continue
		}
		total += r.count
	}
	w.runs = slices.Delete(w.runs, 0, gone)
	return total
}
