package ledger

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

// noon is when the tests begin; minute(n) is n minutes later.
var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

// nobodyGone judges that all live.
func nobodyGone(Entry) (string, bool) { return "", false }

// allGone judges that none does.
func allGone(Entry) (string, bool) { return "its owner has ended", true }

func spawn(t *testing.T, s *Sheet, id string, at time.Time) Entry {
	t.Helper()
	e := testkit.Must(s.Spawn(Start{ID: id, Type: "backend-specialist", Plan: "02", Group: "API Endpoints"}, at))(t)
	return e
}

func move(t *testing.T, s *Sheet, id string, to Status, at time.Time) Entry {
	t.Helper()
	e := testkit.Must(s.Move(id, to, "", at))(t)
	return e
}

func resume(t *testing.T, s *Sheet, old, id string, at time.Time) Entry {
	t.Helper()
	e := testkit.Must(s.Resume(old, Start{ID: id}, at, nobodyGone))(t)
	return e
}

// refused demands a code and words of the message.
func refused(t *testing.T, err error, code fault.Code, words ...string) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Fatalf("got %v, want %s", err, code)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Fatalf("%q does not say %q", err, w)
		}
	}
}

// drawn is the sheet in one line: id:status, separated by spaces.
func drawn(s *Sheet) string {
	var words []string
	for _, e := range s.Entries() {
		words = append(words, e.ID+":"+string(e.Status))
	}
	return strings.Join(words, " ")
}

func draws(t *testing.T, s *Sheet, want string) {
	t.Helper()
	if got := drawn(s); got != want {
		t.Fatalf("the sheet holds\n     %s\nnot  %s", got, want)
	}
}

// sheet makes one of a drawing; max_entries is limit.
func sheet(t *testing.T, limit int, drawing string) *Sheet {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"version":"1.0","max_entries":` + itoa(limit) + `,"entries":[`)
	for i, word := range strings.Fields(drawing) {
		if i > 0 {
			b.WriteByte(',')
		}
		part := strings.Split(word, ":") // id:status[:resumed_by[:resumes]]
		b.WriteString(`{"agent_id":"` + part[0] + `","status":"` + part[1] + `","timestamp":"` + minute(i).Format(layout) + `"`)
		if len(part) > 2 && part[2] != "" {
			b.WriteString(`,"resumed_by":"` + part[2] + `"`)
		}
		if len(part) > 3 {
			b.WriteString(`,"resumes":"` + part[3] + `"`)
		}
		b.WriteByte('}')
	}
	b.WriteString(`]}`)
	s := testkit.Must(Parse([]byte(b.String())))(t)
	return s
}

func itoa(n int) string { return strconv.Itoa(n) }
