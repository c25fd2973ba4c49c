// Package routes has the small resources beside the generated API: batches, the definitions, locales, schedules,
// webhooks, and the OpenAPI document.
package routes
