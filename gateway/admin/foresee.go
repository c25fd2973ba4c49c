package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents/misfits"
	"lectern/gateway/config"
	"lectern/store"
	"lectern/store/evolve"
)

// A Forecast tells how a start with changed definitions would convert the content, and which content does not fit them.
type Forecast struct {
	store.Outlook
	Content misfits.Report // which content does not fit
	Tokens  auth.TokenForecast
}

// Foresee tells how a start with def would convert the content in the data directory. If the start would fail, the
// error is its *evolve.DefinitionError. Foresee changes nothing.
func (d *Directory) Foresee(ctx context.Context, def *config.Definition) (f Forecast, err error) {
	path := filepath.Join(d.DataPath(), StoreName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return f, store.CheckThere(path)
	}
	err = d.maintain(ctx, lockAsIs, func(m maintainer) error {
		f, err = m.foresee(ctx, def)
		return err
	})
	return f, d.WithCommand(err)
}

func (f files) foresee(ctx context.Context, d *config.Definition) (o Forecast, err error) {
	o.Outlook, err = store.Inspect(f.data.Join(StoreName), d.Model,
		store.Options{DefaultLocale: d.Settings.I18n.DefaultLocale},
		o.look(ctx, d.Settings.I18n.Codes(), namesOf(d.Settings.Tokens)))
	return o, err
}

// look returns a function that stores in f which content of a preview does not fit the definitions, and which tokens
// are not declared.
func (f *Forecast) look(ctx context.Context, locales, tokens []string) func(*store.Preview) error {
	return func(p *store.Preview) (err error) {
		if f.Content, err = misfits.Find(ctx, p, locales); err == nil {
			f.Tokens, err = auth.ForeseeTokens(ctx, p, tokens)
		}
		return err
	}
}

func namesOf(tokens []auth.Declaration) (names []string) {
	for _, d := range tokens {
		names = append(names, d.Name)
	}
	return names
}

// sentDefinitions is the body of POST /foresee: the definitions of a project.
type sentDefinitions struct {
	Definitions   []json.RawMessage `json:"definitions"` // including the rules for checking content
	DefaultLocale string            `json:"defaultLocale"`
	Locales       []string          `json:"locales"`
	Tokens        []string          `json:"tokens"` // the names of those that are declared
}

// foreseen is the answer to POST /foresee.
type foreseen struct {
	Forecast Forecast         `json:"forecast"`
	Refusals []evolve.Refusal `json:"refusals,omitempty"`
}

func (r *remote) foresee(ctx context.Context, d *config.Definition) (Forecast, error) {
	sent := sentDefinitions{DefaultLocale: d.Settings.I18n.DefaultLocale, Locales: d.Settings.I18n.Codes(),
		Tokens: namesOf(d.Settings.Tokens)}
	for _, raw := range d.Model.DefinitionsWithRules() {
		sent.Definitions = append(sent.Definitions, raw)
	}
	answer, err := call[foreseen](ctx, r, http.MethodPost, "/foresee", sent)
	if err == nil && len(answer.Refusals) > 0 {
		err = &evolve.DefinitionError{Refusals: answer.Refusals}
	}
	return answer.Forecast, err
}

func (c *Control) foresee(ctx context.Context, sent sentDefinitions) (answer foreseen, err error) {
	definitions := make([][]byte, len(sent.Definitions))
	for i, raw := range sent.Definitions {
		definitions[i] = raw
	}
	model, err := contenttypes.FromDefinitions(definitions)
	if err != nil {
		return answer, err
	}
	f := &answer.Forecast
	f.Outlook, err = c.Project.Current().Store.Inspect(model, store.Options{DefaultLocale: sent.DefaultLocale},
		f.look(ctx, sent.Locales, sent.Tokens))
	var refused *evolve.DefinitionError
	if errors.As(err, &refused) {
		answer.Refusals, err = refused.Refusals, nil
	}
	return answer, err
}
