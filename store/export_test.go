package store

// Interrupted returns options under which a conversion goes through that many rows a transaction and ends, as by a kill, with
// the error that committed returns after one of them.
func Interrupted(opts Options, rows int, committed func() error) Options {
	opts.hooks = &conversionHooks{rows: rows, committed: committed}
	return opts
}
