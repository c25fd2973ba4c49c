package gateway_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/gateway"
	"lectern/store/evolve"
)

// membersFiles add attributes of every kind to the users of peopleFiles.
var membersFiles = map[string]string{
	"content-types/user.yaml": `
uid: plugin::users-permissions.user
attributes:
  email: {type: email, maxLength: 40}
  nickname: {type: string, minLength: 2, unique: true}
  note: {type: text, private: true}
  pin: {type: password, maxLength: 8}
  age: {type: integer, min: 0}
  level: {type: enumeration, enum: [junior, senior person], default: junior}
  points: {type: biginteger}
  prefs: {type: json}
  address: {type: component, component: page.address}
  zone: {type: dynamiczone, components: [page.address]}
  avatar: {type: media}
  pet: {type: relation, relation: oneToOne, target: api::pet.pet}
  secretPet: {type: relation, relation: oneToOne, target: api::pet.pet, private: true}
  favourites: {type: relation, relation: manyToMany, target: api::pet.pet, inversedBy: fans}
  friends: {type: relation, relation: manyToMany, target: plugin::users-permissions.user}
`,
	"content-types/pet.yaml": `
kind: collectionType
info: {singularName: pet, pluralName: pets, displayName: Pet}
attributes:
  name: {type: string}
  fans: {type: relation, relation: manyToMany, target: plugin::users-permissions.user, mappedBy: favourites}
`,
	"components/page/address.yaml": `
info: {displayName: Address}
attributes:
  street: {type: string, required: true}
  code: {type: string, private: true}
  pet: {type: relation, relation: oneToOne, target: api::pet.pet}
`,
	"config/permissions.yaml": `
roles:
  public: {api::article.article: [find]}
  authenticated:
    plugin::users-permissions.user: [me, update, create]
  keeper:
    plugin::users-permissions.user: [me, find, findOne, count, create, update, destroy]
    api::pet.pet: [find]
`,
	"config/plugins.yaml": peopleFiles["config/plugins.yaml"] + `
    register: {allowedFields: [nickname, note, pin, address, favourites]}
`,
}

