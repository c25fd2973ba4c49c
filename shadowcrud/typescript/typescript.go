// Package typescript writes TypeScript for the programs that use the REST API of a project: types of its documents, of
// what requests send and of what answers hold, and a client whose answers have exactly the fields and relations that
// the call asked for.
//
// The file has three parts. The first one is written from the Model (types.go, inputs.go, filters.go): interfaces for
// each content-type and component, and the interface Schemas, in which the compiler looks up what belongs to a uid. The
// second part, prelude.ts, is the same for every project: it has the types of parameters, and Result, which computes
// the type of an answer from the types of the parameters. It descends only as deep as the parameters do, so that
// content-types that refer to each other cost nothing. The third part is the client, client.ts, with client_batch.ts
// for batches, client_following.ts for what goes on in time (histories, streams, the change feed), and client_files.ts
// and client_users.ts for the plugins that are on, and client_schedules.ts where types have drafts.
//
// The text depends only on the arguments of Write, so that equal definitions give equal bytes.
package typescript

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/permission"
)

//go:embed prelude.ts
var prelude string

//go:embed client.ts
var client string

//go:embed client_batch.ts
var clientBatch string

//go:embed client_following.ts
var clientFollowing string

//go:embed client_files.ts
var clientFiles string

//go:embed client_schedules.ts
var clientSchedules string

//go:embed client_users.ts
var clientUsers string

// Options say what Write writes besides the types of the Model.
type Options struct {
	// Access leaves out what its owner may neither read nor write; nil is that of permission.FullAccess.
	Access    *permission.Access
	Prefix    string   // of the REST API, such as "/api"
	Locales   []string // the codes of all locales; empty if there are none
	WithCount bool     // lists come with their total if the request does not say
	Client    bool     // write the client too
}

// Write returns the TypeScript module of a model.
func Write(m *contenttypes.Model, o Options) []byte {
	w := &writer{model: m, names: newNames(m), access: cmp.Or(o.Access, permission.FullAccess)}
	w.components = w.usedComponents()
	w.line("// Written by `lectern types` from the definitions of the project. Do not edit: run it again when they change.")
	w.line("")
	w.section("Content-types: the fields of documents, what writes may send, and filters.")
	for _, t := range w.types() {
		w.contentType(t)
	}
	if len(w.components) > 0 {
		w.section("Components.")
	}
	for _, c := range w.components {
		w.component(c)
	}
	w.index()
	w.localesAndErrors(o.Locales)
	w.line("")
	w.comment("", "Whether the server counts a list if the request does not say.")
	w.line("type CountedByDefault = %t", o.WithCount)
	w.line("")
	w.WriteString(prelude)
	if o.Client {
		w.client(o.Prefix)
	}
	return w.Bytes()
}

// A writer holds the text that is written so far.
type writer struct {
	bytes.Buffer
	model  *contenttypes.Model
	names  names
	access *permission.Access

	components []*contenttypes.Component // that the client may meet
}

func (w *writer) line(format string, args ...any) {
	if len(args) == 0 {
		w.WriteString(format)
	} else {
		fmt.Fprintf(w, format, args...)
	}
	w.WriteByte('\n')
}

// section writes the heading of a part of the file.
func (w *writer) section(title string) {
	w.line("// %s", strings.Repeat("-", 117))
	w.line("// %s", title)
	w.line("")
}

// comment writes a doc comment. Sentences that are empty are left out; without any, it writes nothing.
func (w *writer) comment(indent string, sentences ...string) {
	text := strings.Join(nonEmpty(sentences), " ")
	if text == "" {
		return
	}
	text = strings.Join(strings.Fields(text), " ")
	w.line("%s/** %s */", indent, strings.ReplaceAll(text, "*/", "*\u200b/"))
}

