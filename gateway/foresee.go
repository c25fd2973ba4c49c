package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"lectern/contenttypes"
	"lectern/store"
)

// Foresee says what a start would do with the content in the project's data directory, and refuses with the *store.DefinitionError
// with which it would, or for a secret that production does not take. It changes nothing; a server that runs on the data directory
// is asked, and goes on as it is.
func (d *Definition) Foresee(ctx context.Context, o Options) (store.Outlook, error) {
	if users := d.Settings.Users; o.Production && users.Enabled && users.Secret != "" {
		if err := checkSecret(users.Secret); err != nil {
			return store.Outlook{}, err
		}
	}
	outlook, err := d.foresee(ctx, o.dataPath(d.Dir))
	return outlook, d.settledBy(o, err)
}

func (d *Definition) foresee(ctx context.Context, data string) (o store.Outlook, err error) {
	path := filepath.Join(data, storeName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if r, err := dialControl(ctx, controlPath(data)); err == nil {
		defer r.Close()
		return r.foresee(ctx, d)
	}
	unlock, err := lockDirectory(data)
	if errors.Is(err, ErrBusy) {
		if r, err := dialControl(ctx, controlPath(data)); err == nil { // it has started in the meantime
			defer r.Close()
			return r.foresee(ctx, d)
		}
		return o, busyError(data)
	}
	if err != nil {
		return o, withAccess(err)
	}
	defer unlock()
	return store.Foresee(path, d.Model, store.Options{DefaultLocale: d.Settings.I18n.DefaultLocale})
}

// settledBy names, in the error of a store that refuses definitions, the calls for this very project.
func (d *Definition) settledBy(o Options, err error) error {
	var refused *store.DefinitionError
	if errors.As(err, &refused) {
		refused.Command = d.call("migrate", o)
	}
	return err
}

// call is how a command begins that works on this very project.
func (d *Definition) call(command string, o Options) string {
	call := cmp.Or(o.Program, "lectern") + " " + command + " " + ShellPath(d.Dir)
	if o.Data != "" {
		call += " --data " + ShellPath(o.Data)
	}
	return call
}

// definitionsSent are the definitions of a project as they go through the control socket.
type definitionsSent struct {
	Definitions   []json.RawMessage `json:"definitions"`
	DefaultLocale string            `json:"defaultLocale"`
}

// foreseen is what a server answers to them.
type foreseen struct {
	Outlook  store.Outlook   `json:"outlook"`
	Refusals []store.Refusal `json:"refusals,omitempty"`
}

func (r *remote) foresee(ctx context.Context, d *Definition) (store.Outlook, error) {
	sent := definitionsSent{DefaultLocale: d.Settings.I18n.DefaultLocale}
	for _, t := range d.Model.Types {
		sent.Definitions = append(sent.Definitions, t.Definition())
	}
	for _, c := range d.Model.Components {
		sent.Definitions = append(sent.Definitions, c.Definition())
	}
	body, writer := io.Pipe()
	go func() { writer.CloseWithError(json.NewEncoder(writer).Encode(sent)) }()
	var answer foreseen
	if err := r.do(ctx, http.MethodPost, "/foresee", body, readJSON(&answer)); err != nil {
		return answer.Outlook, err
	}
	if len(answer.Refusals) > 0 {
		return answer.Outlook, &store.DefinitionError{Refusals: answer.Refusals}
	}
	return answer.Outlook, nil
}

// maxDefinitions bounds what the control socket takes for the definitions of a project.
const maxDefinitions = 64 << 20

func (c *control) postForesee(w http.ResponseWriter, r *http.Request) {
	var sent definitionsSent
	if err := json.NewDecoder(io.LimitReader(r.Body, maxDefinitions)).Decode(&sent); err != nil {
		c.fail(w, r, err)
		return
	}
	definitions := make([][]byte, len(sent.Definitions))
	for i, raw := range sent.Definitions {
		definitions[i] = raw
	}
	model, err := contenttypes.FromDefinitions(definitions)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	var answer foreseen
	answer.Outlook, err = c.project.Store().Foresee(model, store.Options{DefaultLocale: sent.DefaultLocale})
	var refused *store.DefinitionError
	if errors.As(err, &refused) {
		answer.Refusals, err = refused.Refusals, nil
	}
	if err != nil {
		c.fail(w, r, err)
		return
	}
	writeControl(w, answer)
}
