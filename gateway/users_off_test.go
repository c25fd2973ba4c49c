package gateway_test

import (
	"testing"
	"time"
)

// TestMailIsSentAfterUsersAreSwitchedOff switches users off while a mail is being sent, and expects the project to be
// closed only when the mail was sent: the work for it uses the store.
func TestMailIsSentAfterUsersAreSwitchedOff(t *testing.T) {
	box := newMailbox(t)
	box.mails = make(chan received) // the mailbox takes a mail once the test receives it
	e := newEditing(t)
	const users = "users-permissions:\n  config:\n    ratelimit: {enabled: false}\n    email:\n      "
	e.expect("mail is configured", func() { e.write("config/plugins.yaml", users+box.config()+"\n") }, "/api/users",
		200)
	ann := object{"username": "ann", "email": "ann@people.test", "password": "correct horse"}
	if status, body := e.do(t.Context(), "POST", "/api/auth/local/register", ann); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	if status, body := e.do(t.Context(), "POST", "/api/auth/forgot-password",
		object{"email": "ann@people.test"}); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	e.expect("users are switched off",
		func() { e.write("config/plugins.yaml", "users-permissions: {enabled: false}\n") }, "/api/users", 404)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		e.close()
	}()
	select {
	case <-closed:
		t.Error("the project was closed before the mail was sent")
	case <-time.After(500 * time.Millisecond): // it must not be closed yet
	}
	if mail := box.next(); mail.to != "<ann@people.test>" {
		t.Errorf("a mail to %s", mail.to)
	}
	<-closed
}
