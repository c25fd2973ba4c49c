package gateway

import (
	"fmt"
	"strings"

	"lectern/auth"
	"lectern/documents/permission"
	"lectern/gateway/config"
	"lectern/shadowcrud/graphql/schema"
	"lectern/shadowcrud/typescript"
)

// GraphQLSchema returns the GraphQL schema of the project, by graphql.config in config/plugins.yaml and the extensions
// of the program.
func (d *Definition) GraphQLSchema() (*schema.Schema, error) {
	if d.graphql != nil {
		return d.graphql, nil
	}
	g := d.Settings.GraphQL
	changes := d.extensions.graphql.Clone()
	if problems := changes.Shadow().Read(g.ShadowCRUDOptions, d.Model); problems != nil {
		return nil, problems
	}
	return schema.Build(d.Model, schema.Options{
		WithoutShadowCRUD: !g.ShadowCRUD, DocumentActions: g.DocumentActions, Subscriptions: g.Subscriptions,
		Extensions: changes, CheckScope: d.checkScope,
	})
}

func (d *Definition) checkScope(action string) error { return checkScope(d.Actions, action) }

// checkScope returns an error if an action that an extension requires does not exist, so that nobody can have it.
func checkScope(actions *auth.Actions, action string) error {
	err := actions.CheckPermission(action)
	if err != nil && strings.Contains(action, "::") {
		err = fmt.Errorf("%w; a program adds actions of its own by Extensions.Action", err)
	}
	return err
}

// checkGraphQL reports why the project has no GraphQL schema.
func (d *Definition) checkGraphQL() (problems config.Problems) {
	if !d.Settings.GraphQL.Enabled || d.Model == nil {
		return nil
	}
	var err error
	if d.graphql, err = d.GraphQLSchema(); err == nil {
		return nil
	}
	if places, ok := err.(config.Problems); ok {
		return places
	}
	where := "content-types"
	bare := Definition{Definition: d.Definition, extensions: &Extensions{}}
	if _, err := bare.GraphQLSchema(); err == nil {
		where = "extensions"
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		problems = append(problems, config.Problem{File: where, Message: line})
	}
	return problems
}

// TypeScript returns a TypeScript module for programs that use the REST API of the project within an Access, nil for
// all of it: types of documents, requests and answers and, if client is set, a client.
func (d *Definition) TypeScript(access *permission.Access, client bool) []byte {
	o := typescript.Options{Access: access, Prefix: d.Settings.REST.Prefix, WithCount: d.Settings.REST.WithCount,
		Client: client}
	if d.Settings.I18n.Enabled {
		for _, l := range d.Settings.I18n.Locales {
			o.Locales = append(o.Locales, l.Code)
		}
	}
	return typescript.Write(d.Model, o)
}
