package gateway

import (
	"net/http"
	"strconv"
)

// landingPage is what browsers see at the GraphQL endpoint.
const landingPage = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>GraphQL</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem; color: #222; background: #fff; }
pre { background: #f4f4f4; padding: 1rem; overflow-x: auto; }
</style>
</head>
<body>
<h1>GraphQL</h1>
<p>This address answers GraphQL operations. Send one by POST:</p>
<pre>curl --json '{"query": "{ __typename }"}' THIS-ADDRESS</pre>
</body>
</html>
`

var (
	typeHTML      = []string{"text/html"}
	landingPolicy = []string{"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}
	landingLength = []string{strconv.Itoa(len(landingPage))}
)

func serveLanding(w http.ResponseWriter) {
	header := w.Header()
	header["Content-Type"] = typeHTML
	header["Content-Security-Policy"] = landingPolicy
	header["Content-Length"] = landingLength
	w.WriteHeader(http.StatusOK)
	w.Write([]byte(landingPage))
}
