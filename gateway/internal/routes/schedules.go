package routes

import (
	"net/http"

	"github.com/gorilla/mux"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/gateway/internal/idempotency"
	"lectern/gateway/internal/server"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// ScheduleOptions are what the routes of schedules need.
type ScheduleOptions struct {
	Prefix    string // of the content API
	Model     *contenttypes.Model
	Documents *documents.Service
	REST      *rest.API
	Answers   *rest.AnswerLimits
	Keys      *idempotency.Keys
	// Untagged says whether code of a program may change a list, which has no ETag then.
	Untagged func(list *server.Route) bool
}

type schedules struct {
	ScheduleOptions
	untagged bool
}

// Schedules returns the routes of schedules. Callers see and cancel the schedules whose action they may use themselves.
func Schedules(o ScheduleOptions) []server.Route {
	s := &schedules{ScheduleOptions: o}
	list := server.Route{Method: http.MethodGet, Path: o.Prefix + "/_schedules", Whole: true}
	s.untagged = o.Untagged(&list)
	list.Handle = s.list()
	return []server.Route{
		list,
		{Method: http.MethodDelete, Path: list.Path + "/{id}", Handle: o.Keys.Once(s.cancel), Keyed: true},
	}
}

// GET /api/_schedules: a page of the schedules that the caller may see. The query can filter, sort and page.
func (s *schedules) list() server.Handler {
	list := s.REST.List(s.Model.Type(contenttypes.ScheduleUID))
	return func(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
		if _, ok := documents.VisibleSchedules(s.Model, who.Access); !ok {
			return apierror.Forbidden()
		}
		return list.Serve(w, r, rest.Call{Access: who.Access, Limits: s.Answers, Untagged: s.untagged})
	}
}

// DELETE /api/_schedules/{id}: cancels the schedule with this documentId.
func (s *schedules) cancel(w http.ResponseWriter, r *http.Request, who auth.Principal, once *store.Once) error {
	if _, ok := documents.VisibleSchedules(s.Model, who.Access); !ok {
		return apierror.Forbidden()
	}
	once.Keep(http.StatusNoContent, new([]byte))
	if err := s.Documents.CancelSchedule(r.Context(), once, mux.Vars(r)["id"], who.Access); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
