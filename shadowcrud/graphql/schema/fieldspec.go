package schema

import (
	"github.com/graphql-go/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"lectern/contenttypes"
	"lectern/store"
)

// A Schema is the GraphQL schema of a Model, with a spec of each of its parts. It is immutable: any number of
// goroutines may use it.
type Schema struct {
	Model   *contenttypes.Model
	GraphQL graphql.Schema
	// SDL is the schema as text, in the order of TypeNames and without the five standard scalars. It has the
	// descriptions, defaults and deprecations that introspection shows.
	SDL string
	// Tree is the syntax tree of the SDL, made by gqlparser. Package language validates documents against it.
	Tree *ast.Schema
	// TypeNames lists all types in the order of introspection, except the types of introspection itself.
	TypeNames []string

	Query        *Object
	Mutation     *Object // nil when nothing can be written
	Subscription *Object // nil without Options.Subscriptions, or when no type can be queried

	types map[string]*namedType
	byUID map[string]*Object
}

// named returns the type of that name, or an empty namedType if there is none.
func (s *Schema) named(name string) *namedType {
	if t := s.types[name]; t != nil {
		return t
	}
	return &namedType{}
}

// Object returns the object type of that name, or nil.
func (s *Schema) Object(name string) *Object { return s.named(name).object }

// ObjectOf returns the object type of a content-type or component, nil when the schema does not show it.
func (s *Schema) ObjectOf(uid string) *Object { return s.byUID[uid] }

// FieldSpec returns the spec of a field of an object type, or nil.
func (s *Schema) FieldSpec(typ, field string) *FieldSpec {
	if o := s.Object(typ); o != nil {
		return o.Field(field)
	}
	return nil
}

// Interface returns the interface of that name, or nil. Only extensions have interfaces.
func (s *Schema) Interface(name string) *Interface { return s.named(name).iface }

// Union returns the union of that name, or nil.
func (s *Schema) Union(name string) *Union { return s.named(name).union }

// Enum returns the enum of that name, or nil.
func (s *Schema) Enum(name string) *Enum { return s.named(name).enum }

// Scalar returns the scalar of that name, or nil.
func (s *Schema) Scalar(name string) *Scalar { return s.named(name).scalar }

// Filters returns the filters input (ArticleFiltersInput) of that name, or nil.
func (s *Schema) Filters(name string) *Filters { return s.named(name).filters }

// Operators returns the input of a scalar's filter (StringFilterInput) of that name, or nil.
func (s *Schema) Operators(name string) *Operators { return s.named(name).operators }

// Input returns the input (ArticleInput, UsersPermissionsLoginInput) of that name, or nil.
func (s *Schema) Input(name string) *Input { return s.named(name).data }

// Kind says what a field shows or does. It decides which parts of its FieldSpec are set.
type Kind uint8

