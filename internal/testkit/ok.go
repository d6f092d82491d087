package testkit

// OK ends a test if err is not nil. It takes *rapid.T too, which is not a testing.TB.
func OK(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
