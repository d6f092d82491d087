package telemetry

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// How long fields may be, in bytes. Names stand on one line, summaries and details
// may have several.
const (
	MaxName    = 255
	MaxRef     = 4096      // source_ref, target_ref, git_repo
	MaxSummary = 64 << 10  // input_, output_ and error_summary
	MaxDetails = 256 << 10 // error_details
	MaxObject  = 256 << 10 // metrics_json, context_json
)

// field describes a field of a record, as requests name it.
type field struct {
	name    string
	must    bool // has to be there to create a record
	fixed   bool // stays as it was created
	service bool // made by the service: ignored in a create, refused in a patch
	form    Form
	// read gives what sets the field to a value.
	read func(v jsontext.Value) (func(*Record), *FieldError)
	// empty sets it to nothing, for null; nil: it cannot be nothing.
	empty func(*Record)
}

var fields = sync.OnceValue(func() (out []field) {
	for f := range reflect.TypeFor[Record]().Fields() {
		out = append(out, makeField(f))
	}
	return out
})

// makeField describes a field of Record by its type and the words of its tag form.
func makeField(f reflect.StructField) field {
	key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	words := strings.Fields(f.Tag.Get("form"))
	out := field{name: key, must: slices.Contains(words, "must"), fixed: slices.Contains(words, "fixed"), service: slices.Contains(words, "service")}
	switch f.Type {
	case reflect.TypeFor[int64](), reflect.TypeFor[*int64]():
		out.form = Count
	case reflect.TypeFor[json.RawMessage]():
		out.form = Object
	}
	at := func(r *Record) reflect.Value { return reflect.ValueOf(r).Elem().FieldByIndex(f.Index) }
	out.read = func(v jsontext.Value) (func(*Record), *FieldError) {
		if out.must && f.Type.Kind() == reflect.String && string(v) == `""` {
			return nil, complain("must not be empty")
		}
		value, complaint := readValue(v, f.Type, words)
		return func(r *Record) { at(r).Set(reflect.ValueOf(value)) }, complaint
	}
	if !out.must && !out.service && f.Type != reflect.TypeFor[Status]() {
		out.empty = func(r *Record) { at(r).SetZero() }
	}
	return out
}

// readValue reads a value of a field of that type, whose tag form has these words.
func readValue(v jsontext.Value, of reflect.Type, words []string) (any, *FieldError) {
	is := func(word string) bool { return slices.Contains(words, word) }
	switch of {
	case reflect.TypeFor[time.Time]():
		return readTime(v)
	case reflect.TypeFor[*time.Time]():
		t, complaint := readTime(v)
		return &t, complaint
	case reflect.TypeFor[int64]():
		return readCount(v)
	case reflect.TypeFor[*int64]():
		n, complaint := readCount(v)
		return &n, complaint
	case reflect.TypeFor[json.RawMessage]():
		return readObject(v, MaxObject)
	}
	switch {
	case is("summary"):
		return readText(v, MaxSummary)
	case is("details"):
		return readText(v, MaxDetails)
	case is("ref"):
		return readLine(v, MaxRef)
	}
	s, complaint := readLine(v, MaxName)
	switch {
	case complaint != nil:
	case of == reflect.TypeFor[JobType]():
		return oneOf(s, jobTypes)
	case of == reflect.TypeFor[Status]():
		return parseStatus(s)
	case s == "":
	case is("uuid"):
		return readEventID(s)
	case is("run"):
		complaint = checkRunID(s)
	case is("commit"):
		if !commitForm().MatchString(s) {
			complaint = complain("must be a commit's hash: 7 to 64 hex digits")
		}
	}
	return s, complaint
}

// Form is a restriction of a field beyond the type that it has in the record.
type Form string

// The forms.
const (
	Count  Form = "count"  // a whole number, not negative
	Object Form = "object" // an object, or a string that contains one
)

// Input is a field as clients send it, for descriptions of requests.
type Input struct {
	Name    string
	Must    bool // it has to be there to create a record
	Fixed   bool // it stays as it was created
	Service bool // the service makes it: ignored in a create, refused in a patch
	Empties bool // null empties it in a patch
	Form    Form // empty: as the record has it
}

// Inputs returns all fields that requests may name.
func Inputs() []Input {
	out := make([]Input, len(fields()))
	for i, f := range fields() {
		out[i] = Input{f.name, f.must, f.fixed, f.service, f.empty != nil, f.form}
	}
	return out
}

var byName = sync.OnceValue(func() map[string]*field {
	out := map[string]*field{}
	for i := range fields() {
		out[fields()[i].name] = &fields()[i]
	}
	return out
})

