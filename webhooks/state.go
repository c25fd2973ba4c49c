package webhooks

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"lectern/store"
)

// What must survive a restart is kept in notes of the store, by the name of the hook:
//
//	webhooks/NAME               a progress
//	webhooks/NAME/pending/EVENT an unsettled: an event up to the position that is neither delivered nor given up
//	webhooks/NAME/dead/EVENT    a DeadLetter
//
// EVENT is the sequence of the event and its index, so that notes are in the order of events. All events after the
// position are read from the log again.

const notesPrefix = "webhooks/"

// A progress says how far a hook has come.
type progress struct {
	// Position is the sequence of an entry of the log: all events up to it are delivered, given up, or in notes.
	Position uint64 `json:"position"`
	// Stopped says why nothing is sent any more; "" if something is. URL is the address that was sent to then.
	Stopped string `json:"stopped,omitempty"`
	URL     string `json:"url,omitempty"`
}

// An unsettled event is in a note until it is delivered or given up.
type unsettled struct {
	*Event
	Attempts int       `json:"attempts,omitempty"` // failed ones
	Since    time.Time `json:"since,omitzero"`     // of the first of them
	Reason   string    `json:"reason,omitempty"`   // of the last of them
}

// A DeadLetter is an event that was given up.
type DeadLetter struct {
	*Event
	ID       string    `json:"id"`
	Attempts int       `json:"attempts"`
	GivenUp  time.Time `json:"givenUp"`
	Reason   string    `json:"reason"`
}

// maxDead is how many dead letters of a hook are kept. When there are more, the oldest go.
const maxDead = 1000

// A state is what the store keeps about a hook.
type state struct {
	progress
	known   bool // there is a progress
	pending []unsettled
	dead    []DeadLetter
}

// noteOf returns the name of the note of an event.
func noteOf(hook, kind string, e *Event) string {
	return fmt.Sprintf("%s%s/%s/%016x-%04x", notesPrefix, hook, kind, e.Sequence, e.Index)
}

// load reads what a snapshot has about a hook.
func load(s *store.Snapshot, hook string) (st state, err error) {
	read := func(name string, raw []byte, into any) {
		if problem := json.Unmarshal(raw, into); problem != nil && err == nil {
			err = fmt.Errorf("read the note %s: %w", name, problem)
		}
	}
	own := notesPrefix + hook
	if raw := s.Note(own); raw != nil {
		st.known = true
		read(own, raw, &st.progress)
	}
	for name, raw := range s.Notes(own + "/pending/") {
		var u unsettled
		read(name, raw, &u)
		st.pending = append(st.pending, u)
	}
	for name, raw := range s.Notes(own + "/dead/") {
		var d DeadLetter
		read(name, raw, &d)
		st.dead = append(st.dead, d)
	}
	return st, err
}

// notes returns the notes of a hook as they should be, by name.
func (st *state) notes(hook string) map[string]any {
	list := map[string]any{notesPrefix + hook: st.progress}
	for _, u := range st.pending {
		list[noteOf(hook, "pending", u.Event)] = u
	}
	for _, d := range st.dead {
		list[noteOf(hook, "dead", d.Event)] = d
	}
	return list
}

// bury adds a dead letter, and returns how many old ones went for it.
func (st *state) bury(d DeadLetter) (gone int) {
	at, again := slices.BinarySearchFunc(st.dead, d, func(a, b DeadLetter) int { return a.compare(b.Event) })
	if again {
		st.dead[at] = d
		return 0
	}
	st.dead = slices.Insert(st.dead, at, d)
	gone = max(len(st.dead)-maxDead, 0)
	st.dead = slices.Delete(st.dead, 0, gone)
	return gone
}

// hookOfNote returns the name of the hook that a note is about.
func hookOfNote(name string) string {
	hook, _, _ := strings.Cut(strings.TrimPrefix(name, notesPrefix), "/")
	return hook
}

// A ledger writes the notes of a hook that have changed since it wrote them last.
type ledger struct {
	hook    string
	written map[string]string // the notes in the store, by name
}

// change returns the notes to write to make the store hold those of st; a nil value stands for one to delete.
func (l *ledger) change(st *state) (map[string][]byte, error) {
	changed := map[string][]byte{}
	wanted := st.notes(l.hook)
	for name, value := range wanted {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		if l.written[name] != string(raw) {
			changed[name] = raw
		}
	}
	for name := range l.written {
		if _, kept := wanted[name]; !kept {
			changed[name] = nil
		}
	}
	return changed, nil
}

// apply writes changed notes in a transaction.
func apply(tx *store.Tx, changed map[string][]byte) error {
	for name, raw := range changed {
		var err error
		if raw == nil {
			err = tx.DeleteNote(name)
		} else {
			err = tx.PutNote(name, raw)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wrote says that changed notes are in the store now.
func (l *ledger) wrote(changed map[string][]byte) {
	for name, raw := range changed {
		if raw == nil {
			delete(l.written, name)
		} else {
			l.written[name] = string(raw)
		}
	}
}
