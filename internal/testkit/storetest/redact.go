package storetest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
)

func (d *bench) redact(a id.Agent, m id.Message) {
	d.t.Helper()
	if err := d.s.Redact(background, a, agent.Passing(), m); err != nil {
		d.t.Fatalf("redact %d: %v", m, err)
	}
}

func testRedact(t *testing.T, w *Workspace) {
	d := open(t, w)
	long := strings.Repeat("a long secret ", 5000)
	e := d.say(d.zero, "a", "secret", "b", long, long)
	kid := d.fork(d.zero, "kid")[0]
	mine := d.say(kid.ID, "mine")[0]
	d.redact(d.zero, e[1].ID)
	equal(t, "history", d.kinds(d.zero), "fork user user user user user fork redact")
	gone := testkit.Must(d.s.Entry(background, e[1].ID))(t)
	if gone.Content != nil || gone.Hash != e[1].Hash {
		t.Errorf("%+v", gone)
	}
	m := testkit.Must(d.own(d.zero)[7].Decode())(t)
	equal(t, "the record of it", m.Target, e[1].ID.String())
	d.redact(d.zero, e[1].ID)
	equal(t, "twice changes nothing", d.kinds(d.zero), "fork user user user user user fork redact")
	if !strings.HasPrefix(d.context(kid.ID), "a [redacted] b ") {
		t.Errorf("the child inherits it redacted: %.60s", d.context(kid.ID))
	}

	d.redact(d.zero, e[3].ID)
	equal(t, "a shared blob stays", d.audit().Blobs, 1)
	parts := testkit.Must(testkit.Must(d.s.Entry(background, e[4].ID))(t).Parts())(t)
	if data := testkit.Must(d.s.Blob(background, *parts[0].Blob))(t); string(data) != long {
		t.Error("and is whole")
	}
	d.redact(d.zero, e[4].ID)
	equal(t, "a blob of nobody else goes", d.audit().Blobs, 0)

	redact := func(a id.Agent, c agent.Claim, m id.Message) error { return d.s.Redact(background, a, c, m) }
	refused(t, "an unknown message", redact(d.zero, agent.Passing(), 1<<40), fault.NotFound)
	refused(t, "an inherited message", redact(kid.ID, agent.Passing(), e[0].ID), fault.NotFound)
	refused(t, "an entry without content", redact(kid.ID, agent.Passing(), d.own(kid.ID)[0].ID), fault.Conflict)
	refused(t, "an unknown agent", redact(id.NewAgent(), agent.Passing(), e[0].ID), fault.NotFound)
	refused(t, "a stale claim", redact(kid.ID, agent.Held("me", 3), mine.ID), fault.Fenced)
	testkit.Must(d.s.Acquire(background, kid.ID, "kernel", hour))(t)
	refused(t, "a leased agent", redact(kid.ID, agent.Passing(), mine.ID), fault.Leased)
	testkit.Must(d.s.Kill(background, killOf(kid.ID, false)))(t)
	d.redact(kid.ID, mine.ID) // a secret does not die with its agent
	equal(t, "the dead's history", d.kinds(kid.ID), "fork user killed redact")
	report := d.audit()
	equal(t, "redacted", report.Redacted, 4)
	// A summary.
	c := d.append(d.zero, history.Draft{Kind: history.Compact, Parts: says("a telling summary")[0].Parts,
		Meta: history.Meta{StartID: e[0].ID.String(), EndID: e[4].ID.String()}})[0]
	d.redact(d.zero, c.ID)
	equal(t, "a redacted summary", d.context(d.zero), "[redacted]")
}

// secret is a text with what must not be found of it.
type secret struct {
	text  string
	shape string
}

func secrets() []secret {
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rand.Uint32())
		}
		return base64.RawStdEncoding.EncodeToString(b)
	}
	out := []secret{{"pw-" + word(6), "short"}}
	out = append(out, secret{strings.Repeat(word(30)+" ", 100<<10/41), "100 KiB that pack well"})
	out = append(out, secret{word(75 << 10), "100 KiB that do not pack"})
	for _, n := range []int{20, 300, 2000, 5000} {
		out = append(out, secret{word(n), fmt.Sprintf("%d bytes", n)})
	}
	return out
}

// testRedactBytes looks into the files themselves. Rows of all sizes stand
// around the secrets, and they are deleted in random order, so that pages
// split, merge and move rows meanwhile.
func testRedactBytes(t *testing.T, w *Workspace) {
	if w.Files == nil {
		return // the server's files are the administrator's
	}
	d := open(t, w)
	raw := w.Raw(t)
	kid := d.fork(d.zero, "kid")[0].ID
	type hidden struct {
		secret
		agent id.Agent
		entry history.Entry
		look  [][]byte
	}
	var all []*hidden
	rounds := 6
	if !testkit.SoakOn() {
		rounds = 3
	}
	for range rounds {
		for _, s := range secrets() {
			a := []id.Agent{d.zero, kid}[rand.IntN(2)]
			h := &hidden{secret: s, agent: a, entry: d.say(a, s.text)[0]}
			h.look = windows([]byte(s.text))
			if packed := blobOf(t, d, h.entry); packed != "" {
				h.look = windows(blobBytes(t, raw, packed))
			}
			all = append(all, h)
			d.say(a, strings.Repeat("around ", rand.IntN(300)+1))
		}
	}
	for _, h := range all {
		if !found(t, w.Files, h.look) {
			t.Fatalf("the test looks for the wrong bytes of %s", h.shape)
		}
	}
	testkit.Must(d.s.Kill(background, killOf(kid, false)))(t)
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i, h := range all {
		d.redact(h.agent, h.entry.ID)
		for _, g := range all[:i+1] {
			if found(t, w.Files, g.look) {
				t.Fatalf("after %d redactions, bytes of a redacted secret (%s) are still in the files", i+1, g.shape)
			}
		}
	}
}

// windows are a few pieces of a text, long enough to be nobody else's.
func windows(b []byte) [][]byte {
	const size = 24
	if len(b) <= size {
		return [][]byte{b}
	}
	var out [][]byte
	for range 8 {
		i := rand.IntN(len(b) - size)
		out = append(out, b[i:i+size])
	}
	return out
}

func found(t testing.TB, files []string, look [][]byte) bool {
	t.Helper()
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, l := range look {
			if bytes.Contains(data, l) {
				return true
			}
		}
	}
	return false
}
