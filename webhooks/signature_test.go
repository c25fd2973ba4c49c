package webhooks

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSignature signs the message that the libraries of Standard Webhooks are tested with.
func TestSignature(t *testing.T) {
	s, err := ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	id, at, body := "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`)
	want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if got := s.sign(id, at, body); got != want {
		t.Errorf("signed %s, want %s", got, want)
	}
	if got := signatures([]Secret{s, s}, id, at, body); got != want+" "+want {
		t.Errorf("signed by two secrets: %s", got)
	}
}

func TestSecrets(t *testing.T) {
	encoded := func(n int) string { return base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", n))) }
	for text, valid := range map[string]bool{
		"whsec_" + encoded(24): true, "whsec_" + encoded(64): true,
		"whsec_" + encoded(23): false, "whsec_" + encoded(65): false, encoded(32): false, "whsec_" + encoded(32) +
			"!": false, "": false, "whsec_": false,
	} {
		s, err := ParseSecret(text)
		if (err == nil) != valid {
			t.Errorf("%q: %v", text, err)
		}
		if shown := fmt.Sprintf("%v %s %#v %+v", s, s, s, []Secret{s}); text != "" &&
			strings.Contains(shown, strings.TrimPrefix(text, "whsec_")) && len(text) > 6 {
			t.Errorf("%q is shown: %s", text, shown)
		}
	}
}
