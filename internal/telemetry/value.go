package telemetry

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/base/text"
)

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
