package store

import bolt "go.etcd.io/bbolt"

// ForgetAnswers makes a file one of a Lectern that knew no answers.
func ForgetAnswers(path string) error {
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Update(func(tx *bolt.Tx) error { return tx.DeleteBucket(bucketAnswers) })
}
