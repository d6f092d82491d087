package text

import (
	"regexp"
	"sync"
)

// Regexp returns a function that compiles an expression at its first call: a start of the program needs few of
// them, and to compile all takes longer than most commands.
func Regexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