func nonEmpty(list []string) (kept []string) {
	for _, s := range list {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return kept
}

// types returns the content-types that the client may meet.
func (w *writer) types() (list []*contenttypes.ContentType) {
	for _, t := range w.model.Types {
		if t.BuiltIn && !t.Internal || !t.BuiltIn && w.access.Uses(t) {
			list = append(list, t)
		}
	}
	return list
}

// usedComponents returns the components in types that the client may meet.
func (w *writer) usedComponents() (list []*contenttypes.Component) {
	used := map[*contenttypes.Component]bool{}
	var meet func(*contenttypes.Schema)
	meet = func(s *contenttypes.Schema) {
		for _, a := range s.Attributes {
			if !w.isPopulated(a) && !w.isSent(a, "create") && !w.isSent(a, "update") {
				continue
			}
			for _, c := range a.AllComponents() {
				if !used[c] {
					used[c] = true
					meet(&c.Schema)
				}
			}
		}
	}
	for _, t := range w.types() {
		meet(&t.Schema)
	}
	for _, c := range w.model.Components {
		if used[c] {
			list = append(list, c)
		}
	}
	return list
}

// localesAndErrors writes the types Locale and ErrorName.
func (w *writer) localesAndErrors(locales []string) {
	w.comment("", "The code of a locale. Content may have other locales than those of the configuration.")
	w.line("export type Locale = %s", strings.Join(append(quoted(locales), "(string & {})"), " | "))
	w.line("")
	w.comment("", "The name of an error. Programs that extend the server may have others.")
	w.line("export type ErrorName =")
	for _, k := range apierror.Kinds() {
		w.line("  | %s", quote(k.Name))
	}
	w.line("  | (string & {})")
}

// A clientPart is a member of the class Client that only some projects have.
type clientPart struct {
	name, class, text string
}

// clientParts returns the members for the plugins that are on, and for schedules if there is something to publish.
func (w *writer) clientParts() (parts []clientPart) {
	if w.model.Type(contenttypes.FileUID) != nil {
		parts = append(parts, clientPart{"files", "Files", clientFiles})
	}
	if slices.ContainsFunc(w.model.Types, func(t *contenttypes.ContentType) bool { return t.DraftAndPublish }) {
		parts = append(parts, clientPart{"schedules", "LecternSchedules", clientSchedules})
	}
	if w.model.Type(contenttypes.UserUID) != nil {
		parts = append(parts, clientPart{"auth", "Auth", clientUsers})
	}
	return parts
}

// client writes the client.
func (w *writer) client(prefix string) {
	w.line("")
	w.WriteString(client)
	w.WriteString(clientBatch)
	w.WriteString(clientFollowing)
	parts := w.clientParts()
	for _, part := range parts {
		w.WriteString(part.text)
	}
	w.paths("collectionPaths", "Collections", contenttypes.CollectionType)
	w.paths("singlePaths", "Singles", contenttypes.SingleType)
	w.line("")
	w.line("const defaultPrefix = %s", quote(prefix))
	w.line("")
	w.comment("", "The content API of a server.")
	w.line("export class Client {")
	w.line("  readonly #transport: Transport")
	for _, part := range parts {
		w.line("  readonly %s: %s", part.name, part.class)
	}
	w.line("")
	w.line("  constructor(options: ClientOptions) {")
	w.line("    this.#transport = new Transport(options)")
	for _, part := range parts {
		w.line("    this.%s = new %s(this.#transport)", part.name, part.class)
	}
	w.line("  }")
	w.WriteString(clientMembers)
}

// clientMembers ends the class Client.
const clientMembers = `
  /** The documents of a collection type, by its name in paths. */
  collection<N extends CollectionName>(name: N): Collection<Collections[N]> {
    return new Collection(this.#transport, collectionPaths[name])
  }

  /** The document of a single type, by its name in paths. */
  single<N extends SingleName>(name: N): Single<Singles[N]> {
    return new Single(this.#transport, singlePaths[name])
  }

  /** Carries out operations in one transaction, in their order: all of them, or none. */
  batch<const O extends readonly Operation[]>(operations: O, options?: OnceOptions & { atomic?: true }): Promise<BatchResult<O>>
  /** Carries out operations in one transaction, but for those that fail. */
  batch<const O extends readonly Operation[]>(operations: O, options: OnceOptions & { atomic: false }): Promise<PartialBatchResult<O>>
  batch(operations: readonly Operation[], options: OnceOptions & { atomic?: boolean } = {}): Promise<unknown> {
    const { atomic, ...request } = options
    return this.#transport.send('POST', '/_batch', undefined, { operations: numbered(operations), atomic }, request)
  }

  /** The change feed: pages of changes, as they happen, until request.signal is aborted. */
  changes(params: ChangesParams = {}, request?: RequestOptions): AsyncGenerator<ChangesPage, void, void> {
    return changes(this.#transport, params, request)
  }

  /** A client with another credential; without one if token is undefined. */
  withToken(token: string | undefined): Client {
    return new Client({ ...this.#transport.options, token })
  }
}
`

// paths writes the paths of the types of a kind, by their names.
func (w *writer) paths(constant, of string, kind contenttypes.Kind) {
	w.line("")
	w.line("const %s: { readonly [N in keyof %s]: string } = {", constant, of)
	for _, t := range w.types() {
		if !t.BuiltIn && t.Kind == kind {
			w.line("  %s: %s,", key(t.PathName()), quote("/"+t.PathName()))
		}
	}
	w.line("}")
}
