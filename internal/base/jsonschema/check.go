package jsonschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ramet/internal/base/text"
)

// Mismatch explains why a value does not fit: OUTPUT_INVALID is for the caller to say.
type Mismatch struct {
	Pointer string // an RFC 6901 JSON pointer to the value; empty: the whole
	What    string

	kinds []string // the types of which the value must be, where it is of another one
}

func (m *Mismatch) Error() string {
	if m.Pointer == "" {
		return m.What
	}
	return text.Line(m.Pointer, 200) + ": " + m.What
}

// Path returns the place of the value as a program would write it: steps[2].state.
func (m *Mismatch) Path() string {
	var out strings.Builder
	for step := range strings.SplitSeq(strings.TrimPrefix(m.Pointer, "/"), "/") {
		step = unescape.Replace(step)
		switch _, err := strconv.Atoi(step); {
		case err == nil && out.Len() > 0:
			out.WriteString("[" + step + "]")
		case out.Len() > 0:
			out.WriteString("." + step)
		default:
			out.WriteString(step)
		}
	}
	return out.String()
}

var escape, unescape = strings.NewReplacer("~", "~0", "/", "~1"), strings.NewReplacer("~1", "/", "~0", "~")

// Escape returns a key as one step of a JSON pointer.
func Escape(key string) string { return escape.Replace(key) }

// Mismatches are all that is wrong with a value, in its order. The first is its cause.
type Mismatches []*Mismatch

// mostTold limits how many of them are reported.
const mostTold = 20

func (m Mismatches) Error() string {
	var all []string
	for i, one := range m {
		if i == mostTold {
			all = append(all, fmt.Sprintf("and %d more", len(m)-i))
			break
		}
		all = append(all, one.Error())
	}
	return strings.Join(all, "; ")
}

func (m Mismatches) Unwrap() error { return m[0] }

// Check reports whether a text is one JSON value that fits: a Mismatch, or Mismatches where
// more than one thing is wrong.
func (s *Schema) Check(value []byte) error {
	v, err := decodeValue(value)
	if err != nil {
		return newMismatch("", "not JSON: %s", text.Line(err.Error(), 200))
	}
	c := checker{Schema: s, most: maxSteps + len(value), gathers: true}
	c.check(s.root, v, "", 0)
	switch {
	case c.steps > c.most:
		return newMismatch("", "to see whether it fits would take too long")
	case len(c.found) == 0:
		return nil
	case len(c.found) == 1:
		return c.found[0]
	}
	return c.found
}

// How far values and references may lead, and how much may be looked at: a schema
// can refer to itself without end, or try everything in every way.
const (
	maxLevels = 500
	maxSteps  = 1 << 20
)

// checker holds one value against a schema.
type checker struct {
	*Schema
	steps int
	most  int // a large value may take more: each byte holds at most one

	gathers bool // what is found does not end the look
	found   Mismatches
}

// told notes what is wrong and continues, or gives it back where one thing is enough.
func (c *checker) told(err error) error {
	if wrong, ok := err.(*Mismatch); ok && c.gathers {
		c.found = append(c.found, wrong)
		return nil
	}
	return err
}

// try looks whether a value fits, for a caller that has another choice.
func (c *checker) try(schema, v any, at string, depth int) error {
	was := c.gathers
	c.gathers = false
	defer func() { c.gathers = was }()
	return c.check(schema, v, at, depth)
}

func newMismatch(at, format string, args ...any) error {
	return &Mismatch{Pointer: at, What: fmt.Sprintf(format, args...)}
}

