// Package contenttypes reads what a project says about its content and makes a Model of it.
//
// A project defines each content-type in a file of content-types/ and each component in one of components/<category>/, in
// the keys of Strapi's schema.json:
//
//	kind: collectionType
//	info: {singularName: article, pluralName: articles, displayName: Article}
//	options: {draftAndPublish: true}
//	attributes:
//	  title: {type: string, required: true, maxLength: 120}
//	  slug: {type: uid, targetField: title}
//	  author: {type: relation, relation: manyToOne, target: api::author.author, inversedBy: articles}
//
// Load reads them all and returns either a Model, which is complete, linked and never changes, or problems: everything
// that is wrong, each as file:line, what is wrong and what would be right. There is nothing between the two, so whoever
// holds a Model need not check it again. The built-in types (users, roles, files, locales, API tokens) are definitions in
// the same form that are embedded in the program.
//
// Reading the source: model.go is what comes out; load.go goes over the files, definition.go and attribute.go read them,
// link.go looks at what they say of one another, names.go at what they are called. Package yamlfile reads the files
// themselves.
package contenttypes
