package openapi

// GET /api/_status
func (b *builder) serverStatus() *operation {
	integers := arrayOf(typed("integer"))
	milliseconds := nullable("number")
	request := object("id", typed("string", "description", "The header `x-request-id` of its answer."), "at", dateTime,
		"method", typed("string"), "route", typed("string"), "status", typed("integer"), "took", typed("number"))
	status := b.schema("ServerStatus", func() any {
		return object(
			"version", typed("string"), "started", dateTime, "mode", typed("string", "enum", []any{"single", "replica", "node"}),
			"condition", typed("object", "description", "What `GET /_ready` says."),
			"memory", typed("integer"), "disk", typed("integer"), "free", nullable("integer"),
			"series", object("times", integers, "requests", integers, "clientErrors", integers, "serverErrors", integers,
				"writes", integers, "p50", arrayOf(milliseconds), "p95", arrayOf(milliseconds), "p99", arrayOf(milliseconds),
				"memory", integers, "disk", integers, "free", arrayOf(nullable("integer"))),
			"since", dateTime,
			"routes", arrayOf(object("route", typed("string"), "method", typed("string"), "requests", typed("integer"),
				"clientErrors", typed("integer"), "serverErrors", typed("integer"), "p50", milliseconds, "p95", milliseconds,
				"p99", milliseconds)),
			"slowAfter", typed("integer"), "slow", arrayOf(request), "failed", arrayOf(request),
			"lastBackup", nullable("string", "format", "date-time"), "warnings", arrayOf(typed("string")),
			"webhooks", arrayOf(object("name", typed("string"), "waiting", typed("integer"),
				"oldest", nullable("string", "format", "date-time"), "deadLetters", typed("integer"), "down", typed("boolean"))),
			"replicas", arrayOf(object("client", typed("string"), "since", dateTime, "position", typed("string"),
				"behind", typed("integer"))),
			"cluster", nullable("object"))
	})
	op := b.operation(serverTag, "status", "See how the server is, and what it did in the last day",
		"The status. Times of requests are in milliseconds.", enveloped(status))
	op.errors = readErrors
	return op
}