// newKindMismatch returns the mismatch of a value that is of none of some types.
func newKindMismatch(at string, kinds []string, is string) error {
	var names []string
	for _, kind := range kinds {
		if name := kindNames[kind]; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return &Mismatch{Pointer: at, What: "must be " + strings.Join(names, " or ") + ", not " + kindNames[is], kinds: kinds}
}

var kindNames = map[string]string{"string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false",
	"object": "an object", "array": "an array", "null": "null"}

func (c *checker) check(schema, v any, at string, depth int) error {
	if fits, always := schema.(bool); always {
		if fits {
			return nil
		}
		return c.told(newMismatch(at, "nothing may be here"))
	}
	if c.steps++; depth > maxLevels || c.steps > c.most {
		c.steps = c.most + 1 // whatever else is found is unknown
		return c.told(newMismatch(at, "the schema leads on without end"))
	}
	m := schema.(map[string]any) // read has seen to it
	for _, one := range []func(map[string]any, any, string, int) error{c.checkRef, c.checkKind, c.checkValue, c.checkOthers} {
		if err := c.told(one(m, v, at, depth)); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) checkRef(m map[string]any, v any, at string, depth int) error {
	ref, ok := m["$ref"].(string)
	if !ok {
		return nil
	}
	target, _ := c.find(ref)
	return c.check(target, v, at, depth+1)
}

// kindOf names a JSON value.
func kindOf(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		if isWhole(v) {
			return "integer"
		}
		return "number"
	}
	return "null"
}

func (c *checker) checkKind(m map[string]any, v any, at string, _ int) error {
	if n, ok := v.(json.Number); ok && len(m) > 0 && !isFinite(n) {
		return newMismatch(at, "does not fit a double")
	}
	kinds := toStrings(m["type"])
	if kind := kindOf(v); kinds != nil && !slices.Contains(kinds, kind) && !(kind == "integer" && slices.Contains(kinds, "number")) {
		return newKindMismatch(at, kinds, kind)
	}
	if list, ok := m["enum"].([]any); ok && !slices.ContainsFunc(list, func(one any) bool { return equalValues(one, v) }) {
		allowed, not := briefJSON(list), ""
		if !slices.ContainsFunc(list, func(one any) bool { return kindOf(one) != "string" }) {
			allowed = strings.Join(toStrings(list), ", ")
		}
		if said, ok := v.(string); ok {
			not = fmt.Sprintf(", not %.60q", said)
		}
		return newMismatch(at, "must be one of %s%s", allowed, not)
	}
	if want, ok := m["const"]; ok && !equalValues(want, v) {
		return newMismatch(at, "must be %s", briefJSON(want))
	}
	return nil
}

// toStrings returns the strings of a keyword that is one or a list of them; nil: it is not there.
func toStrings(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			out = append(out, fmt.Sprint(one))
		}
	}
	return out
}

func briefJSON(v any) string {
	b, _ := json.Marshal(v)
	return text.Line(string(b), 200)
}

func (c *checker) checkValue(m map[string]any, v any, at string, depth int) error {
	switch v := v.(type) {
	case string:
		return c.checkString(m, v, at)
	case json.Number:
		return checkNumber(m, v, at)
	case []any:
		return c.checkArray(m, v, at, depth)
	case map[string]any:
		return c.checkObject(m, v, at, depth)
	}
	return nil
}

// limitOf returns the number of a keyword, if it is there.
func limitOf(m map[string]any, key string) (float64, bool) {
	n, ok := m[key].(json.Number)
	if !ok {
		return 0, false
	}
	return toDouble(n), true
}

// checkCount holds a count against two keywords.
func checkCount(m map[string]any, n int, least, most, of, at string) error {
	want, ok := limitOf(m, least)
	switch {
	case ok && n == 0 && want == 1 && least == "minLength":
		return newMismatch(at, "must not be empty")
	case ok && float64(n) < want:
		return newMismatch(at, "must have %v or more %s, has %d", want, of, n)
	}
	if want, ok := limitOf(m, most); ok && float64(n) > want {
		return newMismatch(at, "must have %v or fewer %s, has %d", want, of, n)
	}
	return nil
}

func (c *checker) checkString(m map[string]any, v, at string) error {
	if err := c.told(checkCount(m, utf8.RuneCountInString(v), "minLength", "maxLength", "characters", at)); err != nil {
		return err
	}
	if expr, ok := m["pattern"].(string); ok && !c.patterns[expr].MatchString(v) {
		return newMismatch(at, "%.80q does not fit %s", v, expr)
	}
	return nil
}

