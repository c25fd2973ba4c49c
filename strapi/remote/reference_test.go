package remote_test

import (
	"os"
	"testing"

	"lectern/strapi/remote"
)

// TestReference fills and reads a running Strapi. Its URL and the key of a full-access token are in LECTERN_REFERENCE
// and LECTERN_REFERENCE_TOKEN; LECTERN_REFERENCE_DIR keeps the archive.
func TestReference(t *testing.T) {
	s := site{t, os.Getenv("LECTERN_REFERENCE"), os.Getenv("LECTERN_REFERENCE_TOKEN")}
	if s.base == "" {
		t.Skip("LECTERN_REFERENCE is not set")
	}
	if os.Getenv("LECTERN_REFERENCE_FILL") != "" {
		s.fill(12)
	}
	report, err := remote.Read(t.Context(), os.Getenv("LECTERN_REFERENCE_DIR"),
		remote.Options{URL: s.base, Token: s.key, Rate: 100})
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + report.String())
}
