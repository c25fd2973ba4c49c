// Package costs holds a table of what requests cost: how much memory the server allocates for each kind of request.
package costs