const (
	// Custom is a field that an extension added and its resolver answers.
	Custom Kind = iota

	// Fields of Query. Type is the type that is queried.
	RootOne        // article(documentId, …)
	RootList       // articles(filters, pagination, sort, …)
	RootConnection // articles_connection(filters, pagination, sort, …)
	RootSingle     // homepage(…)
	Me             // me, the calling user; Type is the type of users
	QueryOK        // ok: true, in a schema without other fields of Query

	// Fields of Mutation. Type is the type that is written; Input is that of the argument data, if there is one.
	Create // createArticle(status, data, [locale])
	Update // updateArticle(documentId, status, data, [locale]); without documentId on a single type
	Delete // deleteArticle(documentId, [locale]); without documentId on a single type
	Publish
	Unpublish
	DiscardDraft
	CancelSchedule
	UpdateFile // updateUploadFile(id, info)
	DeleteFile // deleteUploadFile(id)
	CreateRole
	UpdateRole
	DeleteRole
	CreateUser
	UpdateUser
	DeleteUser
	Login
	Register
	ForgotPassword
	ResetPassword
	ChangePassword
	EmailConfirmation

	// Changed is the field of Subscription for the changes of documents: articleChanged(documentId, filters, …). Type
	// is their type, and Object the type of a change.
	Changed

	// Fields of documents and components. Attr is the attribute.
	Value              // a scalar, an enumeration (Enum is set) or the id of a component
	Relation           // a relation to one document; Type is its type
	RelationList       // a relation to many documents, or localizations
	RelationConnection // a relation to many documents, as {nodes}
	ComponentOne       // one component, of type Component
	ComponentList
	Zone     // a dynamic zone; Union has its components
	File     // a media attribute with one file; Type is the type of files
	FileList // a media attribute with several files
	FileConnection
	MorphOne  // a relation to one document of any type; Union
	MorphList // a relation to many documents of any type; Union
	Related   // UploadFile.related: the documents that use the file; Union. Attr is the attribute related of files

	// Fields of pages.
	Nodes    // the documents of a connection; Type is their type
	PageInfo // the position of a page in a connection
	PageTotal
	PageNumber
	PageSize
	PageCount

	// Fields of payloads.
	DeletedID // DeleteMutationResponse.documentId
	OK        // {ok: true} of roles and passwords
	JWT
	LoginUser // UsersPermissionsLoginPayload.user; Object is UsersPermissionsMe
	UserData  // UsersPermissionsUserEntityResponse.data
	MeRole    // UsersPermissionsMe.role; Attr is the role attribute of users. The other fields of UsersPermissionsMe are Values
	ErrorCode // Error.code in the union of a dynamic zone
	ErrorMessage

	// Fields of a change.
	ChangeKind       // what happened; Enum is ChangeKind
	ChangeDocumentID // of the changed document
	ChangeLocale     // of the changed version; null for a type without locales
	ChangeSeq        // the position behind the change in the log
	ChangeTime       // when the change was made
	ChangeDocument   // the changed document, null if it is gone; Type is its type
)

// A FieldSpec says what a field of an object type shows or does.
type FieldSpec struct {
	Kind Kind
	Name string
	Of   *Object // the object type that the field belongs to

	Type      *contenttypes.ContentType
	Attr      *contenttypes.Attribute
	Component *contenttypes.Component

	// The type of the field without its lists and non-nulls. One of these is set.
	Object    *Object
	Interface *Interface
	Union     *Union
	Enum      *Enum
	Scalar    *Scalar

	List     bool // a list; no generated field is a list of lists, see Wrapped
	NonNull  bool // the field itself is never null
	NonNulls bool // the items of the list are never null
	// Wrapped marks fields of extensions whose type is a list of lists; List, NonNull and NonNulls are those of the
	// outermost list.
	Wrapped bool

	Filters *Filters // of the argument filters, nil where there is none
	Input   *Input   // of the argument data, input or info
	Paged   bool     // takes pagination and sort
	// Localized fields take the argument locale.
	Localized bool
	// Scope is the action that the caller needs permission for, such as "api::article.article.find". It is empty for
	// relations, which permission.Access.Follows decides about, and for fields that need no permission.
	Scope string
	// Password fields are always null.
	Password bool

	// Resolve answers the field in place of the engine, if it is set. It comes from a graphql-go type or from the
	// Resolvers of an extension.
	Resolve graphql.FieldResolveFn
	// Auth, Policies and Middlewares come from the configs of extensions, in the order in which they were added.
	Auth        Auth
	Policies    []BoundPolicy
	Middlewares []Middleware

	out         graphql.Output
	args        []*argument
	description string
	deprecated  string // the reason of @deprecated, empty if it is not deprecated
}

// Runs reports whether answering the field calls a resolver, policy or middleware of a program.
func (m *FieldSpec) Runs() bool {
	return m.Kind == Custom || m.Resolve != nil || m.Policies != nil || m.Middlewares != nil
}

// Output returns the field's type in graphql-go.
func (m *FieldSpec) Output() graphql.Output { return m.out }

// A BoundPolicy is a policy of a field with its config.
type BoundPolicy struct {
	Name   string // empty where it is a function
	Config any
	Policy Policy
}