// TestUsersHaveAttributesOfTheProject creates, changes, filters and reads users with attributes that the project adds,
// over REST.
func TestUsersHaveAttributesOfTheProject(t *testing.T) {
	a := serve(t, membersFiles)
	for _, name := range []string{"Rex", "Tom"} {
		a.want(201, "POST", "/api/pets", "full", object{"data": object{"name": name}})
	}
	tom, _ := a.want(200, "GET", "/api/pets?filters[name]=Tom", "full", nil).at("data").([]any)[0].(map[string]any)["documentId"].(string)
	ann := object{"username": "ann", "email": "ann@people.test", "password": "secret", "role": a.roleID("keeper"),
		"nickname": "annie",
		"note":     "hidden", "pin": "1234", "age": 7, "level": "senior person", "points": "9007199254740993",
		"prefs":   object{"a": []any{1}},
		"address": object{"street": "S", "code": "hidden"},
		"zone":    []any{object{"__component": "page.address", "street": "Z"}},
		"pet":     1, "secretPet": 1, "favourites": object{"connect": []any{2, 1}}, "nope": 1}
	r := a.want(201, "POST", "/api/users", "full", ann)
	id := int(r.at("id").(float64))
	const shown = `"provider":"local","confirmed":false,"blocked":false,"nickname":"annie","age":7,"level":"senior person",` +
		`"points":"9007199254740993","prefs":{"a":[1]},"createdAt":`
	if !strings.Contains(r.text, shown) || strings.Contains(r.text, "hidden") || strings.Contains(r.text, "pin") {
		t.Errorf("created: %s", r.text)
	}
	a.want(201, "POST", "/api/users", "full",
		object{"username": "bob", "email": "bob@people.test", "password": "secret", "role": a.roleID("public"),
			"friends": []any{id}, "pet": tom})
	jwt := a.login("ann", "secret")
	for _, c := range []struct{ path, want string }{
		{userPath(id) + "?populate=*",
			`"address":{"id":1,"street":"S"},"zone":[{"__component":"page.address","id":2,"street":"Z"}],"avatar":null,"pet":{"id":1,`},
		{userPath(id) + "?fields[0]=age&populate[favourites][fields]=name", `"age":7,"favourites":[{"id":2,`},
		{"/api/users?filters[nickname]=annie&fields[0]=username", `"username":"ann"}]`},
		{"/api/users?filters[age][$gt]=6&fields[0]=username", `"username":"ann"}]`},
		{"/api/users?filters[address][street]=S&fields[0]=username", `"username":"ann"}]`},
		{"/api/users?filters[favourites][name]=Tom&fields[0]=username", `"username":"ann"}]`},
		{"/api/users?filters[friends][nickname]=annie&fields[0]=username", `"username":"bob"}]`},
		{"/api/users?filters[pet][name]=Tom&fields[0]=level", `"level":"junior"}]`},
		{"/api/users?sort=age&fields[0]=username", `"username":"bob"},`},
		{"/api/users/count?filters[nickname][$null]=true", `1`},
		{"/api/pets?filters[fans][nickname]=annie&filters[name]=Rex&populate[fans][fields]=nickname",
			`"nickname":"annie"}]}]`},
	} {
		if r := a.want(200, "GET", c.path, "full", nil); !strings.Contains(r.text, c.want) {
			t.Errorf("%s: %s", c.path, r.text)
		}
	}
	if r := a.want(200, "GET", "/api/users/me?populate=favourites", jwt, nil); !strings.Contains(r.text, shown) ||
		!strings.Contains(r.text, `"favourites":[{"id":2,`) {
		t.Errorf("me: %s", r.text)
	}
	a.want(200, "PUT", userPath(id), "full", object{"nickname": nil, "favourites": object{"disconnect": []any{2}},
		"pet": nil, "address": nil})
	if r := a.want(200, "GET", userPath(id)+"?populate=*", "full", nil); !strings.Contains(
		r.text, `"nickname":null,"age":7`) ||
		!strings.Contains(r.text, `"address":null`) || !strings.Contains(r.text, `"pet":null,"favourites":[{"id":1,`) {
		t.Errorf("changed: %s", r.text)
	}
	for _, c := range []struct {
		body object
		want string
	}{
		{object{"age": -1}, "age must be greater than or equal to 0"},
		{object{"level": "chief"}, "level must be one of"},
		{object{"address": object{}}, "address.street must be defined."},
		{object{"address": object{"street": "S", "town": "T"}}, "Invalid key town"},
		{object{"pet": 99}, "1 relation(s) of type api::pet.pet associated with this entity do not exist"},
		{object{"email": strings.Repeat("a", 40) + "@people.test"}, "email must be at most 40 characters"},
		{object{"pin": "123456789"}, "pin must be at most 8 characters"},
	} {
		if r := a.want(400, "PUT", userPath(id), "full", c.body); !strings.Contains(r.message(), c.want) {
			t.Errorf("%v: %s", c.body, r.text)
		}
	}
	if r := a.do("DELETE", userPath(id), "full", nil); r.status != 200 || !strings.Contains(r.text, `"age":7`) {
		t.Errorf("deleted: %s", r.text)
	}
}

