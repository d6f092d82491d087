package fault

// Must returns the value, and panics on an error: only a mistake in the source can cause one.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
