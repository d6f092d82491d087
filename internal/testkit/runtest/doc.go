// Package queuetest holds the tests that every runner.Queue has to pass.

package runtest
