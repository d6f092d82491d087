// Package late builds expressions, lists and tables when they are first used, not when the program starts:
// every command is also a hook, a completion, a step of somebody's script, and most need few
// of the hundreds that ramet knows.
//
// Promises:
//
//   - each is built once, at its first use, and may be used from several goroutines;
//   - one that cannot be built panics there, as regexp.MustCompile does; a test of the house
//     builds every one that stands in the source;
//   - a variable of a package that is one of these is data of the program: nothing runs for it before main.
package late

import (
	"regexp"
	"strings"
	"sync"
)

// Expression is one that is built at its first use.
type Expression struct {
	text  string
	once  sync.Once
	built *regexp.Regexp
}

// Regexp is the expression of that text. It does so little that the compiler can do it.
func Regexp(text string) *Expression { return &Expression{text: text} }

// Get is the expression, from the first call on.
func (e *Expression) Get() *regexp.Regexp {
	e.once.Do(func() { e.built = regexp.MustCompile(e.text) })
	return e.built
}

// List are words that are told apart at their first use.
type List struct {
	text  string
	once  sync.Once
	words []string
}

// Words are the words of that text.
func Words(text string) *List { return &List{text: text} }

// Get are the words, from the first call on.
func (l *List) Get() []string {
	l.once.Do(func() { l.words = strings.Fields(l.text) })
	return l.words
}

// Value is one that is made at its first use. It is written as a literal, with Make: a function that made one
// would have to run before main.
type Value[T any] struct {
	Make  func() T
	once  sync.Once
	value T
}

// Must is for a Make whose only mistakes would be those of the source: it panics there.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Get is the value, from the first call on.
func (v *Value[T]) Get() T {
	v.once.Do(func() { v.value = v.Make() })
	return v.value
}