// The functions here read one value of a field that is known to be JSON and not null.

func readString(v jsontext.Value) (string, *FieldError) {
	if v.Kind() != '"' {
		return "", complain("must be a string")
	}
	text, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return "", complain("%v", err)
	}
	return string(text), nil
}

// readText reads a text of several lines.
func readText(v jsontext.Value, limit int) (string, *FieldError) {
	s, complaint := readString(v)
	switch {
	case complaint != nil:
		return "", complaint
	case len(s) > limit:
		return "", complain("has %d bytes, over the limit of %d", len(s), limit)
	case strings.IndexByte(s, 0) >= 0:
		return "", complain("contains a NUL at byte %d", strings.IndexByte(s, 0))
	}
	return s, nil
}

// readLine reads a text of one line.
func readLine(v jsontext.Value, limit int) (string, *FieldError) {
	s, complaint := readText(v, limit)
	if complaint == nil {
		complaint = oneLine(s)
	}
	return s, complaint
}

func oneLine(s string) *FieldError {
	for i, r := range s {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return complain("contains the control character %U at byte %d", r, i)
		}
	}
	return nil
}

// checkRunID keeps ids harmless in paths, URLs and on screens.
func checkRunID(s string) *FieldError {
	switch {
	case s == "":
		return complain("must not be empty")
	case len(s) > MaxName:
		return complain("has %d bytes, over the limit of %d", len(s), MaxName)
	case s[0] == '.' || s[0] == '-':
		return complain("must not begin with %q", s[:1])
	case strings.Contains(s, ".."):
		return complain("must not contain %q", "..")
	}
	for i, r := range s {
		if !inRunID(r) {
			return complain("contains %q at byte %d; use A-Z a-z 0-9 and . _ : @ + = ~ -", r, i)
		}
	}
	return nil
}

func inRunID(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r < unicode.MaxASCII && strings.ContainsRune("._:@+=~-", r)
}

