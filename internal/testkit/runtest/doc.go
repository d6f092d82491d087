// Package runtest has the tests that every run.Log and run.Writer (RunLogTests) and every runner.Queue (RunQueueTests)
// must pass, and makes events for tests: an example of each type, drafts with fixed ids and times, and random steps of
// a run, legal and illegal.
//
//	func TestConformance(t *testing.T) { runtest.RunLogTests(t, fresh) }
//
// All logs export the same bytes for the same events; LogDrafts makes some.
package runtest
