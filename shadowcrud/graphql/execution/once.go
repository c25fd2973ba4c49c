package execution

import (
	"bytes"
	"net/http"

	"lectern/shadowcrud/graphql/binding"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// A mutation with an idempotency key is carried out once: the answer to the whole operation is printed and kept in the
// transaction of its only field. Each field of Mutation is a transaction of its own, so an operation with several
// fields would be carried out in part when the server stops between two of them.

// keptOnce returns why an operation with an idempotency key is refused, or nil.
func keptOnce(p *binding.Plan) *language.Error {
	message := ""
	switch {
	case len(p.Root.Fields) != 1:
		message = "A mutation with an Idempotency-Key must have one field: each field of Mutation is carried out by itself. " +
			"Send several requests, each with its own key."
	case p.Custom:
		message = "A mutation with an Idempotency-Key must not select fields that run code of this server's program."
	case p.Root.Fields[0].Spec == nil:
		message = "An Idempotency-Key is for mutations that write."
	case rateLimited[p.Root.Fields[0].Spec.Kind] != "":
		message = "The answer may hold a JWT, which the server never stores: send the mutation without an Idempotency-Key."
	default:
		return nil
	}
	return &language.Error{Message: message, Code: language.BadUserInput}
}

// keptBy has the answer to the operation kept, if the request has an idempotency key. print prints the field, or prints
// it again, within the transaction; nil if the write itself prints it.
func (m *mutation) keptBy(print func()) *store.Once {
	if m.once == nil {
		return nil
	}
	m.once.Print = func() store.Answer {
		if print != nil {
			print()
		}
		status := http.StatusOK
		if m.field.Spec.Kind == schema.CreateUser {
			status = http.StatusCreated
		}
		return store.Answer{Status: status, Body: m.whole()}
	}
	return m.once
}

// whole returns a copy of the complete answer, given that the field is the last of the operation and is printed.
func (m *mutation) whole() []byte {
	unfinished := m.Buf
	defer func() { m.Buf = unfinished }()
	m.Buf = bytes.Clone(unfinished)
	m.EndData(m.printed || m.orNull(m.field, m.begin))
	return bytes.Clone(m.Answer())
}
