package metrics

import (
	"cmp"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// A Total is what the requests of one route and method come to.
type Total struct {
	Route, Method string
	Requests      uint64
	ClientErrors  uint64 // answered with 400 to 499
	ServerErrors  uint64 // answered with 500 or above
	Took          Durations
}

// Durations counts requests by the time that they took: one number for each bucket of the histogram of requests, and
// one for those above all buckets.
type Durations [len(requestBuckets) + 1]uint64

// Add adds other requests.
func (d *Durations) Add(others *Durations) {
	for i, n := range others {
		d[i] += n
	}
}

// Subtract takes away requests that were counted before.
func (d *Durations) Subtract(before *Durations) {
	for i, n := range before {
		d[i] -= n
	}
}

// Quantile returns the time within which a share q of the requests was answered, as exactly as the buckets say; ok is
// false if there were none. Of requests above all buckets it says the upper end of these.
func (d *Durations) Quantile(q float64) (took time.Duration, ok bool) {
	var all uint64
	for _, n := range d {
		all += n
	}
	if all == 0 {
		return 0, false
	}
	rank, below, low := q*float64(all), 0.0, 0.0
	for i, high := range requestBuckets {
		if in := float64(d[i]); in > 0 && below+in >= rank {
			return seconds(low + (high-low)*(rank-below)/in), true
		}
		below, low = below+float64(d[i]), high
	}
	return seconds(low), true
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Totals returns what the requests so far come to, sorted by route and method.
func (m *Metrics) Totals() []Total {
	type name struct{ route, method string }
	at, all := map[name]int{}, []Total(nil)
	for key, of := range *m.series.Load() {
		i, known := at[name{key.route, key.method}]
		if !known {
			i = len(all)
			at[name{key.route, key.method}] = i
			all = append(all, Total{Route: key.route, Method: key.method, Took: durationsOf(of.durations)})
		}
		n := uint64(read(of.requests).GetCounter().GetValue())
		all[i].Requests += n
		switch key.status[0] {
		case '4':
			all[i].ClientErrors += n
		case '5':
			all[i].ServerErrors += n
		}
	}
	slices.SortFunc(all, func(x, y Total) int {
		return cmp.Or(cmp.Compare(x.Route, y.Route), cmp.Compare(x.Method, y.Method))
	})
	return all
}

// durationsOf returns what a histogram of requests has counted.
func durationsOf(o prometheus.Observer) (d Durations) {
	histogram, ok := o.(prometheus.Metric)
	if !ok {
		return d
	}
	counted, below := read(histogram).GetHistogram(), uint64(0)
	for i, bucket := range counted.GetBucket() {
		if i < len(requestBuckets) {
			d[i], below = bucket.GetCumulativeCount()-below, bucket.GetCumulativeCount()
		}
	}
	d[len(requestBuckets)] = counted.GetSampleCount() - below
	return d
}

// read returns the present value of a metric.
func read(m prometheus.Metric) *dto.Metric {
	value := &dto.Metric{}
	_ = m.Write(value) // fails only for metrics that were made of wrong values
	return value
}