// TestUserAttributesAreInGraphQL writes and reads the added attributes over GraphQL. The types of the query me and of
// the registration input do not get the added fields.
func TestUserAttributesAreInGraphQL(t *testing.T) {
	a := serve(t, membersFiles)
	pet, _ := a.want(201, "POST", "/api/pets", "full", object{"data": object{"name": "Rex"}}).at("data.documentId").(string)
	for _, c := range []struct{ as, query, want string }{
		{"full", fmt.Sprintf(`mutation{createUsersPermissionsUser(data:{username:"ann",email:"ann@people.test",password:"secret",role:"1",nickname:"annie",
			note:"n",age:3,pin:"1234",level:senior_person,points:5,prefs:{a:1},address:{street:"S"},zone:[{__typename:"ComponentPageAddress",street:"Z"}],
			favourites:[%q],pet:"1"}){data{nickname age level points prefs pin address{street}zone{...on ComponentPageAddress{street}}
			favourites{name}favourites_connection{nodes{name}}pet{name}friends{username}avatar{name}}}}`, pet),
			`{"data":{"createUsersPermissionsUser":{"data":{"nickname":"annie","age":3,"level":"senior_person","points":5,"prefs":{"a":1},"pin":null,` +
				`"address":{"street":"S"},"zone":[{"street":"Z"}],"favourites":[{"name":"Rex"}],"favourites_connection":{"nodes":[{"name":"Rex"}]},` +
				`"pet":{"name":"Rex"},"friends":[],"avatar":null}}}}`},
		{"full", `mutation{updateUsersPermissionsUser(id:"1",data:{age:4,favourites:[],address:{street:"T"}}){data{age favourites{name}address{street}}}}`,
			`{"age":4,"favourites":[],"address":{"street":"T"}}`},
		{"full", `mutation{updateUsersPermissionsUser(id:"1",data:{age:-4}){data{age}}}`,
			`"message":"age must be greater than or equal to 0"`},
		{"full", `mutation{updateUsersPermissionsUser(id:"1",data:{friends:["nobody"]}){data{age}}}`,
			`Document with id \"nobody\", locale \"null\" not found`},
		{"full", `{usersPermissionsUsers(filters:{nickname:{eq:"annie"},pet:{name:{eq:"Rex"}}},sort:"age"){username level}pets{fans{nickname}}}`,
			`{"usersPermissionsUsers":[{"username":"ann","level":"senior_person"}],"pets":[{"fans":[]}]}`},
		{"full", `{usersPermissionsUsers{note}}`, `Cannot query field \"note\" on type \"UsersPermissionsUser\".`},
		{"full", `{usersPermissionsUsers{secretPet{name}}}`, `Cannot query field \"secretPet\"`},
		{"full", `{usersPermissionsUsers(filters:{note:{eq:"n"}}){age}}`,
			`Field \"note\" is not defined by type \"UsersPermissionsUserFiltersInput\".`},
		{"full", `{usersPermissionsUsers(sort:"note"){age}}`, `Invalid key note`},
		{"", `mutation{register(input:{username:"bob",email:"bob@people.test",password:"secret",nickname:"b"}){jwt}}`,
			`Field \"nickname\" is not defined by type \"UsersPermissionsRegisterInput\".`},
		{"full", `{me{nickname}}`, `Cannot query field \"nickname\" on type \"UsersPermissionsMe\".`},
	} {
		if r := a.graphql(c.as, c.query); !strings.Contains(r.text, c.want) {
			t.Errorf("%s: %s, want %s", c.query, r.text, c.want)
		}
	}
}

// TestMeShowsTheCaller reads the calling user. REST wants the permission user.me; the query me of GraphQL wants a user
// alone, as in the reference.
func TestMeShowsTheCaller(t *testing.T) {
	a := serve(t, membersFiles)
	jwt, id := a.register("ann")
	const shown, forbidden = `{"data":{"me":{"username":"ann","role":{"type":"%s"}}}}`, `"message":"Forbidden access"`
	for _, c := range []struct {
		role, as  string
		rest      int
		inGraphQL string
	}{
		{"authenticated", jwt, 200, fmt.Sprintf(shown, "authenticated")},
		{"public", jwt, 403, fmt.Sprintf(shown, "public")},
		{"public", "", 403, forbidden},
		{"public", "full", 401, forbidden},
	} {
		a.want(200, "PUT", userPath(id), "full", object{"role": a.roleID(c.role)})
		a.want(c.rest, "GET", "/api/users/me", c.as, nil)
		if r := a.graphql(c.as, `{me{username role{type}}}`); !strings.Contains(r.text, c.inGraphQL) {
			t.Errorf("%+v: %s", c, r.text)
		}
	}
}

