package evolve_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"lectern/store/evolve"
)

// TestStepNames asserts the names under which steps are kept in files, so that a conversion that another version began
// goes on.
func TestStepNames(t *testing.T) {
	for name, work := range map[string]evolve.Work{
		"define": &evolve.Define{}, "dropIndex": &evolve.DropIndex{}, "buildIndex": &evolve.BuildIndex{},
		"buildInner": &evolve.BuildInner{}, "values": &evolve.EditValues{},
		"moveLocale": &evolve.MoveLocale{}, "moveRefs": &evolve.MoveRefs{}, "addDrafts": &evolve.AddDrafts{},
		"dropDrafts": &evolve.DropDrafts{}, "prune": &evolve.Prune{}, "share": &evolve.Share{},
		"copyPlane": &evolve.AddDraftLinks{},
		"dropPlane": &evolve.DropDraftLinks{}, "dropLinks": &evolve.DropLinks{}, "trimLinks": &evolve.TrimLinks{},
		"flipLinks": &evolve.FlipLinks{},
	} {
		raw, err := json.Marshal(&evolve.Step{Work: work})
		if err != nil {
			t.Fatal(err)
		}
		var kept struct{ Kind string }
		var step evolve.Step
		if err := json.Unmarshal(raw, &kept); err != nil || kept.Kind != name {
			t.Errorf("%T is kept as %q (%v)", work, kept.Kind, err)
		}
		if err := json.Unmarshal(raw, &step); err != nil || fmt.Sprintf("%T", step.Work) != fmt.Sprintf("%T", work) {
			t.Errorf("%s is read as %T (%v)", name, step.Work, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"kind": "later"}`), &evolve.Step{}); err == nil {
		t.Error("a step that is not known was read")
	}
}
