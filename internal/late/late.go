// Package late builds expressions and lists when they are first used, not when the program starts:
// every command is also a hook, a completion, a step of somebody's script, and most need few
// of the hundred expressions that ramet knows.
//
// Promises:
//
//   - an expression is built once, at its first use, and may be used from several goroutines;
//   - one that cannot be built panics there, as regexp.MustCompile does; a test of the house
//     builds every one that stands in the source.
package late

import (
	"regexp"
	"strings"
	"sync"
)

// Regexp is the expression of that text, from the first call on.
func Regexp(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// Words are the words of that text, from the first call on.
func Words(text string) func() []string {
	return sync.OnceValue(func() []string { return strings.Fields(text) })
}
