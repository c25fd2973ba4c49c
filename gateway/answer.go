package gateway

import (
	"net/http"
	"strconv"
)

// writeHead writes the status and the headers of an answer with a body.
func writeHead(w http.ResponseWriter, contentType []string, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = contentType
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
}

// sendBody answers with a body.
func sendBody(w http.ResponseWriter, contentType []string, status int, body []byte) error {
	writeHead(w, contentType, status, body)
	_, err := w.Write(body)
	return err
}

// sendJSON answers with a short JSON text.
func sendJSON(w http.ResponseWriter, status int, body []byte) error {
	return sendBody(w, typeJSON, status, body)
}

// sendJSON answers with a JSON text that may be long. It returns nil, since a failed write cannot be answered otherwise.
func (l *requestLimits) sendJSON(w http.ResponseWriter, r *http.Request, status int, body []byte) error {
	writeHead(w, typeJSON, status, body)
	_ = l.send(r.Context(), w, body)
	return nil
}
