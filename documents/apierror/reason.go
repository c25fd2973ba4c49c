package apierror

// A Reason says why the server refused a request. The access log and the metrics show it; clients do not see it. It is
// one of the constants below, so that their number is bounded.
type Reason string

const (
	Credential  Reason = "credential"  // 401: the bearer token is unknown, expired or invalid
	Account     Reason = "account"     // 401: the token is valid, but its user is gone, blocked or has another password now
	Anonymous   Reason = "anonymous"   // 401: the route is for users, and the request has no user
	Permission  Reason = "permission"  // 403: the caller lacks a permission
	Policy      Reason = "policy"      // 403: a policy of the program refused the request
	Replica     Reason = "replica"     // 409: the server is a replica, which takes no writes
	Origin      Reason = "origin"      // 503: the server is a replica, and cannot forward a write to its origin
	BodySize    Reason = "body_size"   // 413: limits.json or limits.form
	FileSize    Reason = "file_size"   // 413: the limits of uploads
	Links       Reason = "links"       // 413: limits.links
	Components  Reason = "components"  // 413: limits.components
	Operations  Reason = "operations"  // 413: limits.operations, or the operations of a batch change too much
	Encoding    Reason = "encoding"    // 415: the Content-Encoding of the body is not supported
	Rate        Reason = "rate"        // 429: ratelimit of users-permissions, or rateLimit of config/api.yaml
	Passwords   Reason = "passwords"   // 429: too many passwords of one address wait to be hashed
	Places      Reason = "places"      // 503: limits.concurrent
	Share       Reason = "share"       // 503: limits.concurrentPerAddress
	Memory      Reason = "memory"      // 503: limits.memory
	Time        Reason = "time"        // 503: timeouts.request
	Starting    Reason = "starting"    // 503: the server opens the project
	Stopping    Reason = "stopping"    // 503: the server is stopping
	Definitions Reason = "definitions" // 503: the definitions changed during the request
	Store       Reason = "store"       // 503: the store takes no writes, because it is lost or damaged
	Provider    Reason = "provider"    // 502, 503: an identity provider cannot be reached, or its answer cannot be used
	Uploads     Reason = "uploads"     // 503: the directory of uploads is gone or cannot be written to
	Images      Reason = "images"      // 503: images on request take too long, or too many are being made
	Replaced    Reason = "replaced"    // 503: the file was replaced during the request
	Space       Reason = "space"       // 507: the disk is full
	Other       Reason = "other"       // an error of a program that extends the server
	AnswerSize  Reason = "answer_size" // 400: limits.answer, or graphql.config.limits.bytes

	// Limits of GraphQL operations: depthLimit, and those of graphql.config.limits.
	Depth              Reason = "depth"
	Tokens             Reason = "tokens"
	Nesting            Reason = "nesting"
	Selections         Reason = "selections"
	RootFields         Reason = "root_fields"
	Aliases            Reason = "aliases"
	Directives         Reason = "directives"
	Conditions         Reason = "conditions"
	SortKeys           Reason = "sort_keys"
	Cost               Reason = "cost"
	Rows               Reason = "rows"
	Introspections     Reason = "introspections"
	IntrospectionDepth Reason = "introspection_depth"
)
