package openapi

import "lectern/jsontree"

const hooksTag = "Webhooks"

var dateTime = typed("string", "format", "date-time")

// enveloped returns the schema of an answer with data.
func enveloped(data any) *jsontree.Object { return object("data", data, "meta", typed("object")) }

// GET /api/_webhooks
func (b *builder) listWebhooks() *operation {
	hook := b.schema("Webhook", func() any {
		return object("name", typed("string"),
			"url", typed("string", "description", "The address without what may be a credential."),
			"format", typed("string", "enum", []any{"standard", "strapi"}), "events", arrayOf(typed("string")),
			"types", nullable("array", "items", typed("string"), "description",
				"The types whose events are sent; null: all but users."),
			"state", typed("string", "enum", []any{"on", "down", "stopped", "disabled"}, "description",
				"`down`: the receiver does not answer. `stopped`: it answered 410."),
			"reason", nullable("string"), "waiting", typed("integer"), "unread", typed("integer"),
			"oldest", nullable("string", "format", "date-time"), "dead", typed("integer"), "delivered", typed("integer"),
			"failed", typed("integer"), "lostEntries", typed("integer"))
	})
	op := b.operation(hooksTag, "findWebhooks", "List the webhooks", "The webhooks.", enveloped(arrayOf(hook)))
	op.errors = readErrors
	return op
}

// webhookEvent returns the schema of an event of a webhook, with more about it.
func webhookEvent(more ...any) *jsontree.Object {
	return object(append([]any{"id", typed("string"), "event", typed("string"), "contentType", nullable("string"),
		"documentId", nullable("string"), "locale", nullable("string"),
		"status", nullable("string", "enum", []any{"draft", "published", nil}),
		"happenedAt", dateTime, "error", nullable("string")}, more...)...)
}

// GET /api/_webhooks/{name}/deliveries
func (b *builder) listDeliveries() *operation {
	deliveries := b.schema("WebhookDeliveries", func() any {
		return object(
			"attempts", arrayOf(webhookEvent("at", dateTime, "attempt", typed("integer"),
				"state", typed("string", "enum", []any{"delivered", "failed", "pending", "dead"}, "description",
					"Of the last attempt of an event: `pending` if it is tried again, `dead` if it was given up."),
				"answered", nullable("integer", "description", "The status of the answer."),
				"duration", typed("integer", "description", "In milliseconds."))),
			"pending", arrayOf(webhookEvent("attempts", typed("integer"), "nextAt", nullable("string", "format", "date-time"),
				"later", typed("integer", "description", "How many later events of the document wait for it."))),
			"dead", arrayOf(webhookEvent("attempts", typed("integer"), "givenUpAt", dateTime)))
	})
	op := b.operation(hooksTag, "findDeliveries", "List the attempts to deliver the events of a webhook",
		"The last 100 attempts, what is tried again, and the dead letters; the last ones first.", enveloped(deliveries))
	op.errors = readErrors
	return op
}

// POST /api/_webhooks/{name}/actions/test
func (b *builder) testWebhook() *operation {
	return b.operation(hooksTag, "testWebhook", "Send a webhook a test request", "How the receiver answered.",
		enveloped(object("answered", nullable("integer"), "duration", typed("integer"), "error",
			nullable("string"))))
}

// POST /api/_webhooks/{name}/actions/replay
func (b *builder) replayWebhook() *operation {
	op := b.operation(hooksTag, "replayWebhook", "Send events of a webhook again", "What is sent again.",
		enveloped(typed("object", "properties", jsontree.ObjectOf("events", typed("integer"), "deadLetters",
			typed("integer"), "entries", typed("integer"), "missing", typed("boolean", "description",
				"The log begins later than that.")))))
	op.description = "Without a body, the dead letters are sent again."
	op.body = jsontree.ObjectOf("content", jsonContent(object("data", optional(
		"since", typed("string", "format", "date-time", "description", "Sends all events again that happened since then."),
		"id", typed("string", "description", "Sends this event again, now."))),
		jsontree.ObjectOf("data", jsontree.ObjectOf("since", "2030-01-01T09:00:00Z"))))
	return op
}
