// Package contenttypes reads a project's content definitions and builds a Model of them.
//
// A project defines each content-type in a file of content-types/ and each component in one of components/<category>/,
// with the keys of Strapi's schema.json:
//
//	kind: collectionType
//	info: {singularName: article, pluralName: articles, displayName: Article}
//	options: {draftAndPublish: true}
//	attributes:
//	  title: {type: string, required: true, maxLength: 120}
//	  slug: {type: uid, targetField: title}
//	  author: {type: relation, relation: manyToOne, target: api::author.author, inversedBy: articles}
//
// Load reads all files and returns either a Model, which is complete, linked and immutable, or all problems, each with
// its file and line, what is wrong and how to mend it. There is nothing between the two, so code that has a Model need
// not check it again. The built-in types (users, roles, files, locales, API tokens) are definitions in the same form,
// embedded in the program.
//
// Reading the source: start with the result, model.go. load.go finds the files, definition.go and attribute.go read
// them, link.go resolves references between definitions, and names.go checks their names. Package yamlfile parses the
// files.
package contenttypes
