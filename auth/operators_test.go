package auth_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"lectern/auth"
)

// TestOperatorsNameOneUser has somebody register with the id of another as their name, which must not get what an
// operator means for the other.
func TestOperatorsNameOneUser(t *testing.T) {
	ctx := context.Background()
	s := newSessions(t)
	var id uint64
	for i := 0; id < 100; i++ { // a name has three characters or more
		id, _ = s.register(fmt.Sprint("user", i))
	}
	mallory, _ := s.register("100")
	role := auth.PublicRole
	for _, c := range []struct {
		who  string
		id   uint64 // of the user who is changed
		fail error
	}{
		{"100", 0, auth.ErrManyAccounts},
		{"user0", 1, nil},
		{"99", 99, nil},
		{"100@People.test", mallory, nil},
		{fmt.Sprint(mallory), mallory, nil},
		{"nobody", 0, auth.ErrNoAccount},
		{"", 0, auth.ErrNoAccount},
	} {
		changed, err := s.ChangeAccount(ctx, c.who, auth.AccountChange{Role: &role})
		if !errors.Is(err, c.fail) || changed.ID != c.id {
			t.Errorf("%q: the user %d is changed, error %v; want %d, %v", c.who, changed.ID, err, c.id, c.fail)
		}
	}
}
