package operation

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// commandLine returns the command line that carries out an operation with an input and prints JSON. No value can be
// taken for a flag.
func commandLine(name string, in any) []string {
	words, places := strings.Fields(name), []string{}
	for _, p := range paramsOf(reflect.TypeOf(in).Elem()) {
		for _, word := range p.words(in) {
			if p.IsPositional(CLI) {
				places = append(places, word)
			} else if p.On(CLI) {
				words = append(words, "--"+p.Flag()+"="+word)
			}
		}
	}
	return append(append(words, "--json", "--"), places...)
}

// words returns the words that set the field to its value; none if it has its zero value.
func (p *Param) words(in any) (out []string) {
	v := reflect.ValueOf(p.Get(in))
	if !v.IsValid() || v.IsZero() {
		return nil
	}
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			out = append(out, fmt.Sprint(v.Index(i)))
		}
	case reflect.Map:
		pairs := v.Interface().(Pairs)
		for _, name := range slices.Sorted(maps.Keys(pairs)) {
			out = append(out, name+"="+pairs[name])
		}
	default:
		out = append(out, fmt.Sprint(v))
	}
	return out
}
