// Package pgtest gives tests a private PostgreSQL to throw away.
//
// A test asks for a URL and gets a schema of its own, which does not exist
// yet (ramet makes it) and is dropped when the test ends:
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
//	func TestStore(t *testing.T) {
//		db, err := postgres.Open(ctx, pgtest.URL(t))
//
// The server is the one that RAMET_TEST_POSTGRES names. Where that is not set,
// each test process starts one from the installed binaries when the first test
// asks: in a temporary folder, on a Unix socket in that folder, with no
// password and no network. Run many packages under the withpg command and they
// share one server.
//
// What it promises:
//
//   - A machine without PostgreSQL fails the test and says what to install.
//     Nothing is skipped.
//   - Stop, and therefore Main, leaves no process and no folder.
//   - On Linux the server dies with the process that started it, however that
//     process ends. A killed one leaves its folder, ramet-pg-*, behind.
//   - Commits survive a crash of the server. They survive a power failure too
//     where benchmarks run, so that these tell the truth (see Volatile).
package pgtest
