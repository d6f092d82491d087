package testkit

// failer is a test, a benchmark or a test of rapid, which is not a testing.TB.
type failer interface {
	Helper()
	Fatal(args ...any)
}

// OK ends a test if err is not nil.
func OK(t failer, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// Must returns the value of a call that must succeed, or ends the test: testkit.Must(os.ReadFile(path))(t).
func Must[T any](value T, err error) func(t failer) T {
	return func(t failer) T {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
		return value
	}
}
