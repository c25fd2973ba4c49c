package powerloss

import (
	"testing"

	"lectern/internal/simulation/program"
)

func TestMain(m *testing.M) { program.Main(m) }
