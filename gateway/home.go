package gateway

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/desk"
	"lectern/documents/apierror"
	"lectern/gateway/internal/pages"
	"lectern/gateway/internal/server"
	"lectern/store"
)

// homeRoutes returns the route of the page at /, for browsers: all others get the answer that there is nothing. There
// is none if a router of the program takes all paths.
func (g *generation) homeRoutes() []server.Route {
	if slices.ContainsFunc(g.extensions.mounts, func(m mount) bool { return strings.Trim(m.path, "/") == "" }) {
		return nil
	}
	plain := pages.PlainHome(g.Settings.REST.Prefix)
	return []server.Route{{Method: http.MethodGet, Path: "/", Open: true,
		Handle: func(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
			server.VaryByAccept(w.Header())
			switch {
			case !pages.PrefersHTML(r):
				return apierror.NotFound()
			case g.project.options.Production:
				plain.ServeHTTP(w, r)
				return nil
			}
			home, err := g.home()
			if err == nil {
				home.Page().ServeHTTP(w, r)
			}
			return err
		}}}
}

// home returns what the page at / shows in development.
func (g *generation) home() (*pages.Home, error) {
	dir, err := filepath.Abs(g.project.directory.Dir)
	if err != nil {
		return nil, err
	}
	h := &pages.Home{Name: filepath.Base(dir), Version: g.project.options.Version, Links: g.homeLinks()}
	return h, g.store.View(func(snap *store.Snapshot) error {
		for _, t := range g.Model.Types {
			if t.BuiltIn || t.Internal {
				continue
			}
			of := pages.HomeType{Name: t.DisplayName, Path: g.Settings.REST.Prefix + "/" + t.PathName(), Drafts: t.DraftAndPublish}
			var err error
			if of.Published, err = countVersions(snap, t, store.Published); err != nil {
				return err
			}
			if of.Drafts {
				if of.Draft, err = countVersions(snap, t, store.Draft); err != nil {
					return err
				}
			}
			h.Types = append(h.Types, of)
		}
		return nil
	})
}

func countVersions(snap *store.Snapshot, t *contenttypes.ContentType, status store.Status) (int, error) {
	page, err := snap.Find(&store.Query{Type: t, Status: status, Locales: store.LocaleSet{All: true}, Limit: 1, Count: true})
	return page.Total, err
}

// homeLinks returns the parts of the server that browsers can open.
func (g *generation) homeLinks() (links []pages.Link) {
	if settings := &g.Settings.Server.Desk; settings.Enabled && g.Settings.Users.Enabled && !desk.IsMissing() {
		links = append(links, pages.Link{Path: settings.Path, Text: "Desk"})
	}
	if g.Settings.GraphQL.Enabled {
		links = append(links, pages.Link{Path: g.Settings.GraphQL.Endpoint, Text: "GraphQL"})
	}
	if g.showsDocs() {
		links = append(links, pages.Link{Path: g.Settings.REST.Prefix + docsPath, Text: "REST API"})
	}
	return links
}
