package telemetry

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// namespace keeps our ids apart from those that others make in the same way. It was
// drawn once and never changes.
var namespace = [16]byte{0x6f, 0x0b, 0x53, 0x4c, 0x1e, 0xd8, 0x5a, 0x47, 0x9e, 0x21, 0x7c, 0x90, 0x4d, 0x36, 0xb2, 0xaf}

// EventID returns the event_id of the parts run, unit and attempt. The same parts give the same id on every
// machine, always; parts that are split elsewhere ("ab","c" and "a","bc") give another. It is a UUID of version 5: SHA-1 over the
// namespace and, of each part, its length as 8 bytes, big-endian, and its bytes.
func EventID(parts ...string) string {
	h := sha1.New()
	h.Write(namespace[:])
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		h.Write([]byte(p))
	}
	u := [16]byte(h.Sum(nil))
	u[6] = u[6]&0x0f | 0x50
	u[8] = u[8]&0x3f | 0x80
	x := hex.EncodeToString(u[:])
	return x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:]
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
	ok := len(s) == len(form)
	for i := 0; ok && i < len(s); i++ {
		c := s[i] | 0x20 // lower case; digits and the hyphen stay
		ok = form[i] == '-' && s[i] == '-' || form[i] == 'x' && (s[i] >= '0' && s[i] <= '9' || c >= 'a' && c <= 'f')
	}
	if !ok {
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
