package telemetry

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

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

func readRunID(s string) (string, *FieldError) { return s, checkRunID(s) }

func readJobType(s string) (JobType, *FieldError) { return oneOf(s, jobTypes) }

func readStatus(s string) (Status, *FieldError) { return parseStatus(s) }

var commitForm = text.Regexp(`^[0-9a-fA-F]{7,64}$`)

func readCommit(s string) (string, *FieldError) {
	if !commitForm().MatchString(s) {
		return "", complain("must be a commit's hash: 7 to 64 hex digits")
	}
	return s, nil
}
