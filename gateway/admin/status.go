package admin

import (
	"context"
	"net/http"
	"time"
)

// A Status is how a server is, and what it has done in the last day. Times of requests are in milliseconds.
type Status struct {
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Mode    string    `json:"mode"` // single, replica or node
	// Condition is what GET /_ready says.
	Condition Condition `json:"condition"`

	Memory int64  `json:"memory"` // bytes that the process has from the system, without the pages of the store
	Disk   int64  `json:"disk"`   // bytes of the file of the store
	Free   *int64 `json:"free"`   // bytes that are left on its disk; nil if the system does not say

	// Series has a sample for each minute of the last day, the oldest first, and one of now.
	Series StatusSeries `json:"series"`
	// Since is when the counting of Routes began: within the last 28 hours.
	Since  time.Time     `json:"since"`
	Routes []RouteStatus `json:"routes"` // that had requests, those with the most first

	// SlowAfter is how long a request takes at least to be among Slow. Slow and Failed have the last ones, the newest
	// first; Failed those that were answered with 500 or above.
	SlowAfter int64          `json:"slowAfter"`
	Slow      []NotedRequest `json:"slow"`
	Failed    []NotedRequest `json:"failed"`

	LastBackup *time.Time      `json:"lastBackup"` // nil if none was taken since the start
	Warnings   []string        `json:"warnings"`   // of lectern check, as far as a quick look at the content shows
	Webhooks   []WebhookStatus `json:"webhooks"`
	Replicas   []Following     `json:"replicas"` // that follow the server
	Cluster    *ClusterStatus  `json:"cluster"`  // nil unless the server is a node
}

// StatusSeries are numbers by time, as columns of the same length.
type StatusSeries struct {
	Times []int64 `json:"times"` // Unix seconds

	// Since the sample before:
	Requests     []uint64   `json:"requests"`
	ClientErrors []uint64   `json:"clientErrors"` // answered with 400 to 499
	ServerErrors []uint64   `json:"serverErrors"` // answered with 500 or above
	Writes       []uint64   `json:"writes"`       // that changed something
	P50          []*float64 `json:"p50"`          // quantiles of the time of requests; nil where there was none
	P95          []*float64 `json:"p95"`
	P99          []*float64 `json:"p99"`

	// At the time of the sample:
	Memory []int64  `json:"memory"`
	Disk   []int64  `json:"disk"`
	Free   []*int64 `json:"free"`
}

// A RouteStatus is what the requests of a route and method come to.
type RouteStatus struct {
	Route        string   `json:"route"`
	Method       string   `json:"method"`
	Requests     uint64   `json:"requests"`
	ClientErrors uint64   `json:"clientErrors"`
	ServerErrors uint64   `json:"serverErrors"`
	P50          *float64 `json:"p50"`
	P95          *float64 `json:"p95"`
	P99          *float64 `json:"p99"`
}

// A NotedRequest is a request that was slow or failed. It has what the access log has of it, but not its client.
type NotedRequest struct {
	ID        string    `json:"id"` // x-request-id, by which the log has it
	At        time.Time `json:"at"`
	Method    string    `json:"method"`
	Route     string    `json:"route"` // the pattern
	Status    int       `json:"status"`
	Took      float64   `json:"took"`
	Principal string    `json:"principal,omitempty"` // the kind
	Reason    string    `json:"reason,omitempty"`    // of a refusal
}

// A WebhookStatus says what a webhook still has to send.
type WebhookStatus struct {
	Name        string     `json:"name"`
	Waiting     uint64     `json:"waiting"` // events, and entries of the log that may be some
	Oldest      *time.Time `json:"oldest"`  // the time of the oldest event that waits
	DeadLetters int        `json:"deadLetters"`
	Down        bool       `json:"down"` // the receiver does not answer
	Stopped     string     `json:"stopped,omitempty"`
}

// Status asks the server that runs on the data directory how it is, and what it has done in the last day.
func (d *Directory) Status(ctx context.Context) (Status, error) {
	return callRunning[Status](ctx, d, http.MethodGet, "/status", nil)
}
