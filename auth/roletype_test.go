package auth_test

import (
	"context"
	"encoding/json"
	"testing"

	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// TestTypesOfRolesAreThoseOfStrapi creates roles and compares their types with those that Strapi gives to roles of
// these names.
func TestTypesOfRolesAreThoseOfStrapi(t *testing.T) {
	f := newFixture(t)
	u := f.users(nil)
	for _, tt := range []struct{ name, want string }{
		{"QA Lead", "qa_lead"}, {"myRole", "myrole"}, {"foo_bar-baz9qux", "foo_bar_baz_9_qux"}, {"A.B.C", "a_b_c"},
		{"Mod's", "mods"}, {"x’s", "xs"},
		{"Editor2", "editor_2"}, {"a1b2", "a_1_b_2"}, {"V1.2", "v_1_2"}, {"Δelta4", "δelta_4"},
		{"हिन्दी भाषा", "हिन्दी_भाषा"}, {"ไทยแลนด์", "ไทยแลนด์"}, {"Đồng", "dồng"}, {"Țară Ţară", "țara_tara"},
		{"ŀuna ŉa", "luna_na"}, {"ǎ e\u0301", "ǎ_e"},
		{"I ♥ №5 €", "i_♥_№_5_€"}, {"H₂O 3º x² ×µ", "h₂o_3_x"}, {"a–b…c\u3000d", "a_b_c_d"},
		{"2nd Admin", "2nd_admin"}, {"10th Level3", "10th_level_3"}, {"11th", "11_th"}, {"2ndx", "2_ndx"},
		{"a2nd", "a_2nd"}, {"2nd2", "2_nd_2"},
		{"Café 3 Étoiles", "cafe_3_etoiles"}, {"ÄÖÜ ß", "aou_ss"}, {"Œuvre Łódź", "oeuvre_lodz"},
		{"e\u0301\u0301", "e"}, {"日本", "日本"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := u.CreateRole(context.Background(), nil, permission.FullAccess, jsontree.ObjectOf("name", tt.name, "description", "",
				"permissions", jsontree.NewObject())); err != nil {
				t.Fatal(err)
			}
			if err := f.store.View(func(s *store.Snapshot) error {
				roles, err := u.Roles(s)
				if err != nil {
					return err
				}
				var got string
				stored := roles[len(roles)-1].JSON(f.model.Type("plugin::users-permissions.role").Attribute("type"))
				if err := json.Unmarshal(stored, &got); err != nil || got != tt.want {
					t.Errorf("got %s %v, want %s", stored, err, tt.want)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}
