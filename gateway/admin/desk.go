package admin

import (
	"context"
	"net/http"
	"net/url"
)

// DeskLink asks the server that runs on the data directory for a link that logs a browser in at the desk, once, within
// ten minutes: the user of a name, address or id, or an owner, who may do everything, if user is "".
func (d *Directory) DeskLink(ctx context.Context, user string) (string, error) {
	return callRunning[string](ctx, d, http.MethodPost, "/desk/link?user="+url.QueryEscape(user), nil)
}

// deskRoutes adds the route of the desk to those of the control socket.
func (c *Control) deskRoutes(mux *http.ServeMux) {
	mux.Handle("POST /desk/link",
		answer(func(r *http.Request) (string, error) { return c.DeskLink(r.URL.Query().Get("user")) }))
}
