package answers

import (
	"fmt"
	"strings"

	"lectern/internal/simulation/program"
)

// fixedReads returns reads of what random reads leave out: users, roles, files and their bytes, locales, and
// polymorphic relations.
func fixedReads(m *Model, server *program.Server) ([]read, error) {
	var list []read
	for _, path := range []string{
		"/api/users?populate=*&sort=id", "/api/users?filters[username][$contains]=1&sort=username:desc",
		"/api/users?start=3&limit=5", "/api/users/1?populate=*",
		"/api/users/count", "/api/users?fields=username&populate[role][fields]=name&filters[role][type]=editor",
		"/api/users?filters[confirmed]=true&populate=role",
		"/api/users-permissions/roles", "/api/users-permissions/roles/1", "/api/users-permissions/roles/3",
		"/api/i18n/locales",
		"/api/upload/files", "/api/upload/files/1", "/api/upload/files?sort=size:desc",
		"/api/upload/files?filters[mime][$contains]=image&fields=url,formats",
	} {
		for _, as := range []string{"full", "public"} {
			list = append(list, read{As: as, Path: path})
		}
	}
	for _, query := range []string{
		`{ usersPermissionsUsers(sort: "id") { documentId username email confirmed blocked provider role { name type } } }`,
		`{ uploadFiles(sort: "id", pagination: {limit: 100}) { documentId name alternativeText caption width height formats hash ext mime size url } }`,
		`{ uploadFiles_connection(pagination: {pageSize: 3, page: 2}) { nodes { name } pageInfo { total page pageSize pageCount } } }`,
		`{ i18NLocales { name code } }`,
	} {
		list = append(list, read{As: "full", Path: "/graphql", Query: query})
	}
	for _, morph := range m.Morphs {
		list = append(list, morph.reads(m)...)
	}
	files, err := fileReads(server)
	return append(list, files...), err
}

// reads returns reads that show a polymorphic relation.
func (x Morph) reads(m *Model) []read {
	var list []read
	base := "/api/" + x.Owner.Plural + "?sort=id&pagination[pageSize]=100&populate"
	for page := 1; page <= 3; page++ {
		at := fmt.Sprintf("&pagination[page]=%d", page)
		list = append(list, read{As: "full", Path: base + "=*" + at},
			read{As: "full", Path: base + "[" + x.Name + "]=true&locale=fr" + at})
	}
	if x.Mapped {
		return list
	}
	var shown strings.Builder
	for _, t := range m.Types {
		list = append(list, read{As: "full", Path: base + "[" + x.Name + "][on][" + t.UID + "]=true"},
			read{As: "full", Path: base + "[" + x.Name + "][on][" + t.UID + "][fields]=id"})
		if !t.Plugin {
			fmt.Fprintf(&shown, "... on %s { documentId createdAt } ", t.word())
		}
	}
	query := fmt.Sprintf(`{ %s(sort: "id", pagination: {limit: 100}) { documentId %s { __typename %s} } }`,
		x.Owner.listField(), x.Name, shown.String())
	return append(list, read{As: "full", Path: "/graphql", Query: query})
}

// fileReads returns a read of each file, and of each of its formats.
func fileReads(server *program.Server) ([]read, error) {
	_, answer, err := server.Do("GET", "/api/upload/files?sort=id", nil)
	if err != nil {
		return nil, err
	}
	var list []read
	files, _ := answer.([]any)
	for _, f := range files {
		file, _ := f.(map[string]any)
		list = append(list, read{As: "public", Path: fmt.Sprint(file["url"])})
		formats, _ := file["formats"].(map[string]any)
		for _, name := range []string{"thumbnail", "small", "medium", "large"} {
			if format, ok := formats[name].(map[string]any); ok {
				list = append(list, read{As: "public", Path: fmt.Sprint(format["url"])})
			}
		}
	}
	return list, nil
}
