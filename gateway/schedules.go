package gateway

import (
	"net/http"

	"github.com/gorilla/mux"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/gateway/internal/server"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// schedulesPath is the path of schedules below the prefix of the API.
const schedulesPath = "/_schedules"

// scheduleRoutes returns the routes of schedules. Callers see and cancel the schedules whose action they may use themselves.
func (g *generation) scheduleRoutes(api *rest.API) []server.Route {
	path := g.Settings.REST.Prefix + schedulesPath
	list := server.Route{Method: http.MethodGet, Path: path, Whole: true}
	_, configured := g.extensions.configured(nameOf(&list))
	list.Handle = g.listSchedules(api.List(g.Model.Type(contenttypes.ScheduleUID)), configured)
	return []server.Route{
		list,
		{Method: http.MethodDelete, Path: path + "/{id}", Handle: g.onceOnly(g.cancelSchedule), Keyed: true},
	}
}

// GET /api/_schedules: a page of the schedules that the caller may see. The query can filter, sort and page. configured says whether code of a program may
// change the answer.
func (g *generation) listSchedules(list *rest.Route, configured bool) server.Handler {
	return func(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
		if _, ok := documents.VisibleSchedules(g.Model, who.Access); !ok {
			return apierror.Forbidden()
		}
		return list.Serve(w, r, rest.Call{Access: who.Access, Limits: g.answers, Untagged: configured})
	}
}

// DELETE /api/_schedules/{id}: cancels the schedule with this documentId.
func (g *generation) cancelSchedule(w http.ResponseWriter, r *http.Request, who auth.Principal, once *store.Once) error {
	if _, ok := documents.VisibleSchedules(g.Model, who.Access); !ok {
		return apierror.Forbidden()
	}
	once.Keep(http.StatusNoContent, new([]byte))
	if err := g.docs.CancelSchedule(r.Context(), once, mux.Vars(r)["id"], who.Access); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
