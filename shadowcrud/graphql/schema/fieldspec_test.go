package schema_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// TestFieldSpecs checks the FieldSpec of a field of each kind.
func TestFieldSpecs(t *testing.T) {
	s := build(t, load(t, filepath.Join(projects, "kitchen")), schema.Options{DocumentActions: true})
	odd := build(t, load(t, "testdata/odd"), schema.Options{})
	live := build(t, load(t, filepath.Join(projects, "kitchen")), schema.Options{Subscriptions: true})
	for _, c := range []struct {
		s     *schema.Schema
		field string
		kind  schema.Kind
		says  string
	}{
		{s, "Query.restaurant", schema.RootOne,
			"type api::restaurant.restaurant, object Restaurant, localized, scope api::restaurant.restaurant.findOne"},
		{s, "Query.menus", schema.RootList,
			"type api::menu.menu, object Menu, list!, filters MenuFiltersInput, paged, scope api::menu.menu.find"},
		{s, "Query.people_connection", schema.RootConnection,
			"type api::person.person, object PersonEntityResponseCollection, filters PersonFiltersInput, paged, scope api::person.person.find"},
		{s, "Query.homepage", schema.RootSingle,
			"type api::homepage.homepage, object Homepage, localized, scope api::homepage.homepage.find"},
		{s, "Query.uploadFiles", schema.RootList,
			"type plugin::upload.file, object UploadFile, list!, filters UploadFileFiltersInput, paged, scope plugin::upload.content-api.find"},
		{s, "Query.me", schema.Me, "type plugin::users-permissions.user, object UsersPermissionsMe"},
		{s, "Mutation.createReview", schema.Create,
			"type api::review.review, object Review, input ReviewInput, scope api::review.review.create"},
		{s, "Mutation.updateHomepage", schema.Update,
			"type api::homepage.homepage, object Homepage, input HomepageInput, localized, scope api::homepage.homepage.update"},
		{s, "Mutation.deleteMenu", schema.Delete,
			"type api::menu.menu, object DeleteMutationResponse, scope api::menu.menu.delete"},
		{s, "Mutation.publishRestaurant", schema.Publish,
			"type api::restaurant.restaurant, object Restaurant, localized, scope api::restaurant.restaurant.publish"},
		{s, "Mutation.unpublishHomepage", schema.Unpublish,
			"type api::homepage.homepage, object Homepage, localized, scope api::homepage.homepage.unpublish"},
		{s, "Mutation.discardDraftCategory", schema.DiscardDraft,
			"type api::category.category, object Category, scope api::category.category.discardDraft"},
		{s, "Mutation.updateUploadFile", schema.UpdateFile,
			"type plugin::upload.file, object UploadFile!, input FileInfoInput, scope plugin::upload.content-api.upload"},
		{s, "Mutation.deleteUsersPermissionsUser", schema.DeleteUser,
			"type plugin::users-permissions.user, object UsersPermissionsUserEntityResponse!, scope plugin::users-permissions.user.destroy"},
		{s, "Mutation.createUsersPermissionsRole", schema.CreateRole,
			"type plugin::users-permissions.role, object UsersPermissionsCreateRolePayload, input UsersPermissionsRoleInput, scope plugin::users-permissions.role.createRole"},
		{s, "Mutation.login", schema.Login,
			"type plugin::users-permissions.user, object UsersPermissionsLoginPayload!, input UsersPermissionsLoginInput"},
		{s, "Mutation.changePassword", schema.ChangePassword,
			"type plugin::users-permissions.user, object UsersPermissionsLoginPayload, scope plugin::users-permissions.auth.changePassword"},
		{s, "Restaurant.name", schema.Value, "attr name, scalar String!"},
		{s, "Restaurant.visits", schema.Value, "attr visits, scalar Long"},
		{s, "Restaurant.tier", schema.Value, "attr tier, enum ENUM_RESTAURANT_TIER"},
		{s, "Restaurant.secret", schema.Value, "attr secret, scalar String, password"},
		{s, "Restaurant.owner", schema.Relation, "attr owner, type api::person.person, object Person"},
		{s, "Restaurant.categories", schema.RelationList,
			"attr categories, type api::category.category, object Category, list!, filters CategoryFiltersInput, paged"},
		{s, "Restaurant.categories_connection", schema.RelationConnection,
			"attr categories, type api::category.category, object CategoryRelationResponseCollection, filters CategoryFiltersInput, paged"},
		{s, "Restaurant.localizations", schema.RelationList,
			"attr localizations, type api::restaurant.restaurant, object Restaurant, list!, filters RestaurantFiltersInput, paged"},
		{s, "Homepage.localizations", schema.RelationList,
			"attr localizations, type api::homepage.homepage, object Homepage, list!"},
		{s, "Restaurant.cover", schema.File, "attr cover, type plugin::upload.file, object UploadFile"},
		{s, "Restaurant.gallery", schema.FileList,
			"attr gallery, type plugin::upload.file, object UploadFile, list!, filters UploadFileFiltersInput, paged"},
		{s, "Restaurant.gallery_connection", schema.FileConnection,
			"attr gallery, type plugin::upload.file, object UploadFileRelationResponseCollection, filters UploadFileFiltersInput, paged"},
		{s, "Restaurant.address", schema.ComponentOne,
			"attr address, component default.address, object ComponentDefaultAddress"},
		{s, "Menu.dishes", schema.ComponentList,
			"attr dishes, component default.dish, object ComponentDefaultDish, list!, filters ComponentDefaultDishFiltersInput, paged"},
		{s, "Restaurant.dz", schema.Zone, "attr dz, union RestaurantDzDynamicZone, list"},
		{s, "ComponentDefaultDish.id", schema.Value, "attr id, scalar ID!"},
		{s, "UploadFile.related", schema.Related, "attr related, union GenericMorph, list"},
		{odd, "BigThing2.morph1", schema.MorphOne, "attr morph1, union GenericMorph"},
		{odd, "BigThing2.morphN", schema.MorphList, "attr morphN, union GenericMorph, list"},
		{s, "RestaurantEntityResponseCollection.nodes", schema.Nodes,
			"type api::restaurant.restaurant, object Restaurant, list!!"},
		{s, "RestaurantEntityResponseCollection.pageInfo", schema.PageInfo, "object Pagination!"},
		{s, "Pagination.pageCount", schema.PageCount, "scalar Int!"},
		{s, "DeleteMutationResponse.documentId", schema.DeletedID, "scalar ID!"},
		{s, "UsersPermissionsLoginPayload.jwt", schema.JWT, "scalar String"},
		{s, "UsersPermissionsLoginPayload.user", schema.LoginUser,
			"type plugin::users-permissions.user, object UsersPermissionsMe!"},
		{s, "UsersPermissionsUserEntityResponse.data", schema.UserData,
			"type plugin::users-permissions.user, object UsersPermissionsUser"},
		{s, "UsersPermissionsMe.id", schema.Value, "attr id, scalar ID!"},
		{s, "UsersPermissionsMe.role", schema.MeRole,
			"attr role, type plugin::users-permissions.role, object UsersPermissionsMeRole"},
		{live, "Subscription.restaurantChanged", schema.Changed,
			"type api::restaurant.restaurant, object RestaurantChange!, filters RestaurantFiltersInput, localized, scope api::restaurant.restaurant.find"},
		{live, "Subscription.homepageChanged", schema.Changed,
			"type api::homepage.homepage, object HomepageChange!, localized, scope api::homepage.homepage.find"},
		{live, "Subscription.uploadFileChanged", schema.Changed,
			"type plugin::upload.file, object UploadFileChange!, filters UploadFileFiltersInput, scope plugin::upload.content-api.find"},
		{live, "RestaurantChange.change", schema.ChangeKind, "enum ChangeKind!"},
		{live, "RestaurantChange.documentId", schema.ChangeDocumentID, "scalar ID!"},
		{live, "RestaurantChange.locale", schema.ChangeLocale, "scalar String"},
		{live, "RestaurantChange.seq", schema.ChangeSeq, "scalar String!"},
		{live, "RestaurantChange.at", schema.ChangeTime, "scalar DateTime!"},
		{live, "RestaurantChange.document", schema.ChangeDocument,
			"type api::restaurant.restaurant, object Restaurant"},
		{s, "Error.code", schema.ErrorCode, "scalar String!"},
	} {
		typ, field, _ := strings.Cut(c.field, ".")
		m := c.s.FieldSpec(typ, field)
		switch {
		case m == nil:
			t.Errorf("%s: missing", c.field)
		case m.Kind != c.kind || says(m) != c.says:
			t.Errorf("%s: kind %d, %s\nwant: kind %d, %s", c.field, m.Kind, says(m), c.kind, c.says)
		case m.Of != c.s.Object(typ) || m.Name != field:
			t.Errorf("%s: says of itself to be %s.%s", c.field, m.Of.Name, m.Name)
		}
	}
}