// An Object is an object type.
type Object struct {
	Name   string
	Fields []*FieldSpec // in the order of the schema
	// Schema is the schema of the content-type or component that the object shows; nil for other objects.
	Schema    *contenttypes.Schema
	Type      *contenttypes.ContentType // nil for components
	Component *contenttypes.Component   // nil for content-types

	byName      map[string]*FieldSpec
	graphql     *graphql.Object
	interfaces  []*Interface
	description string
}

// GraphQL returns the type of graphql-go.
func (o *Object) GraphQL() *graphql.Object { return o.graphql }

// Field returns the field of that name, or nil. It returns nil for __typename, too.
func (o *Object) Field(name string) *FieldSpec { return o.byName[name] }

// An Interface is an interface type. Only extensions add any.
type Interface struct {
	Name   string
	Fields []*FieldSpec

	graphql     *graphql.Interface
	description string
}

// A Union is a dynamic zone (its components and Error) or GenericMorph (any type and component).
type Union struct {
	Name    string
	Members []*Object
	Attr    *contenttypes.Attribute // the zone; nil for GenericMorph
	// Input is the scalar of an item of the zone in an input.
	Input *Scalar

	byName      map[string]*Object
	graphql     *graphql.Union
	description string
}

// ByName returns the member of that name, or nil.
func (u *Union) ByName(name string) *Object { return u.byName[name] }

// An Enum gives each value of an enumeration attribute a legal GraphQL name. In enums of arguments, the names are the
// values.
type Enum struct {
	Name   string
	Values []EnumValue

	// GraphQL is the enum in graphql-go. Only enums that an extension made in Go have values other than strings in it.
	GraphQL *graphql.Enum

	byName      map[string]string
	byValue     map[string]string
	description string
}

// An EnumValue is the name in GraphQL of a stored value.
type EnumValue struct {
	Name, Value string

	description string
	deprecated  string // the reason of @deprecated, empty if it is not deprecated
}

// Value returns the stored value of a name; ok is false when there is none.
func (e *Enum) Value(name string) (value string, ok bool) {
	value, ok = e.byName[name]
	return value, ok
}

// NameOf returns the name of a stored value; ok is false for values that were removed from the enumeration.
func (e *Enum) NameOf(value string) (name string, ok bool) {
	name, ok = e.byValue[value]
	return name, ok
}

// ScalarKind decides how the values of a scalar are read and printed.
type ScalarKind uint8

const (
	CustomScalar ScalarKind = iota // of an extension: any JSON value
	StringScalar
	IntScalar
	FloatScalar
	BooleanScalar
	IDScalar
	JSONScalar
	LongScalar
	DateScalar
	TimeScalar
	DateTimeScalar
	LocaleScalar // I18NLocaleCode
	ZoneScalar   // <Type><Attribute>DynamicZoneInput
)

// A Scalar is a scalar type.
type Scalar struct {
	Name string
	Kind ScalarKind
	Zone *Union // of a ZoneScalar

	// GraphQL is the scalar in graphql-go. The engine calls its ParseValue, ParseLiteral and Serialize only for a
	// CustomScalar.
	GraphQL *graphql.Scalar

	specifiedBy string // a URL
}

// FilterKind says what condition a field of a filters input states.
type FilterKind uint8

const (
	FilterAnd     FilterKind = iota // a list of Filters that must all hold
	FilterOr                        // a list of Filters of which one must hold
	FilterNot                       // one Filters object, negated
	FilterValue                     // Operators on the scalar Attr
	FilterThrough                   // Filters that a target of the relation or component Attr must match
	FilterCustom                    // a field that an extension added
)

// Filters is the input that filters documents of a type, or components.
type Filters struct {
	Name   string
	Schema *contenttypes.Schema
	Fields []*FilterField

	byName map[string]*FilterField
	in     *inputType
}

// Field returns the field of that name, or nil.
func (f *Filters) Field(name string) *FilterField { return f.byName[name] }

