package server

import (
	"net/http"
	"strconv"

	"lectern/jsontree"
)

// WriteHead writes the status and the headers of an answer with a body.
func WriteHead(w http.ResponseWriter, contentType []string, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = contentType
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
}

// SendBody answers with a body.
func SendBody(w http.ResponseWriter, contentType []string, status int, body []byte) error {
	WriteHead(w, contentType, status, body)
	_, err := w.Write(body)
	return err
}

// SendJSON answers with a short JSON text.
func SendJSON(w http.ResponseWriter, status int, body []byte) error {
	return SendBody(w, JSON, status, body)
}

// DataBody returns the body {"data": data, "meta": {}}, in which routes of the REST API answer.
func DataBody(data any) []byte {
	return jsontree.Append(nil, jsontree.ObjectOf("data", data, "meta", jsontree.NewObject()))
}

// SendJSON answers with a JSON text that may be long. It returns nil, since a failed write cannot be answered
// otherwise.
func (l *Limits) SendJSON(w http.ResponseWriter, r *http.Request, status int, body []byte) error {
	WriteHead(w, JSON, status, body)
	_ = l.Send(r.Context(), w, body)
	return nil
}
