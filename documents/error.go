package documents

import "fmt"

// An Error is what a client is told: it goes through all layers and becomes the REST envelope
// {"data":null,"error":{status,name,message,details}} or a GraphQL error at the edge. Any other error is internal: it is
// logged and shown as a 500 without its text.
type Error struct {
	Status    int // HTTP
	Name      string
	Message   string
	Details   any  // a jsontree value; nil is printed as {}
	NoDetails bool // the answer has no key "details" at all
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Name, e.Message) }