func checkNumber(m map[string]any, v json.Number, at string) error {
	n := toDouble(v)
	least, bounded := limitOf(m, "minimum")
	if most, ok := limitOf(m, "maximum"); ok && bounded && (n < least || n > most) {
		return newMismatch(at, "must be from %s to %s", m["minimum"], m["maximum"])
	}
	for key, bad := range map[string]func(limit float64) bool{
		"minimum":          func(l float64) bool { return n < l },
		"maximum":          func(l float64) bool { return n > l },
		"exclusiveMinimum": func(l float64) bool { return n <= l },
		"exclusiveMaximum": func(l float64) bool { return n >= l },
	} {
		if l, ok := limitOf(m, key); ok && bad(l) {
			return newMismatch(at, "%s is outside of %s %v", v, key, m[key])
		}
	}
	if step, ok := m["multipleOf"].(json.Number); ok && !isMultiple(v, step) {
		return newMismatch(at, "%s is not a multiple of %s", v, step)
	}
	return nil
}

func (c *checker) checkArray(m map[string]any, v []any, at string, depth int) error {
	if err := c.told(checkCount(m, len(v), "minItems", "maxItems", "items", at)); err != nil {
		return err
	}
	first, _ := m["prefixItems"].([]any)
	for i, item := range v {
		here := at + "/" + strconv.Itoa(i)
		schema, there := m["items"]
		if i < len(first) {
			schema, there = first[i], true
		}
		if there {
			if err := c.check(schema, item, here, depth+1); err != nil {
				return err
			}
		}
		if m["uniqueItems"] == true && slices.ContainsFunc(v[:i], func(one any) bool { return equalValues(one, item) }) {
			if err := c.told(newMismatch(here, "appears twice")); err != nil {
				return err
			}
		}
	}
	schema, there := m["contains"]
	if !there {
		return nil
	}
	n := 0
	for _, item := range v {
		if c.try(schema, item, at, depth+1) == nil {
			n++
		}
	}
	least, most := 1.0, math.Inf(1)
	if l, ok := limitOf(m, "minContains"); ok {
		least = l
	}
	if l, ok := limitOf(m, "maxContains"); ok {
		most = l
	}
	if float64(n) < least || float64(n) > most {
		return newMismatch(at, "%d of its items fit contains", n)
	}
	return nil
}

