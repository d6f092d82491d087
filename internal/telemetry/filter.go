package telemetry

import (
	"encoding/base64"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"ramet/internal/base/chain"
)

// How many records a page has.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// parameters are the fields of a filter, as a query names them.
var parameters = map[string]func(f *Filter, s string) *FieldError{
	"agent_name":      func(f *Filter, s string) *FieldError { return readFilterText(&f.AgentName, s) },
	"run_id":          func(f *Filter, s string) *FieldError { return readFilterText(&f.RunID, s) },
	"parent_run_id":   func(f *Filter, s string) *FieldError { return readFilterText(&f.ParentRunID, s) },
	"trace_id":        func(f *Filter, s string) *FieldError { return readFilterText(&f.TraceID, s) },
	"status":          func(f *Filter, s string) (bad *FieldError) { f.Status, bad = parseStatus(s); return },
	"job_type":        func(f *Filter, s string) (bad *FieldError) { f.JobType, bad = oneOf(s, jobTypes); return },
	"created_before":  func(f *Filter, s string) *FieldError { return readQueryTime(&f.CreatedBefore, s) },
	"created_after":   func(f *Filter, s string) *FieldError { return readQueryTime(&f.CreatedAfter, s) },
	"start_time_from": func(f *Filter, s string) *FieldError { return readQueryTime(&f.StartFrom, s) },
	"start_time_to":   func(f *Filter, s string) *FieldError { return readQueryTime(&f.StartTo, s) },
	"cursor": func(f *Filter, s string) *FieldError {
		_, err := ParseCursor(s)
		if err != nil {
			return &Details(err)[0]
		}
		f.Cursor = s
		return nil
	},
	"limit": func(f *Filter, s string) *FieldError {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > MaxLimit {
			return complain("must be a number from 1 to %d, not %.20q", MaxLimit, s)
		}
		f.Limit = n
		return nil
	},
}

// ParseFilter reads the parameters of a query (url.Values). An empty parameter is the
// same as none; one that is there twice is refused.
func ParseFilter(query map[string][]string) (Filter, error) {
	var f Filter
	trouble := &Invalid{}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		read, values := parameters[name], query[name]
		var complaint *FieldError
		switch {
		case read == nil:
			unknown := unknownField(name, slices.Sorted(maps.Keys(parameters)))
			unknown.Message = "no such parameter"
			complaint = &unknown
		case len(values) > 1:
			complaint = complain("appears twice")
		case len(values) == 1 && values[0] != "":
			complaint = read(&f, values[0])
		}
		if complaint != nil {
			trouble.add(*inQuery(name, complaint))
		}
	}
	if len(trouble.Fields) > 0 {
		return Filter{}, trouble.err("list of telemetry runs")
	}
	return f, nil
}

// readFilterText reads a text to compare with. It refuses texts that no record can hold, because
// not every database takes them.
func readFilterText(to *string, s string) *FieldError {
	if len(s) > MaxName {
		return complain("has %d bytes, over the limit of %d", len(s), MaxName)
	}
	if s != strings.ToValidUTF8(s, "") {
		return complain("is not UTF-8")
	}
	*to = s
	return oneLine(s)
}

// readQueryTime reads a time of a query, where an unescaped + has become a space.
func readQueryTime(to *time.Time, s string) *FieldError {
	if i := strings.LastIndexByte(s, ' '); i > len("2006-01-02T15:04") {
		s = s[:i] + "+" + s[i+1:]
	}
	t, complaint := parseTime(s)
	*to = t
	return complaint
}

// Cursors are opaque: their content may change with any version. They hold the place of the last record of a
// page, so that newer records, which are listed before it, move nothing.
const (
	cursorVersion = 1
	cursorBytes   = 1 + 8 + 4
)

// FormatCursor makes the cursor of the page after a place in the order of arrival.
func FormatCursor(place int64) string {
	b := binary.BigEndian.AppendUint64([]byte{cursorVersion}, uint64(place))
	return base64.RawURLEncoding.EncodeToString(append(b, cursorSum(b)...))
}

// cursorSum finds cursors that were cut, mistyped or made up.
func cursorSum(b []byte) []byte {
	sum := chain.Sum(append([]byte("ramet telemetry cursor "), b...))
	return sum[:4]
}

// ParseCursor reads what FormatCursor makes, and nothing else.
func ParseCursor(s string) (place int64, err error) {
	if len(s) <= 2*cursorBytes {
		b, err := base64.RawURLEncoding.Strict().DecodeString(s)
		if err == nil && len(b) == cursorBytes && b[0] == cursorVersion && string(cursorSum(b[:9])) == string(b[9:]) {
			if place = int64(binary.BigEndian.Uint64(b[1:])); place > 0 && FormatCursor(place) == s {
				return place, nil
			}
		}
	}
	return 0, (&Invalid{Fields: []FieldError{*inQuery("cursor", complain("%.40q is not a cursor that was handed out", s))}}).err("list of telemetry runs")
}

func inQuery(name string, complaint *FieldError) *FieldError {
	complaint.Pointer = "/query/" + escapes.Replace(name)
	return complaint
}