// A FilterField is a field of Filters.
type FilterField struct {
	Kind      FilterKind
	Name      string
	Attr      *contenttypes.Attribute
	Operators *Operators
	Filters   *Filters // of FilterThrough, and those that the field belongs to for FilterAnd, FilterOr, FilterNot
}

// OperatorKind says what a field of a scalar's filter compares.
type OperatorKind uint8

const (
	OperatorCompare OperatorKind = iota // compares by Op with one value
	OperatorList                        // compares by Op with a list of values
	OperatorNull                        // Op (Null or NotNull) with a boolean: false negates it
	OperatorAnd                         // equal to every value of a list
	OperatorOr                          // equal to one value of a list
	OperatorNot                         // Operators, negated
)

// Operators is the input that filters by a scalar.
type Operators struct {
	Name   string
	Scalar *Scalar
	Fields []*Operator

	byName map[string]*Operator
	in     *inputType
}

// Field returns the operator of that name, or nil.
func (o *Operators) Field(name string) *Operator { return o.byName[name] }

// An Operator is a field of Operators.
type Operator struct {
	Kind OperatorKind
	Name string
	Op   store.Op
}

// InputKind says what a field of an input holds.
type InputKind uint8

const (
	InputValue         InputKind = iota // a scalar or enumeration (Enum is set)
	InputID                             // the id of an existing component
	InputRelation                       // a documentId
	InputRelationList                   // a list of documentIds
	InputFile                           // the id of a file
	InputFileList                       // a list of ids of files
	InputComponent                      // a component; Input is its input
	InputComponentList                  // a list of components; Input is their input
	InputZone                           // the items of a dynamic zone, each of the scalar Zone.Input
	InputIgnored                        // publishedAt and locale: accepted without effect
	InputArgument                       // a field of an input without a Schema: login, registration, file information
	InputCustom                         // a field that an extension added
)

// An Input is an input with the data of a document or component, or of an operation on users and files.
type Input struct {
	Name   string
	Schema *contenttypes.Schema // nil if the fields are not attributes
	Fields []*InputField

	byName map[string]*InputField
	in     *inputType
}

// Field returns the field of that name, or nil.
func (i *Input) Field(name string) *InputField { return i.byName[name] }

// An InputField is a field of an Input.
type InputField struct {
	Kind   InputKind
	Name   string
	Attr   *contenttypes.Attribute
	Input  *Input
	Enum   *Enum
	Zone   *Union
	Scalar *Scalar
}

// StatusOf returns the status that a value of the enum PublicationStatus names.
func StatusOf(name string) (s store.Status, ok bool) {
	switch name {
	case "DRAFT":
		return store.Draft, true
	case "PUBLISHED":
		return store.Published, true
	}
	return 0, false
}

// publicationStates are the names of the enum PublicationFilter.
var publicationStates = []struct {
	name  string
	state store.PublicationState
}{
	{"NEVER_PUBLISHED", store.NeverPublished},
	{"HAS_PUBLISHED_VERSION", store.HasPublishedVersion},
	{"MODIFIED", store.Modified},
	{"UNMODIFIED", store.Unmodified},
	{"NEVER_PUBLISHED_DOCUMENT", store.NeverPublishedDocument},
	{"HAS_PUBLISHED_VERSION_DOCUMENT", store.HasPublishedVersionDocument},
	{"PUBLISHED_WITHOUT_DRAFT", store.PublishedWithoutDraft},
	{"PUBLISHED_WITH_DRAFT", store.PublishedWithDraft},
}

// PublicationStateOf returns the publication state that a value of the enum PublicationFilter names.
func PublicationStateOf(name string) (s store.PublicationState, ok bool) {
	for _, p := range publicationStates {
		if p.name == name {
			return p.state, true
		}
	}
	return 0, false
}

// GraphQL is the type in graphql-go.
func (u *Union) GraphQL() *graphql.Union { return u.graphql }

// GraphQL is the type in graphql-go.
func (i *Interface) GraphQL() *graphql.Interface { return i.graphql }
