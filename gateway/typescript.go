package gateway

import "lectern/shadowcrud/typescript"

// TypeScript returns a TypeScript module for programs that use the REST API of the project: types of documents, requests and answers and,
// if client is set, a client.
func (d *Definition) TypeScript(client bool) []byte {
	o := typescript.Options{Prefix: d.Settings.REST.Prefix, WithCount: d.Settings.REST.WithCount, Client: client}
	if d.Settings.I18n.Enabled {
		for _, l := range d.Settings.I18n.Locales {
			o.Locales = append(o.Locales, l.Code)
		}
	}
	return typescript.Write(d.Model, o)
}
