// Package bench measures what ramet promises about speed and size, and how agents solve tasks.
//
// Each benchmark is named after its promise:
//
//	make bench
//
// A figure is a ratio to a limit, or to the bare driver doing the same in the same run. The two sides alternate
// within a round, and the figure is computed over all rounds, so that a busy machine disturbs both alike. One iteration
// of a benchmark is one round (-benchtime 5x: five rounds).
//
// Nothing fails because of time: every promise prints one line at the end, with ok or MISSED. RAMET_BENCH_SCALE=1 is the
// full size, which alone is judged; the default, a hundredth of it, only shows that everything still runs.
//
// # Tasks
//
// A task is work on a small repository made for it, or on a module of the module cache. It names what happens on the
// way: a stream that is cut, a command that continues in the background, a process that is killed. A program judges
// the files and facts of the history, never what a model says.
//
//	go test ./internal/testkit/bench    played by scripted models, in CI
//	make tasks MODEL=vendor/name        played by that model; prints solved, steps, tokens, cost, time
//
// Both go through a server of this package, so that the same things go wrong for both.
package bench
