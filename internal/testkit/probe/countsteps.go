package probe

// CountSteps lets RAMET_TEST_STEPS, RAMET_TEST_DIE_AT and RAMET_TEST_FAIL_AT say what happens at the steps by which
// this process changes files (see Point). It must be called before the first of them.
func CountSteps() {
	if PointFromEnvironment() {
		CountDatabaseSteps()
	}
}
