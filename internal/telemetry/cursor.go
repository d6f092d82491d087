package telemetry

import (
	"encoding/base64"
	"encoding/binary"

	"ramet/internal/base/chain"
)

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
