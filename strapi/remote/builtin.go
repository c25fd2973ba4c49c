package remote

import (
	"lectern/jsontree"
)

// builtInSchemas are the types of Strapi's plugins, as far as reading needs them. The tree of a project does not have
// them.
var builtInSchemas = []string{
	`{"kind":"collectionType","info":{"singularName":"file","pluralName":"files","displayName":"File"},"options":{"draftAndPublish":false},"attributes":{"name":{"type":"string"},"alternativeText":{"type":"text"},"caption":{"type":"text"},"focalPoint":{"type":"json"},"width":{"type":"integer"},"height":{"type":"integer"},"formats":{"type":"json"},"hash":{"type":"string"},"ext":{"type":"string"},"mime":{"type":"string"},"size":{"type":"decimal"},"url":{"type":"text"},"previewUrl":{"type":"text"},"provider":{"type":"string"},"provider_metadata":{"type":"json"}},"modelType":"contentType","uid":"plugin::upload.file"}`,
	`{"kind":"collectionType","info":{"singularName":"role","pluralName":"roles","displayName":"Role"},"options":{"draftAndPublish":false},"attributes":{"name":{"type":"string"},"description":{"type":"string"},"type":{"type":"string"},"permissions":{"type":"relation","relation":"oneToMany","target":"plugin::users-permissions.permission","mappedBy":"role"},"users":{"type":"relation","relation":"oneToMany","target":"plugin::users-permissions.user","mappedBy":"role"}},"modelType":"contentType","uid":"plugin::users-permissions.role"}`,
	`{"kind":"collectionType","info":{"singularName":"permission","pluralName":"permissions","displayName":"Permission"},"options":{"draftAndPublish":false},"attributes":{"action":{"type":"string"},"role":{"type":"relation","relation":"manyToOne","target":"plugin::users-permissions.role","inversedBy":"permissions"}},"modelType":"contentType","uid":"plugin::users-permissions.permission"}`,
	`{"kind":"collectionType","info":{"singularName":"user","pluralName":"users","displayName":"User"},"options":{"draftAndPublish":false},"attributes":{"username":{"type":"string"},"email":{"type":"email"},"provider":{"type":"string"},"password":{"type":"password","private":true},"resetPasswordToken":{"type":"string","private":true},"confirmationToken":{"type":"string","private":true},"confirmed":{"type":"boolean","default":false},"blocked":{"type":"boolean","default":false},"role":{"type":"relation","relation":"manyToOne","target":"plugin::users-permissions.role","inversedBy":"users"}},"modelType":"contentType","uid":"plugin::users-permissions.user"}`,
}

// withPlugins adds the types of plugins that a list of schemas does not have.
func withPlugins(schemas []*jsontree.Object) []*jsontree.Object {
	known := map[string]bool{}
	for _, s := range schemas {
		known[s.Text("uid")] = true
	}
	for _, source := range builtInSchemas {
		v, err := jsontree.Parse([]byte(source), jsontree.MaxDepth)
		if err != nil {
			panic(err) // a constant
		}
		if s := v.(*jsontree.Object); !known[s.Text("uid")] {
			schemas = append(schemas, s)
		}
	}
	return schemas
}
