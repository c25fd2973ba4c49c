package execution_test

import (
	"context"
	"strings"
	"testing"

	"github.com/graphql-go/graphql"

	"lectern/auth"
	"lectern/documents/permission"
	"lectern/shadowcrud/graphql/execution"
	"lectern/shadowcrud/graphql/limits"
	"lectern/shadowcrud/graphql/schema"
)

// TestRootPermissions checks, for every kind of root field, which callers may use it. The answer must be the same
// whether or not a program put a middleware around the field, and the middleware must not run for a caller who may not
// use the field.
func TestRootPermissions(t *testing.T) {
	const users = "plugin::users-permissions."
	tests := []struct {
		kind     schema.Kind
		field    string
		query    string
		grants   []string // any one of them allows the field; none: everybody may use it
		userOnly bool     // a user may use it without a grant
	}{
		{kind: schema.RootOne, field: "Query.restaurant", query: `{restaurant(documentId:"x"){name}}`,
			grants: []string{restaurantUID + ".findOne"}},
		{kind: schema.RootList, field: "Query.restaurants", query: `{restaurants{name}}`,
			grants: []string{restaurantUID + ".find"}},
		{kind: schema.RootConnection, field: "Query.restaurants_connection",
			query: `{restaurants_connection{nodes{name}}}`, grants: []string{restaurantUID + ".find"}},
		{kind: schema.RootSingle, field: "Query.homepage", query: `{homepage{documentId}}`,
			grants: []string{"api::homepage.homepage.find"}},
		{kind: schema.RootList, field: "Query.uploadFiles", query: `{uploadFiles{name}}`,
			grants: []string{"plugin::upload.content-api.find"}},
		{kind: schema.RootList, field: "Query.i18NLocales", query: `{i18NLocales{code}}`,
			grants: []string{"plugin::i18n.locales.listLocales"}},
		{kind: schema.RootList, field: "Query.lecternSchedules", query: `{lecternSchedules{documentId}}`,
			grants: []string{restaurantUID + ".publish", restaurantUID + ".unpublish"}},
		{kind: schema.RootConnection, field: "Query.lecternSchedules_connection",
			query:  `{lecternSchedules_connection{nodes{documentId}}}`,
			grants: []string{restaurantUID + ".publish", restaurantUID + ".unpublish"}},
		{kind: schema.Me, field: "Query.me", query: `{me{username}}`},
		{kind: schema.Custom, field: "Query.greeting", query: `{greeting}`, grants: []string{"Query.greeting"},
			userOnly: true},
		{kind: schema.Custom, field: "Mutation.greet", query: `mutation{greet}`, grants: []string{"Mutation.greet"},
			userOnly: true},
		{kind: schema.Create, field: "Mutation.createRestaurant", query: `mutation{createRestaurant(data:{}){name}}`,
			grants: []string{restaurantUID + ".create"}},
		{kind: schema.Update, field: "Mutation.updateRestaurant",
			query:  `mutation{updateRestaurant(documentId:"x",data:{}){name}}`,
			grants: []string{restaurantUID + ".update"}},
		{kind: schema.Delete, field: "Mutation.deleteRestaurant",
			query:  `mutation{deleteRestaurant(documentId:"x"){documentId}}`,
			grants: []string{restaurantUID + ".delete"}},
		{kind: schema.Publish, field: "Mutation.publishRestaurant",
			query:  `mutation{publishRestaurant(documentId:"x"){name}}`,
			grants: []string{restaurantUID + ".publish"}},
		{kind: schema.Unpublish, field: "Mutation.unpublishRestaurant",
			query:  `mutation{unpublishRestaurant(documentId:"x"){name}}`,
			grants: []string{restaurantUID + ".unpublish"}},
		{kind: schema.DiscardDraft, field: "Mutation.discardDraftRestaurant",
			query:  `mutation{discardDraftRestaurant(documentId:"x"){name}}`,
			grants: []string{restaurantUID + ".discardDraft"}},
		{kind: schema.CancelSchedule, field: "Mutation.cancelLecternSchedule",
			query:  `mutation{cancelLecternSchedule(documentId:"x"){documentId}}`,
			grants: []string{restaurantUID + ".publish", restaurantUID + ".unpublish"}},
		{kind: schema.UpdateFile, field: "Mutation.updateUploadFile", query: `mutation{updateUploadFile(id:"1"){name}}`,
			grants: []string{"plugin::upload.content-api.upload"}},
		{kind: schema.DeleteFile, field: "Mutation.deleteUploadFile", query: `mutation{deleteUploadFile(id:"1"){name}}`,
			grants: []string{"plugin::upload.content-api.destroy"}},
		{kind: schema.CreateRole, field: "Mutation.createUsersPermissionsRole",
			query:  `mutation{createUsersPermissionsRole(data:{}){ok}}`,
			grants: []string{users + "role.createRole"}},
		{kind: schema.UpdateRole, field: "Mutation.updateUsersPermissionsRole",
			query:  `mutation{updateUsersPermissionsRole(id:"1",data:{}){ok}}`,
			grants: []string{users + "role.updateRole"}},
		{kind: schema.DeleteRole, field: "Mutation.deleteUsersPermissionsRole",
			query:  `mutation{deleteUsersPermissionsRole(id:"1"){ok}}`,
			grants: []string{users + "role.deleteRole"}},
		{kind: schema.CreateUser, field: "Mutation.createUsersPermissionsUser",
			query:  `mutation{createUsersPermissionsUser(data:{username:"u",email:"e@example.org"}){data{username}}}`,
			grants: []string{users + "user.create"}},
		{kind: schema.UpdateUser, field: "Mutation.updateUsersPermissionsUser",
			query: `mutation{updateUsersPermissionsUser(id:"1",data:{username:"u",email:"e@example.org"}){data{username}}}`, grants: []string{users + "user.update"}},
		{kind: schema.DeleteUser, field: "Mutation.deleteUsersPermissionsUser",
			query:  `mutation{deleteUsersPermissionsUser(id:"1"){data{username}}}`,
			grants: []string{users + "user.destroy"}},
		{kind: schema.Login, field: "Mutation.login",
			query: `mutation{login(input:{identifier:"u",password:"p"}){jwt}}`},
		{kind: schema.Register, field: "Mutation.register",
			query: `mutation{register(input:{username:"u",email:"e@example.org",password:"p"}){jwt}}`},
		{kind: schema.ForgotPassword, field: "Mutation.forgotPassword",
			query: `mutation{forgotPassword(email:"e@example.org"){ok}}`},
		{kind: schema.ResetPassword, field: "Mutation.resetPassword",
			query: `mutation{resetPassword(password:"p",passwordConfirmation:"p",code:"c"){jwt}}`},
		{kind: schema.ChangePassword, field: "Mutation.changePassword",
			query:  `mutation{changePassword(currentPassword:"o",password:"p",passwordConfirmation:"p"){jwt}}`,
			grants: []string{users + "auth.changePassword"}},
		{kind: schema.EmailConfirmation, field: "Mutation.emailConfirmation",
			query: `mutation{emailConfirmation(confirmation:"c"){jwt}}`},
		{kind: schema.Changed, field: "Subscription.restaurantChanged",
			query: `subscription{restaurantChanged{change}}`, grants: []string{restaurantUID + ".find"}},
	}

	added := func(around schema.Middleware) *schema.Extensions {
		config := map[string]schema.FieldConfig{}
		if around != nil {
			for _, tt := range tests {
				config[tt.field] = schema.FieldConfig{Middlewares: []schema.MiddlewareUse{{Func: around}}}
			}
		}
		var e schema.Extensions
		e.Use(schema.Extension{TypeDefs: "extend type Query { greeting: String } extend type Mutation { greet: String }", ResolversConfig: config,
			Resolvers: schema.Resolvers{"Query": {"greeting": value("hello")}, "Mutation": {"greet": value("hello")}}})
		return &e
	}
	ran := false
	s := newExtended(t, limits.Operation{}, added(nil))
	plain, wrapped := s.engine,
		s.extended(limits.Operation{}, added(func(graphql.FieldResolveFn, graphql.ResolveParams) (any, error) {
			ran = true
			return nil, nil
		}))

	// forbidden reports whether an engine refuses a query to a caller.
	forbidden := func(engine *execution.Engine, query string, access *permission.Access, user auth.User) bool {
		t.Helper()
		r := &execution.Request{Query: query, Access: access, User: user}
		var answer *execution.Response
		var err error
		if strings.HasPrefix(query, "subscription") {
			_, answer = engine.Subscribe(context.Background(), r)
		} else {
			answer, err = engine.Execute(context.Background(), r)
		}
		if err != nil {
			t.Fatal(err)
		}
		return answer != nil && strings.Contains(string(answer.Body), "Forbidden access")
	}
	type caller struct {
		name   string
		access *permission.Access
		user   auth.User
		may    bool
	}
	tested := map[schema.Kind]bool{}
	for _, tt := range tests {
		tested[tt.kind] = true
		callers := []caller{
			{"nobody", permission.NewAccess(nil), auth.User{}, tt.grants == nil},
			{"a user", permission.NewAccess(nil), auth.User{ID: 1}, tt.grants == nil || tt.userOnly},
			{"another grant", permission.NewAccess([]string{"api::review.review.find"}), auth.User{}, tt.grants == nil},
			{"full access", permission.FullAccess, auth.User{}, true},
		}
		for _, grant := range tt.grants {
			callers = append(callers, caller{grant, permission.NewAccess([]string{grant}), auth.User{}, true})
		}
		for _, c := range callers {
			if tt.kind != schema.Me &&
				forbidden(plain, tt.query, c.access, c.user) == c.may { // me has no answer without accounts
				t.Errorf("%s for %s: may use it %v, want %v", tt.field, c.name, !c.may, c.may)
			}
			ran = false
			if forbidden(wrapped, tt.query, c.access, c.user) == c.may || ran && !c.may {
				t.Errorf("%s with a middleware, for %s: may use it %v (the middleware ran: %v), want %v", tt.field,
					c.name, !c.may, ran, c.may)
			}
		}
	}
	built, err := schema.Build(
		s.model, schema.Options{DocumentActions: true, Subscriptions: true, Extensions: added(nil)})
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range []*schema.Object{built.Query, built.Mutation, built.Subscription} {
		for _, f := range root.Fields {
			if !tested[f.Kind] {
				t.Errorf("no test of the permission of %s.%s", root.Name, f.Name)
			}
		}
	}
}
