package tracing

import (
	"context"
	"maps"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A transport answers requests in place of a collector.
type transport func() (*http.Response, error)

func (t transport) RoundTrip(*http.Request) (*http.Response, error) { return t() }

func TestUploadIsTriedAgain(t *testing.T) {
	inTenSeconds := time.Date(2000, 1, 1, 0, 0, 10, 0, time.UTC).Format(http.TimeFormat) // the time of synctest
	const shortest, longest = 125 * time.Millisecond, 375 * time.Millisecond             // of a first wait
	for _, test := range []struct {
		name            string
		within          time.Duration // the limit of the caller
		again           []string      // the Retry-After of each answer before the collector takes the spans
		fails           error         // instead of the first answer
		requests        int           // 0 for several
		atLeast, atMost time.Duration // that all takes
		failed          string
	}{
		{"taken", time.Hour, nil, nil, 1, 0, 0, ""},
		{"busy", time.Hour, []string{""}, nil, 2, shortest, longest, ""},
		{"busy for ever", time.Hour, make([]string, 1e4), nil, 0, time.Minute, time.Minute, "503"},
		{"busy until the caller ends", time.Second, make([]string, 1e4), nil, 0, time.Second, time.Second, "503"},
		{"no pause", time.Hour, []string{"0"}, nil, 2, shortest, longest, ""},
		{"a pause", time.Hour, []string{"10"}, nil, 2, 10 * time.Second, 10 * time.Second, ""},
		{"a pause until a date", time.Hour, []string{inTenSeconds}, nil, 2, 10 * time.Second, 10 * time.Second, ""},
		{"a pause until a date that is past", time.Hour, []string{"Fri, 31 Dec 1999 23:59:59 GMT"}, nil, 2, shortest,
			longest, ""},
		{"a pause that is no time", time.Hour, []string{"soon"}, nil, 2, shortest, longest, ""},
		{"a pause that is too long", time.Hour, []string{"61"}, nil, 1, 0, 0, "503"},
		{"a pause of more than any number", time.Hour, []string{"99999999999999999999"}, nil, 1, 0, 0, "503"},
		{"a pause that is longer than what is left", time.Hour, []string{"40", "40"}, nil, 2, 40 * time.Second,
			40 * time.Second, "503"},
		{"a pause that is too long for the caller", 5 * time.Second, []string{"10"}, nil, 1, 0, 0, "503"},
		{"a timeout", time.Hour, nil, &net.DNSError{IsTimeout: true}, 2, shortest, longest, ""},
		{"a temporary error", time.Hour, nil, &net.DNSError{IsTemporary: true}, 2, shortest, longest, ""},
		{"no collector", time.Hour, nil, syscall.ECONNREFUSED, 1, 0, 0, "connection refused"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u, err := newUploader("http://collector.example", nil)
				if err != nil {
					t.Fatal(err)
				}
				requests := 0
				u.client.Transport = transport(func() (*http.Response, error) {
					if requests++; requests == 1 && test.fails != nil {
						return nil, test.fails
					}
					res := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}
					if requests <= len(test.again) {
						res.StatusCode, res.Status = http.StatusServiceUnavailable, "503 Service Unavailable"
						res.Header.Set("Retry-After", test.again[requests-1])
					}
					return res, nil
				})
				ctx, cancel := context.WithTimeout(t.Context(), test.within)
				defer cancel()
				began := time.Now()
				err = u.UploadTraces(ctx, nil)
				if took := time.Since(began); took < test.atLeast || took > test.atMost {
					t.Errorf("it takes %s, want %s to %s", took, test.atLeast, test.atMost)
				}
				if requests != test.requests && (test.requests > 0 || requests < 3) {
					t.Errorf("%d requests, want %d", requests, test.requests)
				}
				if (err == nil) != (test.failed == "") || err != nil && !strings.Contains(err.Error(), test.failed) {
					t.Errorf("%v, want %q", err, test.failed)
				}
			})
		})
	}
}

func TestHeadersOfTheEnvironment(t *testing.T) {
	for _, test := range []struct {
		text string
		want map[string]string
	}{
		{"", map[string]string{}},
		{"a=1, b = of%20two ", map[string]string{"a": "1", "b": "of two"}},
		{"a=1=2,b=", map[string]string{"a": "1=2", "b": ""}},
		{"a,b=2", map[string]string{"b": "2"}},
		{"=1,b=2", map[string]string{"b": "2"}},
		{"no token=1,b=2", map[string]string{"b": "2"}},
		{"a:=1,ä=1,b=2", map[string]string{"b": "2"}},
		{"a=%zz,b=2", map[string]string{"b": "2"}},
		{"a=1%0a2,b=2", map[string]string{"b": "2"}},
	} {
		if got := headersOf(test.text); !maps.Equal(got, test.want) {
			t.Errorf("%q gives %v, want %v", test.text, got, test.want)
		}
	}
}
