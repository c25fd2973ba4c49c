package gateway

import (
	"net/http"

	"github.com/gorilla/mux"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// schedulesPath is the path of schedules below the prefix of the API.
const schedulesPath = "/_schedules"

// scheduleRoutes returns the routes of schedules. Callers see and cancel the schedules whose action they may use themselves.
func (g *generation) scheduleRoutes(api *rest.API) []Route {
	path := g.Settings.REST.Prefix + schedulesPath
	list := Route{Method: http.MethodGet, Path: path, Whole: true}
	_, configured := g.extensions.configured(list.name())
	list.Handle = g.listSchedules(api.List(g.Model.Type(contenttypes.ScheduleUID)), configured)
	return []Route{
		list,
		{Method: http.MethodDelete, Path: path + "/{id}", user: g.onceOnly(g.cancelSchedule), keyed: true},
	}
}

// GET /api/_schedules: a page of the schedules that the caller may see. The query can filter, sort and page. configured says whether code of a program may
// change the answer.
func (g *generation) listSchedules(list *rest.Route, configured bool) func(http.ResponseWriter, *http.Request, *permission.Access) error {
	return func(w http.ResponseWriter, r *http.Request, access *permission.Access) error {
		if _, ok := documents.VisibleSchedules(g.Model, access); !ok {
			return apierror.Forbidden()
		}
		return list.Serve(w, r, rest.Call{Access: access, Limits: g.answers, Untagged: configured})
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
