package app_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// jsonIs compares one value of the JSON on standard output. PATH is .key and
// [n] in a row; .len is the length of a list. A string is compared as it is,
// everything else as JSON.
func jsonIs(ts *testscript.TestScript, neg bool, args []string) {
	compare(ts, neg, document(ts), args)
}

// jsonlIs is json for one value a line; the first is [0].
func jsonlIs(ts *testscript.TestScript, neg bool, args []string) {
	compare(ts, neg, lines(ts), args)
}

func compare(ts *testscript.TestScript, neg bool, root any, args []string) {
	got := plain(ts, at(ts, root, args[0]))
	if (got == args[1]) == neg {
		ts.Fatalf("%s is %s", args[0], got)
	}
}

// keys demands exactly these keys of an object, in any order.
func keys(ts *testscript.TestScript, _ bool, args []string) {
	object, ok := at(ts, lines(ts), args[0]).(map[string]any)
	if !ok {
		ts.Fatalf("%s is not an object", args[0])
	}
	have := slices.Sorted(maps.Keys(object))
	want := slices.Sorted(slices.Values(args[1:]))
	if !slices.Equal(have, want) {
		ts.Fatalf("%s has the keys\n     %v\nnot  %v", args[0], have, want)
	}
}

// save puts standard output, or one value of its JSON, into a variable.
func save(ts *testscript.TestScript, _ bool, args []string) {
	value := strings.TrimSuffix(ts.ReadFile("stdout"), "\n")
	if len(args) == 2 {
		value = plain(ts, at(ts, document(ts), args[1]))
	}
	ts.Setenv(args[0], value)
}

func document(ts *testscript.TestScript) any {
	all := lines(ts)
	if len(all) != 1 {
		ts.Fatalf("standard output holds %d JSON values", len(all))
	}
	return all[0]
}

func lines(ts *testscript.TestScript) []any {
	decoder := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	decoder.UseNumber()
	var all []any
	for {
		var v any
		if err := decoder.Decode(&v); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			ts.Fatalf("standard output is not JSON: %v", err)
		}
		all = append(all, v)
	}
}

var pathStep = regexp.MustCompile(`^(?:\.(\w+)|\[(\d+)\])`)

func at(ts *testscript.TestScript, v any, path string) any {
	for rest := path; rest != ""; {
		m := pathStep.FindStringSubmatch(rest)
		if m == nil {
			ts.Fatalf("%q is not a path", path)
		}
		rest = rest[len(m[0]):]
		object, _ := v.(map[string]any)
		list, _ := v.([]any)
		value, known := object[m[1]]
		n, err := strconv.Atoi(m[2])
		switch {
		case known:
			v = value
		case list != nil && err == nil && n < len(list):
			v = list[n]
		case list != nil && m[1] == "len":
			v = json.Number(strconv.Itoa(len(list)))
		default:
			ts.Fatalf("there is no %s", path)
		}
	}
	return v
}

func plain(ts *testscript.TestScript, v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	out, err := json.Marshal(v)
	ts.Check(err)
	return string(out)
}