// says prints a FieldSpec as text for comparison.
func says(m *schema.FieldSpec) string {
	var words []string
	add := func(ok bool, format string, args ...any) {
		if ok {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	bang := map[bool]string{true: "!"}
	own := bang[m.NonNull && !m.List]
	if m.Attr != nil {
		add(true, "attr %s", m.Attr.Name)
	}
	if m.Type != nil {
		add(true, "type %s", m.Type.UID)
	}
	if m.Component != nil {
		add(true, "component %s", m.Component.UID)
	}
	if m.Object != nil {
		add(true, "object %s%s", m.Object.Name, own)
	}
	if m.Union != nil {
		add(true, "union %s%s", m.Union.Name, own)
	}
	if m.Enum != nil {
		add(true, "enum %s%s", m.Enum.Name, own)
	}
	if m.Scalar != nil {
		add(true, "scalar %s%s", m.Scalar.Name, own)
	}
	add(m.List, "list%s%s", bang[m.NonNull], bang[m.NonNulls])
	if m.Filters != nil {
		add(true, "filters %s", m.Filters.Name)
	}
	add(m.Paged, "paged")
	if m.Input != nil {
		add(true, "input %s", m.Input.Name)
	}
	add(m.Localized, "localized")
	add(m.Scope != "", "scope %s", m.Scope)
	add(m.Password, "password")
	return strings.Join(words, ", ")
}

// TestComplete visits every part of a schema and checks that each has its spec.
func TestComplete(t *testing.T) {
	s := build(t, load(t, filepath.Join(projects, "kitchen")),
		schema.Options{DocumentActions: true, Subscriptions: true})
	for _, d := range parse(t, s.SDL).Types {
		if d.BuiltIn || strings.HasPrefix(d.Name, "__") {
			continue
		}
		switch d.Kind {
		case "OBJECT":
			for _, f := range d.Fields {
				if m := s.FieldSpec(d.Name, f.Name); !strings.HasPrefix(f.Name, "__") &&
					(m == nil || m.Kind == schema.Custom) {
					t.Errorf("%s.%s has no spec", d.Name, f.Name)
				}
			}
		case "UNION":
			for _, name := range d.Types {
				if m := s.Union(d.Name).ByName(name); m == nil || m != s.Object(name) {
					t.Errorf("%s | %s has no spec", d.Name, name)
				}
			}
		case "ENUM":
			for _, v := range d.EnumValues {
				value, ok := s.Enum(d.Name).Value(v.Name)
				if name, back := s.Enum(d.Name).NameOf(value); !ok || !back || name != v.Name {
					t.Errorf("%s.%s has no spec", d.Name, v.Name)
				}
			}
		case "SCALAR":
			if x := s.Scalar(d.Name); x == nil || x.Kind == schema.CustomScalar ||
				(x.Kind == schema.ZoneScalar) != (x.Zone != nil) {
				t.Errorf("%s has no spec", d.Name)
			}
		case "INPUT_OBJECT":
			if d.Name == "PaginationArg" {
				continue
			}
			for _, f := range d.Fields {
				known := 0
				if in := s.Input(d.Name); in != nil && in.Field(f.Name) != nil &&
					in.Field(f.Name).Kind != schema.InputCustom {
					known++
				}
				if in := s.Filters(d.Name); in != nil && in.Field(f.Name) != nil &&
					in.Field(f.Name).Kind != schema.FilterCustom {
					known++
				}
				if in := s.Operators(d.Name); in != nil && in.Field(f.Name) != nil {
					known++
				}
				if known != 1 {
					t.Errorf("%s.%s has %d specs", d.Name, f.Name, known)
				}
			}
		}
	}
}

func TestInputs(t *testing.T) {
	s := build(t, load(t, filepath.Join(projects, "kitchen")), schema.Options{})
	in := s.Input("RestaurantInput")
	for name, kind := range map[string]schema.InputKind{
		"name": schema.InputValue, "tier": schema.InputValue, "hidden": schema.InputValue,
		"owner":      schema.InputRelation,
		"categories": schema.InputRelationList, "cover": schema.InputFile, "gallery": schema.InputFileList,
		"address": schema.InputComponent, "closingPeriods": schema.InputComponentList, "dz": schema.InputZone,
		"publishedAt": schema.InputIgnored,
	} {
		if f := in.Field(name); f == nil || f.Kind != kind ||
			(kind != schema.InputIgnored) != (f.Attr == in.Schema.Attribute(name)) {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if f := in.Field("tier"); f.Enum != s.Enum("ENUM_RESTAURANT_TIER") {
		t.Error("tier has no enum")
	}
	if f := in.Field("address"); f.Input != s.Input("ComponentDefaultAddressInput") ||
		f.Input.Field("id").Kind != schema.InputID {
		t.Error("address has no input")
	}
	zone := in.Field("dz").Zone
	if zone != s.Union("RestaurantDzDynamicZone") || zone.Input != s.Scalar("RestaurantDzDynamicZoneInput") ||
		zone.Input.Zone != zone {
		t.Error("dz has no zone")
	}
	if o := zone.ByName("ComponentBlocksRichText"); o == nil || o.Component.UID != "blocks.rich-text" {
		t.Error("the zone does not know its components")
	}
}

func TestFilters(t *testing.T) {
	s := build(t, load(t, filepath.Join(projects, "kitchen")), schema.Options{})
	f := s.Filters("RestaurantFiltersInput")
	if x := f.Field("visits"); x.Kind != schema.FilterValue || x.Attr.Type != contenttypes.BigInteger ||
		x.Operators != s.Operators("LongFilterInput") {
		t.Errorf("visits: %+v", x)
	}
	if x := f.Field("owner"); x.Kind != schema.FilterThrough || x.Filters != s.Filters("PersonFiltersInput") {
		t.Errorf("owner: %+v", x)
	}
	if x := f.Field("not"); x.Kind != schema.FilterNot || x.Filters != f {
		t.Errorf("not: %+v", x)
	}
	ops := s.Operators("StringFilterInput")
	for name, want := range map[string]schema.Operator{
		"eq": {Op: store.Eq}, "nei": {Op: store.NeI}, "notContainsi": {Op: store.NotContainsI},
		"between": {Kind: schema.OperatorList, Op: store.Between},
		"notNull": {Kind: schema.OperatorNull, Op: store.NotNull}, "or": {Kind: schema.OperatorOr},
		"not": {Kind: schema.OperatorNot},
	} {
		want.Name = name
		if got := ops.Field(name); got == nil || *got != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestArguments(t *testing.T) {
	if s, ok := schema.StatusOf("DRAFT"); !ok || s != store.Draft {
		t.Error("DRAFT")
	}
	if _, ok := schema.StatusOf("draft"); ok {
		t.Error("draft is no status")
	}
	if p, ok := schema.PublicationStateOf("PUBLISHED_WITH_DRAFT"); !ok || p != store.PublishedWithDraft {
		t.Error("PUBLISHED_WITH_DRAFT")
	}
	if _, ok := schema.PublicationStateOf(""); ok {
		t.Error("nothing is no state")
	}
}

// TestEnumValues checks that different values get different names, and that all names are legal.
func TestEnumValues(t *testing.T) {
	for _, c := range []struct{ values, names []string }{
		{[]string{"very hard", "Über", "a & b", "it's", "x--y", " z "},
			[]string{"very_hard", "Ueber", "a_and_b", "it_s", "x_y", "z"}},
		{[]string{"привет", "Ъ", "日本", "!"}, []string{"privet", "_", "_2", "_3"}},
		{[]string{"a b", "a_b", "a.b", "a_b_2"}, []string{"a_b", "a_b_2", "a_b_3", "a_b_2_2"}},
		{[]string{"10", "true", "null", "false", "True"}, []string{"_10", "_true", "_null", "_false", "True"}},
		{[]string{"e\u0301t\u00e9"}, []string{"ete"}},
	} {
		files := map[string]string{"content-types/x.yaml": fmt.Sprintf("kind: collectionType\ninfo: {singularName: x, pluralName: xs, displayName: X}\nattributes:\n  kind: {type: enumeration, enum: [%s]}\n", quoted(c.values))}
		s := build(t, loadFiles(t, files), schema.Options{})
		e := s.Enum("ENUM_X_KIND")
		for i, v := range c.values {
			if name, _ := e.NameOf(v); name != c.names[i] {
				t.Errorf("%q is %q, want %q", v, name, c.names[i])
			}
		}
	}
}

func quoted(words []string) string {
	var q []string
	for _, w := range words {
		q = append(q, fmt.Sprintf("%q", w))
	}
	return strings.Join(q, ", ")
}
