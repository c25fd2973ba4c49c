// Package clients tests Lectern with third-party clients: JavaScript under Node, over HTTP. It shows whether Lectern
// meets the assumptions of their authors. Each file *.test.js has a server of its own, which serves project/ on an
// empty store. To run one by hand, use the line that `lectern serve internal/clients/project --ephemeral` prints:
//
//	cd internal/clients && npm ci && LECTERN='{"base":…,"tokens":…}' node --test strapi/files.test.js
package clients
