package documents

import (
	"errors"
	"net/http"
	"syscall"

	"lectern/documents/apierror"
	"lectern/jsontree"
	"lectern/store"
)

var (
	errFull = &apierror.Error{Status: http.StatusInsufficientStorage, Name: "InsufficientStorageError", NoDetails: true,
		Reason:  apierror.Space,
		Message: "there is no space left on the disk; only deletions are possible until there is"}
	errLost = &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError", NoDetails: true,
		Reason:  apierror.Store,
		Message: "the content cannot be changed: the file that holds it is gone or was replaced"}
	errDamaged = &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError",
		NoDetails: true, Reason: apierror.Store,
		Message: "the content cannot be changed: the store is damaged or failed to write"}
	errNoLeader = &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError",
		Reason:  apierror.Origin,
		Message: "this node does not lead the cluster any more; nothing was written: try again",
		Details: jsontree.ObjectOf("outcome", "refused")}
	errOutcome = &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError",
		Reason: apierror.Origin,
		Message: "the leader of the cluster was lost while it wrote; it is not known whether this was written: " +
			"ask with the same Idempotency-Key, or look",
		Details: jsontree.ObjectOf("outcome", "unknown")}
)

// Unavailable returns the answer to a client if the cause of err is a full disk, a store that cannot be written, a
// replica that takes no writes or does not have what was asked for, or a cluster without a leader; otherwise nil.
func Unavailable(err error) *apierror.Error {
	var replica *store.ReplicaError
	var leftOut *store.LeftOutError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &leftOut):
		return replicaError(leftOut)
	case errors.As(err, &replica):
		return replicaError(replica)
	case errors.Is(err, store.ErrNotLeader):
		return errNoLeader
	case errors.Is(err, store.ErrOutcome):
		return errOutcome
	case errors.Is(err, store.ErrDamaged):
		return errDamaged
	case errors.Is(err, store.ErrLost):
		return errLost
	case errors.Is(err, store.ErrFull), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return errFull
	}
	return nil
}

// replicaError returns the answer to a client that asks a replica for what only its origin can do or has.
func replicaError(err error) *apierror.Error {
	return &apierror.Error{Status: http.StatusConflict, Name: "ConflictError", Message: err.Error(), NoDetails: true,
		Reason: apierror.Replica}
}
