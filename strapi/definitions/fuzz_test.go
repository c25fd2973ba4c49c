package definitions_test

import (
	"errors"
	"testing"
	"testing/fstest"

	"lectern/gateway"
	"lectern/strapi/definitions"
)

// FuzzConvert converts any schema of a type and any configuration. Whatever they hold, the result passes the check.
func FuzzConvert(f *testing.F) {
	f.Add(`{"kind": "collectionType", "info": {"singularName": "a", "pluralName": "as"}, "attributes": {"b": {"type": "string", "min": "1", "regex": "(?=a)"}}}`,
		`module.exports = ({ env }) => ({ upload: { config: { sizeLimit: env.int('A', 1) } }, graphql: { enabled: false } })`)
	f.Add(`{"info": {"singularName": "users", "pluralName": "User"}, "options": {"privateAttributes": ["b", 1]}, "attributes": {"b-c": {"type": "uid", "targetField": "b"},
		"B": {"type": "enumeration", "enum": [1, "1", null], "default": {}}, "c": {"type": "dynamiczone", "components": "x"}, "d": {"type": "relation", "relation": "x",
		"target": "api::a.a", "inversedBy": "d"}, "e": [], "": null}}`, `export default { email: { config: { provider: 'nodemailer' } }, i18n: true, upload: [] }`)
	f.Add(`{"attributes": 1, "info": [], "options": "", "pluginOptions": {"i18n": 1}}`, `module.exports = []`)
	f.Fuzz(func(t *testing.T, schema, plugins string) {
		p, err := definitions.FromTree(fstest.MapFS{
			"src/api/fuzzed/content-types/fuzzed/schema.json": {Data: []byte(schema)},
			"config/plugins.js": {Data: []byte(plugins)},
		})
		if errors.Is(err, definitions.ErrNoDefinitions) {
			return // the schema cannot be parsed
		}
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := p.Write(dir); err != nil {
			t.Fatal(err)
		}
		if _, problems, _, err := gateway.Check(dir, gateway.Options{}); err != nil || len(problems) > 0 {
			t.Errorf("the written project does not pass the check: %v %v", err, problems)
		}
	})
}