// TestRegistrationSetsAllowedAttributesOnly registers users with attributes that registration may set, and with all
// others.
func TestRegistrationSetsAllowedAttributesOnly(t *testing.T) {
	a := serve(t, membersFiles)
	a.want(201, "POST", "/api/pets", "full", object{"data": object{"name": "Rex"}})
	good := object{"username": "eve", "email": "eve@people.test", "password": "secret", "nickname": "evie", "note": "n",
		"pin":        "1234",
		"address":    object{"street": "S"},
		"favourites": []any{object{"id": 1, "name": "Mine", "fans": object{"connect": []any{1}}}}}
	for key, v := range map[string]any{
		"role": a.roleID("keeper"), "confirmed": true, "blocked": false, "provider": "github", "id": 1,
		"documentId":         "abcdefghijklmnopqrstuvwx",
		"resetPasswordToken": "mine", "confirmationToken": "mine", "createdAt": "2020-01-01T00:00:00.000Z",
		"publishedAt": "2020-01-01T00:00:00.000Z", "locale": "en",
		"age": 1, "level": "senior person", "points": 1, "prefs": object{}, "zone": []any{}, "avatar": 1, "pet": 1,
		"secretPet": 1, "friends": []any{},
		"Nickname": "x", "nickname ": "x", "address.code": "x", "constructor": object{"age": 1},
	} {
		if r := a.do("POST", "/api/auth/local/register", "", changed(good, key, v)); r.status != 400 ||
			r.message() != "Invalid parameters: "+key {
			t.Errorf("with %s: %d %s", key, r.status, r.text)
		}
	}
	// A permitted attribute does not give access to any other one.
	for _, body := range []object{
		changed(good, "favourites", []any{object{"id": 1, "nope": 1}}), changed(good, "favourites", []any{99}),
		changed(good, "address", object{"street": "S", "role": a.roleID("keeper")}),
		changed(good, "nickname", object{"$ne": "x"}), changed(good, "nickname", []any{"x"}),
		changed(good, "pin", []any{"x"}),
	} {
		if r := a.do("POST", "/api/auth/local/register", "", body); r.status != 400 {
			t.Errorf("%v: %d %s", body, r.status, r.text)
		}
	}
	r := a.want(200, "POST", "/api/auth/local/register", "", good)
	if r.at("user.nickname") != "evie" || r.at("user.level") != "junior" || strings.Contains(r.text, `"note"`) ||
		strings.Contains(r.text, `"pin"`) {
		t.Errorf("registered: %s", r.text)
	}
	r = a.want(200, "GET", userPath(int(r.at("user.id").(float64)))+"?populate=*", "full", nil)
	if r.at("role.type") != "authenticated" || r.at("address.street") != "S" ||
		!strings.Contains(r.text, `"favourites":[{"id":1,`) || !strings.Contains(r.text, `"name":"Rex"`) {
		t.Errorf("registered: %s", r.text)
	}
	if r := a.do("POST", "/api/auth/local/register", "", changed(changed(good, "username", "evil"), "email",
		"evil@people.test")); r.status != 400 || r.message() != "This attribute must be unique" {
		t.Errorf("a nickname that is taken: %d %s", r.status, r.text)
	}
}

// TestUsersLinkOnlyWhatCallersMayFind sets relations of users, and of components in users, to documents that the caller
// may not find. The server refuses that until the caller gets a role that may find them.
func TestUsersLinkOnlyWhatCallersMayFind(t *testing.T) {
	a := serve(t, membersFiles)
	a.want(201, "POST", "/api/pets", "full", object{"data": object{"name": "Rex"}})
	jwt, id := a.register("ann")
	for key, body := range map[string]object{
		"pet": {"pet": 1}, "secretPet": {"secretPet": object{"set": []any{1}}},
		"favourites": {"favourites": object{"disconnect": []any{1}}},
		"friends":    {"friends": []any{}}, "address.pet": {"address": object{"street": "S", "pet": 1}},
		"zone.pet": {"zone": []any{object{"__component": "page.address", "street": "S", "pet": 99}}},
	} {
		for method, path := range map[string]string{"PUT": userPath(id), "POST": "/api/users"} {
			sent := object{"username": "bob", "email": "bob@people.test", "password": "secret",
				"role": a.roleID("authenticated")}
			for k, v := range body {
				sent[k] = v
			}
			if r := a.do(method, path, jwt, sent); r.status != 400 || r.at("error.details.path") != key ||
				r.at("error.details.source") != "body" {
				t.Errorf("%s with %s: %d %s", method, key, r.status, r.text)
			}
		}
	}
	a.want(200, "PUT", userPath(id), jwt,
		object{"age": 5, "role": a.roleID("keeper")}) // a caller who may not read roles can still assign them
	a.want(200, "PUT", userPath(id), jwt, object{"pet": 1, "friends": []any{id}}) // a keeper by now
	if r := a.want(200, "GET", userPath(id)+"?populate=*", "full", nil); r.at("pet.name") != "Rex" ||
		r.at("age") != 5.0 {
		t.Errorf("ann: %s", r.text)
	}
}

