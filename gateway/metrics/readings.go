package metrics

import (
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"lectern/auth"
	"lectern/internal/admission"
	"lectern/internal/budget"
	"lectern/internal/lru"
	"lectern/media"
	"lectern/store"
	"lectern/webhooks"
)

// A Reading is what the parts of a server have counted, at the moment of a scrape.
type Reading struct {
	Store store.Stats
	Usage store.Usage
	State store.State

	Places             map[string]Places       // requests, connections, passwords, listeners, conditions, streams, processors
	Budgets            map[string]budget.Stats // requests, bodies
	Caches             map[string]lru.Stats    // plans, persisted
	RefusedConnections int64
	AcceptErrors       int64

	Uploads         media.Stats
	UploadsWritable bool
	Mails           auth.MailStats

	Webhooks map[string]webhooks.Status // by name

	Cluster *Cluster // nil unless the server is a node of a cluster
	Replica *Replica // nil unless the server is a replica

	Replicas       int    // that follow the server
	ReplicasBehind uint64 // entries that the last of them was not sent yet

	Reloads, FailedReloads int64
	LastBackup             time.Time // zero if none was taken since the start
}

// A Cluster is what a node knows of itself and its cluster.
type Cluster struct {
	Leads                         bool
	Term                          uint64
	LastIndex, Committed, Applied uint64
	LastContact                   time.Duration // 0 at the leader, negative if there was none
	Nodes, Voters                 int
	Proposals, FailedProposals    uint64
	DamagedFiles, RepairedFiles   uint64 // of the uploads on this node's disk
}

// A Replica is what a replica knows of itself.
type Replica struct {
	InStep bool
	Age    float64 // seconds since it had everything of its origin; NaN: it never had
}

// Places are the places of a semaphore.
type Places struct {
	admission.Stats
	Limit int
}

// A family is a metric that is read at a scrape. each calls emit with each of its values and the value of its label, if
// it has one.
type family struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	each func(r *Reading, emit func(value float64, label ...string))
}

// one returns a family of one value.
func one(kind prometheus.ValueType, name, help string, value func(*Reading) float64) family {
	return family{prometheus.NewDesc(name, help, nil, nil), kind,
		func(r *Reading, emit func(float64, ...string)) { emit(value(r)) }}
}

// by returns a family with a value for each element of a map, whose key is the label.
func by[T any](kind prometheus.ValueType, name, help, label string, all func(*Reading) map[string]T, value func(T) float64) family {
	return family{prometheus.NewDesc(name, help, []string{label}, nil), kind,
		func(r *Reading, emit func(float64, ...string)) {
			for key, of := range all(r) {
				emit(value(of), key)
			}
		}}
}

// ofCluster returns a family of one value, which only nodes of a cluster have.
func ofCluster(kind prometheus.ValueType, name, help string, value func(*Cluster) float64) family {
	return family{prometheus.NewDesc("lectern_cluster_"+name, help, nil, nil), kind,
		func(r *Reading, emit func(float64, ...string)) {
			if r.Cluster != nil {
				emit(value(r.Cluster))
			}
		}}
}

// ofReplica returns a family of one value, which only replicas have.
func ofReplica(kind prometheus.ValueType, name, help string, value func(*Replica) float64) family {
	return family{prometheus.NewDesc("lectern_replica_"+name, help, nil, nil), kind,
		func(r *Reading, emit func(float64, ...string)) {
			if r.Replica != nil {
				emit(value(r.Replica))
			}
		}}
}

const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

func places(r *Reading) map[string]Places        { return r.Places }
func budgets(r *Reading) map[string]budget.Stats { return r.Budgets }
func caches(r *Reading) map[string]lru.Stats     { return r.Caches }

func hooks(r *Reading) map[string]webhooks.Status { return r.Webhooks }

// age returns how long ago the oldest event of a webhook happened that waits, in seconds; 0 if none does.
func age(h webhooks.Status) float64 {
	if h.Oldest.IsZero() {
		return 0
	}
	return max(time.Since(h.Oldest).Seconds(), 0)
}

