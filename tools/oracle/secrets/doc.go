// Package secrets lets gitleaks judge the rules of ramet/internal/base/secret. It has tests only,
// in a module of its own, so that nothing of gitleaks is linked into ramet or downloaded
// for it.
//
// What is held against ours:
//
//   - recall: keys are made at random after each of gitleaks' rules and put into texts of
//     many kinds. Those that gitleaks finds there must be gone after ours: 98 of 100 of the
//     kinds that have a form of their own, 90 of 100 of the rest, which are known by the
//     name before them. Rules that gitleaks binds to file names are left out: our texts
//     have none.
//   - false alarms: real sources, in which there are no keys but examples, are read by both.
//     Ours must stop at fewer places.
//   - time: the benchmark gives milliseconds of the processor per megabyte for both.
//
// Run it with
//
//	cd tools/oracle && go test -v ./secrets
//	cd tools/oracle && go test -run '^$' -bench . ./secrets
package secrets
