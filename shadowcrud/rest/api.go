// Package rest serves the content-types of a Model over the REST content API.
package rest

// An API answers the routes that a Model gives rise to.
type API struct{}
