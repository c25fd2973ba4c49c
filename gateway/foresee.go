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
	"lectern/documents"
	"lectern/internal/shell"
	"lectern/store"
	"lectern/store/evolve"
)

// A Forecast is what a start would do with content, and what of the content does not fit the project's files then.
type Forecast struct {
	store.Outlook
	Audit documents.Audit
}

// Foresee says what a start would do with the content in the project's data directory, and refuses with the *evolve.DefinitionError
// with which it would. It changes nothing; a server that runs on the data directory is asked, and goes on as it is.
func (d *Definition) Foresee(ctx context.Context, o Options) (Forecast, error) {
	forecast, err := d.foresee(ctx, o.dataPath(d.Dir))
	return forecast, d.settledBy(o, err)
}

func (d *Definition) foresee(ctx context.Context, data string) (o Forecast, err error) {
	path := filepath.Join(data, storeName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return o, store.CheckThere(path)
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
	o.Outlook, err = store.Inspect(path, d.Model, store.Options{DefaultLocale: d.Settings.I18n.DefaultLocale}, func(p *store.Preview) (err error) {
		o.Audit, err = documents.AuditOf(ctx, p, d.Settings.I18n.Codes())
		return err
	})
	return o, err
}

// settledBy names, in the error of a store that refuses definitions, the calls for this very project.
func (d *Definition) settledBy(o Options, err error) error {
	var refused *evolve.DefinitionError
	if errors.As(err, &refused) {
		refused.Command = d.call("migrate", o)
	}
	return err
}

// FillCall is the call that fills what is missing; "" where none does.
func (d *Definition) FillCall(m documents.Misfit, o Options) string {
	switch {
	case !m.Fillable:
		return ""
	case m.Default:
		return d.call("migrate", o) + " " + evolve.FillCall(m.Attribute).String()
	}
	return d.call("migrate", o) + " " + evolve.FillCall(m.Attribute).String() + " VALUE"
}

// DropLocaleCall is the call that removes the versions of a type in a locale.
func (d *Definition) DropLocaleCall(m documents.Misfit, o Options) string {
	return d.call("migrate", o) + " " + evolve.DropLocaleCall(m.Type, m.Locale).String()
}

// call is how a command begins that works on this very project.
func (d *Definition) call(command string, o Options) string {
	call := cmp.Or(o.Program, "lectern") + " " + command + " " + shell.Path(d.Dir)
	if o.Data != "" {
		call += " --data " + shell.Path(o.Data)
	}
	return call
}

// definitionsSent are the definitions of a project as they go through the control socket.
type definitionsSent struct {
	Definitions   []json.RawMessage `json:"definitions"` // with the rules by which content is checked
	DefaultLocale string            `json:"defaultLocale"`
	Locales       []string          `json:"locales"`
}

// foreseen is what a server answers to them.
type foreseen struct {
	Forecast Forecast         `json:"forecast"`
	Refusals []evolve.Refusal `json:"refusals,omitempty"`
}

func (r *remote) foresee(ctx context.Context, d *Definition) (Forecast, error) {
	sent := definitionsSent{DefaultLocale: d.Settings.I18n.DefaultLocale, Locales: d.Settings.I18n.Codes()}
	for _, raw := range d.Model.DefinitionsWithRules() {
		sent.Definitions = append(sent.Definitions, raw)
	}
	body, writer := io.Pipe()
	go func() { writer.CloseWithError(json.NewEncoder(writer).Encode(sent)) }()
	var answer foreseen
	if err := r.do(ctx, http.MethodPost, "/foresee", body, readJSON(&answer)); err != nil {
		return answer.Forecast, err
	}
	if len(answer.Refusals) > 0 {
		return answer.Forecast, &evolve.DefinitionError{Refusals: answer.Refusals}
	}
	return answer.Forecast, nil
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
	answer.Forecast.Outlook, err = c.project.Store().Inspect(model, store.Options{DefaultLocale: sent.DefaultLocale}, func(p *store.Preview) (err error) {
		answer.Forecast.Audit, err = documents.AuditOf(r.Context(), p, sent.Locales)
		return err
	})
	var refused *evolve.DefinitionError
	if errors.As(err, &refused) {
		answer.Refusals, err = refused.Refusals, nil
	}
	if err != nil {
		c.fail(w, r, err)
		return
	}
	writeControl(w, answer)
}
