package openapi

import (
	"lectern/jsontree"
)

// routes describes the routes that belong to no content-type, by method and path below the prefix. A function returns nil if its reader has
// no use for the route.
var routes = map[string]func(*builder) *operation{}

var _ = jsontree.NewObject