// TestPrivateUserAttributesAreHidden uses private attributes of users in every parameter, which is refused, and expects
// no answer to contain them.
func TestPrivateUserAttributesAreHidden(t *testing.T) {
	a := serve(t, membersFiles)
	a.want(201, "POST", "/api/pets", "full", object{"data": object{"name": "Rex"}})
	a.want(201, "POST", "/api/users", "full",
		object{"username": "ann", "email": "ann@people.test", "password": "secret", "role": a.roleID("keeper"),
			"note": "hidden", "pin": "hidden", "address": object{"street": "S", "code": "hidden"}, "secretPet": 1,
			"favourites": []any{1}})
	jwt := a.login("ann", "secret")
	for _, as := range []string{"full", jwt} {
		for _, path := range []string{"/api/users?", "/api/users/1?", "/api/users/me?", "/api/users/count?"} {
			if as == "full" && strings.Contains(path, "me?") {
				continue
			}
			for _, query := range []string{
				"filters[note]=hidden", "filters[note][$notNull]=true", "filters[$or][0][pin][$startsWith]=$",
				"filters[$not][secretPet][name]=Rex",
				"filters[address][code]=hidden", "filters[favourites][fans][note]=hidden", "sort=note",
				"sort[address][code]=asc", "sort=secretPet.name",
				"fields=note", "fields[0]=pin", "populate=secretPet", "populate[address][fields]=code",
				"populate[favourites][populate][fans][fields]=note",
				"populate[favourites][filters][fans][note]=hidden", "populate[favourites][sort]=fans.note",
			} {
				if r := a.do("GET", path+query, as, nil); r.status != 400 || !strings.Contains(r.message(), "Invalid") {
					t.Errorf("%s%s: %d %s", path, query, r.status, r.text)
				}
			}
		}
		for _, path := range []string{"/api/users?populate=*", "/api/users/1?populate[address]=true",
			"/api/pets?populate[fans][populate]=*", "/api/users?_q=hidden"} {
			if r := a.want(200, "GET", path, as, nil); strings.Contains(r.text, "hidden") ||
				strings.Contains(r.text, "$2a$") || strings.Contains(r.text, "secretPet") {
				t.Errorf("%s: %s", path, r.text)
			}
		}
	}
}

// TestUserAttributesOutliveDefinitions adds attributes to the type of existing users, and then renames one. The values
// are kept.
func TestUserAttributesOutliveDefinitions(t *testing.T) {
	files := with(membersFiles)
	extension := files["content-types/user.yaml"]
	delete(files, "content-types/user.yaml")
	delete(files, "content-types/pet.yaml")
	delete(files, "components/page/address.yaml")
	files["config/permissions.yaml"], files["config/plugins.yaml"] = "", peopleFiles["config/plugins.yaml"]
	dir := writeProject(t, files)
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	serveKept(t, dir, gateway.Options{}, func(a *api) { a.register("ann") })
	for _, name := range []string{"content-types/pet.yaml", "components/page/address.yaml"} {
		put(name, membersFiles[name])
	}
	put("content-types/user.yaml", extension)
	serveKept(t, dir, gateway.Options{}, func(a *api) {
		a.want(201, "POST", "/api/pets", "full", object{"data": object{"name": "Rex"}})
		a.want(200, "PUT", userPath(1), "full", object{"age": 5, "pet": 1, "nickname": "annie"})
		a.login("ann", "secret-ann")
	})
	put("content-types/user.yaml", strings.Replace(extension, "  nickname:", "  nick:", 1))
	_, err := gateway.Open(dir, gateway.Options{})
	if err == nil || !strings.Contains(err.Error(), "rename-attribute plugin::users-permissions.user.nickname nick") {
		t.Fatalf("without an attribute that has values: %v", err)
	}
	rename := evolve.Migrations{{Op: "rename-attribute",
		Args: []string{"plugin::users-permissions.user.nickname", "nick"}}}
	if _, err := gateway.Directory(dir, gateway.Options{}).Migrate(rename, nil); err != nil {
		t.Fatal(err)
	}
	serveKept(t, dir, gateway.Options{}, func(a *api) {
		if r := a.want(200, "GET", userPath(1)+"?populate=*", "full", nil); r.at("nick") != "annie" ||
			r.at("age") != 5.0 || r.at("pet.name") != "Rex" {
			t.Error(r.text)
		}
	})
}