func (c *checker) checkObject(m, v map[string]any, at string, depth int) error {
	if err := c.told(checkCount(m, len(v), "minProperties", "maxProperties", "members", at)); err != nil {
		return err
	}
	for _, name := range toStrings(m["required"]) {
		if _, there := v[name]; !there {
			if err := c.told(newMismatch(at+"/"+Escape(name), "is missing")); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) { // in order, so that the same value has the same message
		if err := c.told(c.checkMember(m, name, v[name], at, depth)); err != nil {
			return err
		}
	}
	return c.checkDependent(m, v, at, depth)
}

func (c *checker) checkMember(m map[string]any, name string, v any, at string, depth int) error {
	here := at + "/" + Escape(name)
	if names, ok := m["propertyNames"]; ok {
		if err := c.check(names, name, here, depth+1); err != nil {
			return err
		}
	}
	known := false
	properties, _ := m["properties"].(map[string]any)
	if schema, ok := properties[name]; ok {
		known = true
		if err := c.check(schema, v, here, depth+1); err != nil {
			return err
		}
	}
	patterns, _ := m["patternProperties"].(map[string]any)
	for _, expr := range slices.Sorted(maps.Keys(patterns)) {
		if !c.patterns[expr].MatchString(name) {
			continue
		}
		known = true
		if err := c.check(patterns[expr], v, here, depth+1); err != nil {
			return err
		}
	}
	rest, ok := m["additionalProperties"]
	if known || !ok {
		return nil
	}
	if rest == false {
		return newMismatch(here, "no such field here")
	}
	return c.check(rest, v, here, depth+1)
}

func (c *checker) checkDependent(m, v map[string]any, at string, depth int) error {
	required, _ := m["dependentRequired"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(required)) {
		if _, there := v[name]; !there {
			continue
		}
		for _, other := range toStrings(required[name]) {
			if _, there := v[other]; !there {
				if err := c.told(newMismatch(at+"/"+Escape(other), "is missing")); err != nil {
					return err
				}
			}
		}
	}
	schemas, _ := m["dependentSchemas"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		if _, there := v[name]; !there {
			continue
		}
		if err := c.check(schemas[name], v, at, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) checkOthers(m map[string]any, v any, at string, depth int) error {
	fits := func(schema any) bool { return c.try(schema, v, at, depth+1) == nil }
	if list, ok := m["allOf"].([]any); ok {
		for _, one := range list {
			if err := c.check(one, v, at, depth+1); err != nil {
				return err
			}
		}
	}
	if list, ok := m["anyOf"].([]any); ok {
		if err := c.checkAny(list, v, at, depth); err != nil {
			return err
		}
	}
	if list, ok := m["oneOf"].([]any); ok {
		n := 0
		for _, one := range list {
			if fits(one) {
				n++
			}
		}
		if n != 1 {
			return newMismatch(at, "fits %d of oneOf, not one", n)
		}
	}
	if schema, ok := m["not"]; ok && fits(schema) {
		return newMismatch(at, "must not match not")
	}
	schema, ok := m["if"]
	if !ok {
		return nil
	}
	branch := "else"
	if fits(schema) {
		branch = "then"
	}
	if schema, ok := m[branch]; ok {
		return c.check(schema, v, at, depth+1)
	}
	return nil
}

// checkAny wants a value to fit one of several schemas. If it does not, the first one for its type says why.
func (c *checker) checkAny(list []any, v any, at string, depth int) error {
	var first error
	var kinds []string
	for _, one := range list {
		err := c.try(one, v, at, depth+1)
		if err == nil {
			return nil
		}
		if wrong, ok := err.(*Mismatch); ok && wrong.kinds != nil && wrong.Pointer == at {
			kinds = append(kinds, wrong.kinds...)
		} else if first == nil {
			first = err
		}
	}
	if first == nil {
		first = newKindMismatch(at, kinds, kindOf(v))
	}
	return first
}

// toDouble returns a number as a double; one that is too small is zero.
func toDouble(n json.Number) float64 {
	f, _ := strconv.ParseFloat(n.String(), 64)
	return f
}

func isFinite(n json.Number) bool {
	_, err := strconv.ParseFloat(n.String(), 64)
	return err == nil
}

func isWhole(n json.Number) bool { return isFinite(n) && toDouble(n) == math.Trunc(toDouble(n)) }

// toRational returns a number as it is written; ok is false for one so small or long that it
// would take a lot of memory.
func toRational(n json.Number) (*big.Rat, bool) {
	_, exponent, _ := strings.Cut(strings.ToLower(n.String()), "e")
	if e, err := strconv.Atoi(exponent); exponent != "" && (err != nil || e < -400 || e > 400) || len(n) > 500 {
		return nil, false
	}
	return new(big.Rat).SetString(n.String())
}

func isMultiple(n, step json.Number) bool {
	a, okA := toRational(n)
	b, okB := toRational(step)
	if !okA || !okB || b.Sign() == 0 {
		return math.Mod(toDouble(n), toDouble(step)) == 0
	}
	return a.Quo(a, b).IsInt()
}

// equalValues compares JSON values; numbers by what they are, not by how they are written.
func equalValues(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equalValues)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equalValues)
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return false
		}
		x, okX := toRational(a)
		y, okY := toRational(b)
		if okX && okY {
			return x.Cmp(y) == 0
		}
		return toDouble(a) == toDouble(b)
	}
	return a == b
}
