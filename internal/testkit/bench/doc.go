// Package bench measures what ramet promises about speed and size.
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
package bench