// readCount reads a whole number that is not negative and that every program can
// hold.
func readCount(v jsontext.Value) (int64, *FieldError) {
	if v.Kind() != '0' {
		return 0, complain("must be an integer")
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	switch {
	case v[0] == '-':
		return 0, complain("must not be negative")
	case bytes.ContainsAny(v, ".eE"):
		return 0, complain("must be an integer")
	case err != nil || n > 1<<53-1:
		return 0, complain("must be at most %d", int64(1<<53-1))
	}
	return n, nil
}

// readTime reads an RFC 3339 time, which carries a zone. Parts of a microsecond are
// cut off.
func readTime(v jsontext.Value) (time.Time, *FieldError) {
	s, complaint := readString(v)
	if complaint != nil {
		return time.Time{}, complaint
	}
	return parseTime(s)
}

func parseTime(s string) (time.Time, *FieldError) {
	t, ok := parseRFC3339(s)
	if !ok {
		complaint := complain("%.60q is not an RFC 3339 time", s)
		upper := strings.ToUpper(strings.Replace(s, " ", "T", 1))
		for _, zone := range []string{"Z", ""} {
			if _, ok := parseRFC3339(upper + zone); ok {
				complaint.Suggestion = upper + zone
				if zone != "" {
					complaint.Message = "carries no zone, such as Z or +02:00"
				}
				break
			}
		}
		return time.Time{}, complaint
	}
	t = t.UTC().Truncate(time.Microsecond)
	if t.Year() < 1970 || t.Year() > 9999 {
		return time.Time{}, complain("must be from 1970 to 9999, in UTC")
	}
	return t, nil
}

// timeForm is the form of a time up to its second: 0 stands for a digit.
const timeForm = "0000-00-00T00:00:00"

// parseRFC3339 looks at the form itself, because time.Parse also takes hours of one digit and
// a comma for the point.
func parseRFC3339(s string) (time.Time, bool) {
	if len(s) <= len(timeForm) || len(s) > len(timeForm)+len(".123456789+00:00") || strings.IndexByte(s, ',') >= 0 {
		return time.Time{}, false
	}
	for i := range len(timeForm) {
		if digit := s[i] >= '0' && s[i] <= '9'; digit != (timeForm[i] == '0') || !digit && s[i] != timeForm[i] {
			return time.Time{}, false
		}
	}
	t, err := time.Parse(time.RFC3339, s)
	return t, err == nil
}

// readObject reads an object, or a string that contains one, into its RFC 8785 form.
func readObject(v jsontext.Value, limit int) (json.RawMessage, *FieldError) {
	text := []byte(v)
	if v.Kind() == '"' {
		s, complaint := readString(v)
		if complaint != nil {
			return nil, complaint
		}
		if text = []byte(s); len(text) <= limit {
			if _, trouble := readMembers(text); trouble != nil {
				trouble.Fields[0].Message = "as a string it must contain an object: " + trouble.Fields[0].Message
				return nil, &trouble.Fields[0]
			}
		}
	} else if v.Kind() != '{' {
		return nil, complain("must be an object, or a string that contains one")
	}
	if len(text) > limit {
		return nil, complain("has %d bytes, over the limit of %d", len(text), limit)
	}
	return canonicalJSON(text)
}

var (
	statuses = []Status{Running, Success, Failure, Partial, Timeout, Cancelled}
	jobTypes = []JobType{Launch, Node, Worker, Gate, LLMCall, MCPToolCall, CommitThings}
	aliases  = []struct {
		word string
		is   Status
	}{{"failed", Failure}, {"completed", Success}, {"succeeded", Success}, {"canceled", Cancelled}}
)

// parseStatus understands the aliases too.
func parseStatus(s string) (Status, *FieldError) {
	for _, alias := range aliases {
		if alias.word == s {
			return alias.is, nil
		}
	}
	return oneOf(s, statuses)
}

func oneOf[T ~string](s string, all []T) (T, *FieldError) {
	words := make([]string, len(all))
	for i, one := range all {
		if string(one) == s {
			return one, nil
		}
		words[i] = string(one)
	}
	complaint := complain("must be one of %s, not %.60q", strings.Join(words, ", "), s)
	complaint.Suggestion = text.NearestWord(s, words)
	return "", complaint
}

// Statuses lists all of them.
func Statuses() []Status { return slices.Clone(statuses) }

// JobTypes lists all of them.
func JobTypes() []JobType { return slices.Clone(jobTypes) }

// StatusWords returns the words that requests may use: the statuses, and their aliases.
func StatusWords() []string {
	var out []string
	for _, s := range statuses {
		out = append(out, string(s))
	}
	for _, alias := range aliases {
		out = append(out, alias.word)
	}
	return out
}

// namespace keeps our ids apart from those that others make in the same way. It was
// drawn once and never changes.
var namespace = uuid.UUID{0x6f, 0x0b, 0x53, 0x4c, 0x1e, 0xd8, 0x5a, 0x47, 0x9e, 0x21, 0x7c, 0x90, 0x4d, 0x36, 0xb2, 0xaf}

// EventID returns the event_id of the parts run, unit and attempt. The same parts give the same id on every
// machine, always; parts that are split elsewhere ("ab","c" and "a","bc") give another. It is a UUID of version 5 over,
// of each part, its length as 8 bytes, big-endian, and its bytes.
func EventID(parts ...string) string {
	var name []byte
	for _, p := range parts {
		name = append(binary.BigEndian.AppendUint64(name, uint64(len(p))), p...)
	}
	return uuid.NewSHA1(namespace, name).String()
}

// ParseEventID reads a UUID in its usual form, and gives it in lower case.
func ParseEventID(s string) (string, error) {
	out, complaint := readEventID(s)
	if complaint != nil {
		return "", fault.New(fault.InvalidID, "%.60q is not an event_id: it %s", s, complaint.Message).
			WithHint("use the event_id with which the record was created")
	}
	return out, nil
}

func readEventID(s string) (string, *FieldError) {
	const form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
	if _, err := uuid.Parse(s); err != nil || len(s) != len(form) {
		return "", complain("must be a UUID like %s", form)
	}
	return strings.ToLower(s), nil
}

// RunID returns the run_id of a record below a launch: <launch>-<job_type>-<unit>-a<attempt>. Characters that
// run_ids cannot hold are replaced, and a long one is cut; then a hash of the whole keeps two units apart.
func RunID(launch string, job JobType, unit string, attempt int) string {
	whole := fmt.Sprintf("%s-%s-%s-a%d", launch, job, unit, attempt)
	if checkRunID(whole) == nil {
		return whole
	}
	plain := strings.Map(func(r rune) rune {
		if r != '.' && inRunID(r) {
			return r
		}
		return '_'
	}, whole)
	plain = strings.TrimLeft(plain, "-")
	return plain[:min(len(plain), MaxName-20)] + "-" + chain.Sum([]byte(whole)).String()[:16]
}

var commitForm = text.Regexp(`^[0-9a-fA-F]{7,64}$`)
