package telemetry

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"ramet/internal/base/text"
	"ramet/internal/run"
)

// formatTime is a time as bodies hold it.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// cutLine is a text on one line, of at most so many bytes.
func cutLine(s string, limit int) string {
	return cutText(text.Line(cutHead(s, 4*limit), limit), limit)
}

// cutLines is a text of at most so many bytes, without what drives a terminal.
func cutLines(s string, limit int) string { return cutText(text.Safe(cutHead(s, limit)), limit) }

// cutHead keeps long texts from being looked at as a whole.
func cutHead(s string, limit int) string { return s[:min(len(s), limit)] }

func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const mark = "…"
	s = s[:limit-len(mark)]
	for s != "" && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) {
		s = s[:len(s)-1]
	}
	return s + mark
}

func joinReason(code, message string) string {
	if message == "" {
		return code
	}
	return code + ": " + message
}

// spanOf is the span of something that has a name.
func spanOf(name string) string { return hexDigest(name)[:16] }

// traceOf is the trace of something that has a name.
func traceOf(name string) string { return hexDigest("trace " + name)[:32] }

func hexDigest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// withoutUser is an address without names and passwords.
func withoutUser(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.User == nil {
		return s
	}
	u.User = nil
	return u.String()
}

// isCommit reports whether s can be the hash of a commit.
func isCommit(s string) bool {
	return len(s) >= 7 && len(s) <= 64 && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// timeOf is an event's time; of one that has none, the time of the event before.
func timeOf(e run.Event, before time.Time) time.Time {
	t, err := time.Parse(time.RFC3339Nano, e.TS)
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		return laterTime(time.Unix(0, 0).UTC(), before)
	}
	return t.UTC().Truncate(time.Microsecond)
}
