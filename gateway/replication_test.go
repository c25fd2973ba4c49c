package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestSecretsInDefinitions serves files that contain secrets. Replicas get neither them nor the content until the secrets are in the
// environment.
func TestSecretsInDefinitions(t *testing.T) {
	const secret = "a-secret-of-thirty-two-characters"
	plugins := map[string]string{
		"jwtSecret":                       "users-permissions: {config: {jwtSecret: %s}}\n",
		"the password of the mail server": "users-permissions: {config: {email: {from: cms@example.org, smtp: {host: mail.example.org, username: cms, password: %s}}}}\n",
		"the secret key of the bucket":    "upload: {config: {provider: s3, providerOptions: {endpoint: 'http://127.0.0.1:9', bucket: files, region: eu, accessKey: key, secretKey: %s}}}\n",
	}
	for name, text := range plugins {
		t.Run(name, func(t *testing.T) {
			for _, literal := range []bool{true, false} {
				e := &editing{T: t, dir: t.TempDir()}
				e.write("content-types/note.yaml", noteFile())
				value := "\"${MARKED}\""
				if literal {
					value = secret
				}
				e.write(".env", "MARKED="+secret+"\n")
				e.write("config/plugins.yaml", fmt.Sprintf(text, value))
				e.serve(nil)
				for _, path := range []string{"copy", "definitions"} {
					status, answer := get(t, e.base+"/api/_replica/"+path, e.key)
					refused := status == http.StatusConflict && strings.Contains(answer, "config/plugins.yaml contains "+name)
					if refused != literal || strings.Contains(answer, secret) {
						t.Errorf("GET %s, with the secret in the file: %v: %d %.300q", path, literal, status, answer)
					}
				}
				e.close()
			}
		})
	}
}