// withRelationCache adds the relation cache of the store to the caches that count their entries.
func withRelationCache(r *Reading) map[string]lru.Stats {
	all := map[string]lru.Stats{"relations": {Hits: int64(r.Store.RelationHits), Misses: int64(r.Store.RelationMisses)}}
	maps.Copy(all, r.Caches)
	return all
}

// families lists the metrics that are read at a scrape.
var families = []family{
	{
		prometheus.NewDesc("lectern_store_queries_total",
			"Queries, by the way in which their rows were found. A filter through a relation counts as a query.",
			[]string{"plan"}, nil), counter,
		func(r *Reading, emit func(float64, ...string)) {
			for kind, n := range r.Store.Plans {
				emit(float64(n), store.PlanKind(kind).String())
			}
		},
	}, {
		prometheus.NewDesc("lectern_store_state", "1 for the state of the store: sound, full, lost or damaged.",
			[]string{"state"}, nil), gauge,
		func(r *Reading, emit func(float64, ...string)) {
			for state := store.Sound; state <= store.Damaged; state++ {
				emit(boolean(state == r.State), state.String())
			}
		},
	},
	one(counter, "lectern_store_rows_read_total", "Rows read.",
		func(r *Reading) float64 { return float64(r.Store.Rows) }),
	one(counter, "lectern_store_index_entries_read_total", "Index entries walked over.",
		func(r *Reading) float64 { return float64(r.Store.Entries) }),
	one(counter, "lectern_store_links_read_total", "Links walked over.",
		func(r *Reading) float64 { return float64(r.Store.Links) }),
	one(counter, "lectern_store_seeks_total", "Searches from the root of a tree.",
		func(r *Reading) float64 { return float64(r.Store.Seeks) }),
	one(counter, "lectern_store_writes_total", "Writes that changed something.",
		func(r *Reading) float64 { return float64(r.Store.Writes) }),
	one(counter, "lectern_store_commits_total", "Transactions that committed these writes.",
		func(r *Reading) float64 { return float64(r.Store.Commits) }),
	one(counter, "lectern_store_fsyncs_total", "Syncs of these transactions.",
		func(r *Reading) float64 { return float64(r.Store.Fsyncs) }),
	one(gauge, "lectern_store_size_bytes", "Length of the file of the store up to its last page in use.",
		func(r *Reading) float64 { return float64(r.Usage.Bytes) }),
	one(gauge, "lectern_store_free_bytes", "Pages in the file that hold nothing and that later writes can use.",
		func(r *Reading) float64 { return float64(r.Usage.FreeBytes) }),
	one(gauge, "lectern_store_snapshots", "Snapshots in use.",
		func(r *Reading) float64 { return float64(r.Usage.Snapshots) }),
	one(gauge, "lectern_store_oldest_snapshot_seconds",
		"Age of the oldest snapshot in use, exact to two seconds. While it lives, the pages that it sees cannot be used again.",
		func(r *Reading) float64 { return r.Usage.Oldest.Seconds() }),

	by(gauge, "lectern_places",
		"Places that are taken: requests at work, open connections, passwords being hashed, listeners to changes, "+
			"conditions of subscriptions, streams, processors that long reads hold.", "of", places, func(p Places) float64 { return float64(p.Held) }),
	by(gauge, "lectern_places_limit", "How many places there are.", "of", places,
		func(p Places) float64 { return float64(p.Limit) }),
	by(gauge, "lectern_places_waiting", "How many wait for a place.", "of", places,
		func(p Places) float64 { return float64(p.Waiting) }),
	by(counter, "lectern_places_refused_total", "How many got no place.", "of", places,
		func(p Places) float64 { return float64(p.Refused) }),
	one(counter, "lectern_connections_refused_total",
		"Connections that were closed at once because there were too many.",
		func(r *Reading) float64 { return float64(r.RefusedConnections) }),
	one(counter, "lectern_accept_errors_total",
		"Connections that the system did not accept, for example for lack of file descriptors.",
		func(r *Reading) float64 { return float64(r.AcceptErrors) }),

	by(gauge, "lectern_memory_limit_bytes", "Memory that all requests, or all bodies, may reserve.", "budget", budgets,
		func(b budget.Stats) float64 { return float64(b.Limit) }),
	by(gauge, "lectern_memory_reserved_bytes", "Memory that is reserved.", "budget", budgets,
		func(b budget.Stats) float64 { return float64(b.Reserved) }),
	by(gauge, "lectern_memory_waiting", "How many wait for memory.", "budget", budgets,
		func(b budget.Stats) float64 { return float64(b.Waiting) }),
	by(counter, "lectern_memory_denied_total", "Reservations that did not fit at once.", "budget", budgets,
		func(b budget.Stats) float64 { return float64(b.Denied) }),
	by(counter, "lectern_memory_refused_total", "Reservations that did not fit after waiting either.", "budget",
		budgets, func(b budget.Stats) float64 { return float64(b.Refused) }),

	by(counter, "lectern_cache_hits_total", "Look-ups that a cache answered.", "cache", withRelationCache,
		func(s lru.Stats) float64 { return float64(s.Hits) }),
	by(counter, "lectern_cache_misses_total", "Look-ups that a cache did not answer.", "cache", withRelationCache,
		func(s lru.Stats) float64 { return float64(s.Misses) }),
	by(gauge, "lectern_cache_entries", "Entries of a cache.", "cache", caches,
		func(s lru.Stats) float64 { return float64(s.Entries) }),
	by(gauge, "lectern_cache_bytes", "Estimated memory of a cache.", "cache", caches,
		func(s lru.Stats) float64 { return float64(s.Bytes) }),

	one(counter, "lectern_uploaded_files_total", "Files that were uploaded.",
		func(r *Reading) float64 { return float64(r.Uploads.Files) }),
	one(counter, "lectern_uploaded_bytes_total", "Bytes of these files.",
		func(r *Reading) float64 { return float64(r.Uploads.Bytes) }),
	one(gauge, "lectern_uploads_writable", "1 if files can be stored, or if uploads are switched off.",
		func(r *Reading) float64 { return boolean(r.UploadsWritable) }),
	one(gauge, "lectern_mail_queue_length", "Mails that wait to be sent.",
		func(r *Reading) float64 { return float64(r.Mails.Waiting) }),
	one(counter, "lectern_mails_sent_total", "Tasks of the mail queue that were done.",
		func(r *Reading) float64 { return float64(r.Mails.Sent) }),
	one(counter, "lectern_mails_failed_total", "Mails that could not be sent.",
		func(r *Reading) float64 { return float64(r.Mails.Failed) }),

	{
		prometheus.NewDesc("lectern_webhook_requests_total", "Requests of webhooks, by outcome: delivered, or failed.",
			[]string{"webhook", "outcome"}, nil), counter,
		func(r *Reading, emit func(float64, ...string)) {
			for name, h := range r.Webhooks {
				emit(float64(h.Counters.Delivered), name, "delivered")
				emit(float64(h.Counters.Failed), name, "failed")
			}
		},
	},
	by(counter, "lectern_webhook_retries_total", "Requests of webhooks after the first one of an event.", "webhook",
		hooks, func(h webhooks.Status) float64 { return float64(h.Counters.Retried) }),
	by(counter, "lectern_webhook_given_up_total", "Events that became dead letters.", "webhook", hooks,
		func(h webhooks.Status) float64 { return float64(h.Counters.DeadLetters) }),
	by(counter, "lectern_webhook_lost_entries_total",
		"Entries of the log that were removed before a webhook had read them.", "webhook", hooks,
		func(h webhooks.Status) float64 { return float64(h.Counters.LostEntries) }),
	by(gauge, "lectern_webhook_dead_letters", "Dead letters that are kept.", "webhook", hooks,
		func(h webhooks.Status) float64 { return float64(h.Dead) }),
	by(gauge, "lectern_webhook_waiting", "Events in memory that are not delivered.", "webhook", hooks,
		func(h webhooks.Status) float64 { return float64(h.Waiting) }),
	by(gauge, "lectern_webhook_unread_entries", "Entries of the log that a webhook has not read.", "webhook", hooks,
		func(h webhooks.Status) float64 { return float64(h.Unread) }),
	by(gauge, "lectern_webhook_lag_seconds",
		"Age of the oldest event in memory that is not delivered; 0 if there is none.", "webhook", hooks, age),
	by(gauge, "lectern_webhook_up", "1 unless the receiver is down, or the webhook is stopped.", "webhook", hooks,
		func(h webhooks.Status) float64 { return boolean(!h.Down && h.Stopped == "") }),

	ofReplica(gauge, "in_step", "1 if this replica has everything of its origin.",
		func(s *Replica) float64 { return boolean(s.InStep) }),
	ofReplica(gauge, "age_seconds", "How long ago this replica had everything of its origin; 0 while it is in step.",
		func(s *Replica) float64 { return s.Age }),
	one(gauge, "lectern_replicas", "Replicas that follow this server now.",
		func(r *Reading) float64 { return float64(r.Replicas) }),
	one(gauge, "lectern_replicas_behind_entries",
		"Entries of the log that were not sent yet to the replica that is furthest behind.",
		func(r *Reading) float64 { return float64(r.ReplicasBehind) }),
	ofCluster(gauge, "leader", "1 if this node leads its cluster.",
		func(c *Cluster) float64 { return boolean(c.Leads) }),
	ofCluster(gauge, "term", "The term of Raft, which grows with each election.",
		func(c *Cluster) float64 { return float64(c.Term) }),
	ofCluster(gauge, "last_index", "The end of this node's log of Raft.",
		func(c *Cluster) float64 { return float64(c.LastIndex) }),
	ofCluster(gauge, "committed_index",
		"The index in Raft's log up to which a majority of the nodes has it, as far as this node knows.",
		func(c *Cluster) float64 { return float64(c.Committed) }),
	ofCluster(gauge, "applied_index", "The index in Raft's log up to which this node has applied the transactions.",
		func(c *Cluster) float64 { return float64(c.Applied) }),
	ofCluster(gauge, "last_contact_seconds",
		"How long ago this node last heard from the leader; 0 at the leader, -1 if that never was.",
		func(c *Cluster) float64 { return max(c.LastContact.Seconds(), -1) }),
	ofCluster(gauge, "nodes", "Nodes of the cluster.", func(c *Cluster) float64 { return float64(c.Nodes) }),
	ofCluster(gauge, "voters", "Nodes that have a vote.", func(c *Cluster) float64 { return float64(c.Voters) }),
	ofCluster(counter, "proposals_total", "Transactions that this node has proposed as the leader.",
		func(c *Cluster) float64 { return float64(c.Proposals) }),
	ofCluster(counter, "failed_proposals_total", "Proposals that were refused, or of which the outcome was not known.",
		func(c *Cluster) float64 { return float64(c.FailedProposals) }),
	ofCluster(counter, "damaged_files_total", "Uploaded files that were found damaged on the disk of this node.",
		func(c *Cluster) float64 { return float64(c.DamagedFiles) }),
	ofCluster(counter, "repaired_files_total", "Damaged files that were replaced by the content that another node has.",
		func(c *Cluster) float64 { return float64(c.RepairedFiles) }),

	{
		prometheus.NewDesc("lectern_reloads_total", "Changes of the project's files, by result: served, or failed.",
			[]string{"result"}, nil), counter,
		func(r *Reading, emit func(float64, ...string)) {
			emit(float64(r.Reloads), "served")
			emit(float64(r.FailedReloads), "failed")
		},
	},
	one(gauge, "lectern_last_backup_timestamp_seconds",
		"When the last backup of the running server was complete; 0 if there was none since its start.",
		func(r *Reading) float64 {
			if r.LastBackup.IsZero() {
				return 0
			}
			return float64(r.LastBackup.UnixMilli()) / 1000
		}),
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// readings collects the families: it calls read once for each scrape.
type readings struct{ read func() Reading }

var _ prometheus.Collector = readings{}

// Describe implements prometheus.Collector.
func (c readings) Describe(ch chan<- *prometheus.Desc) {
	for _, f := range families {
		ch <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c readings) Collect(ch chan<- prometheus.Metric) {
	r := c.read()
	for _, f := range families {
		f.each(&r, func(value float64, label ...string) {
			ch <- prometheus.MustNewConstMetric(f.desc, f.kind, value, label...)
		})
	}
}
