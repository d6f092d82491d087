package registry

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
)

func meta(tb testing.TB, m history.Meta) []byte {
	tb.Helper()
	b := testkit.Must(json.Marshal(m))(tb)
	b = testkit.Must(chain.Canonical(b))(tb)
	return b
}

func TestAWholeWorkspacePasses(t *testing.T) {
	d := newDesk(t)
	got, err := d.audit(headsOf(d.agents))
	want := Report{Agents: 2, Messages: 11, Blobs: 1, Letters: 2, Redacted: 1, Heads: 2}
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

// The places that a report must give.
func place0(m id.Message) string { return fmt.Sprintf("agent %s message %d: ", zero, m) }
func place1(m id.Message) string { return fmt.Sprintf("agent %s message %d: ", kid, m) }

func TestEachKindOfDamageIsNamed(t *testing.T) {
	for _, c := range []struct {
		what  string
		harm  func(*desk)
		where string
		says  string
	}{
		{"changed content", func(d *desk) { d.records[1].Content = []byte(`[{"type":"text","text":"hullo"}]`) }, place0(2), "content does not fit"},
		{"changed salt", func(d *desk) { d.records[1].Salt = make([]byte, 16) }, place0(2), "content does not fit"},
		{"short salt", func(d *desk) { d.records[1].Salt = []byte{1} }, place0(2), "content does not fit"},
		{"content deleted, salt kept", func(d *desk) { d.records[1].Content = nil }, place0(2), "content does not fit"},
		{"empty content deleted, salt kept", func(d *desk) { d.records[8].Content = nil }, place1(9), "content does not fit"},
		{"content and salt deleted without a redaction", func(d *desk) { d.records[1].Content, d.records[1].Salt = nil, nil }, place0(2), "no entry says that it was redacted"},
		{"changed commitment", func(d *desk) { d.records[1].Commitment[0]++ }, place0(2), "hash does not match"},
		{"changed hash", func(d *desk) { d.records[1].Hash[0]++ }, place0(2), "hash does not match"},
		{"changed time", func(d *desk) { d.records[1].CreatedAt = at(77) }, place0(2), "hash does not match"},
		{"changed kind", func(d *desk) { d.records[1].Kind = history.Assistant }, place0(2), "hash does not match"},
		{"changed meta", func(d *desk) { d.records[8].Meta = []byte(`{"command":"rename","name":"x"}`) }, place1(9), "hash does not match"},
		{"changed count", func(d *desk) { d.records[1].Seq = 9 }, place0(2), "is counted as 9, but is number 1"},
		{"moved to another agent", func(d *desk) { d.records[7].Agent = zero }, place0(8), "hash does not match"},
		{"moved to an agent that does not exist", func(d *desk) { d.records[7].Agent = "nobody" }, "agent nobody message 8: ", "not in the registry"},
		{"a middle entry is missing", func(d *desk) { d.records = slices.Delete(d.records, 1, 2) }, place0(3), "hash does not match"},
		{"the last entry is missing", func(d *desk) { d.records = d.records[:10] }, place1(10), "the registry says 11"},
		{"the first entry is missing", func(d *desk) { d.records = d.records[1:] }, place0(2), "must begin with its fork"},
		{"two entries swapped", func(d *desk) { d.records[1], d.records[3] = d.records[3], d.records[1] }, place0(4), "hash does not match"},
		{"an entry twice", func(d *desk) { d.records = slices.Insert(d.records, 2, d.records[1]) }, place0(2), "is after message 2"},
		{"a history without entries", func(d *desk) { d.records, d.letters = d.records[:6], nil }, place1(0), "has no first entry"},

		{"another parent", func(d *desk) { d.agents[1].Parent = "someone" }, place1(7), "was forked from"},
		{"another fork point", func(d *desk) { d.agents[1].ForkMessage = 4 }, place1(7), "was forked from"},
		{"another depth", func(d *desk) { d.agents[1].Depth = 5 }, place1(7), "5 generations deep"},
		{"another depth of the root", func(d *desk) { d.agents[0].Depth = 1; d.agents[1].Depth = 2 }, place0(6), "is the root"},
		{"a fork point of the root", func(d *desk) { d.agents[0].ForkMessage = 3 }, place0(1), "is the root"},
		{"another model", func(d *desk) { d.agents[1].Model = "bigger" }, place1(11), "uses p/m in its history"},
		{"another provider", func(d *desk) { d.agents[1].Provider = "x" }, place1(11), "and x/m in the registry"},
		{"another folder", func(d *desk) { d.agents[0].Cwd = "/etc" }, place0(1), "its folder"},
		{"another birth", func(d *desk) { d.agents[1].CreatedAt = at(0) }, place1(7), "was made at"},
		{"another first entry", func(d *desk) { d.agents[1].Genesis = 8 }, place1(7), "is its first entry"},
		{"another name", func(d *desk) { d.agents[1].Name = "kid" }, place1(11), `is called "other"`},
		{"a name where there is none", func(d *desk) { d.agents[0].Name = "boss" }, place0(6), `is called ""`},
		{"the dead made running", func(d *desk) { d.agents[1].Status = agent.Running }, place1(11), "against its history"},
		{"the running made dead", func(d *desk) { d.agents[0].Status = agent.Dead }, place0(6), "against its history"},
		{"a status that does not exist", func(d *desk) { d.agents[0].Status = "asleep" }, place0(6), "against its history"},
		{"another end", func(d *desk) { d.agents[1].EndedAt = at(12) }, place1(11), "ended at"},
		{"another reason", func(d *desk) { d.agents[1].EndReason = "age" }, place1(11), "ended at"},
		{"an end of the living", func(d *desk) { d.agents[0].EndedAt = at(12) }, place0(6), "has an end"},
		{"a reason of the living", func(d *desk) { d.agents[0].EndReason = "age" }, place0(6), "has an end"},
		{"another head", func(d *desk) { d.agents[1].Head = 10 }, place1(11), "the registry says 10"},
		{"another head hash", func(d *desk) { d.agents[1].HeadHash[3]++ }, place1(11), "is its newest entry"},
		{"another own count", func(d *desk) { d.agents[1].Own = 7 }, place1(11), "1 own messages, but the registry says 7"},
		{"another total", func(d *desk) { d.agents[1].Total = 7 }, place1(11), "4 messages in its context, but the registry says 7"},
		{"tokens that nobody used", func(d *desk) { d.agents[0].Spent.Tokens = 1 }, place0(6), "has spent 0 tokens and 0 nano-dollars, but the registry says 1 and 0"},
		{"money that nobody spent", func(d *desk) { d.agents[1].Spent.Cost = 1 }, place1(11), "has spent 0 tokens"},
		{"a budget that nobody set", func(d *desk) { d.agents[1].Budget.Cost = agent.AtMost(0) }, place1(11), "has another budget"},
		{"a second root", func(d *desk) { d.agents[1].Parent = "" }, place1(0), "a second agent without parent"},
		{"an agent twice", func(d *desk) { d.agents = append(d.agents, d.agents[1]) }, place1(0), "appears twice"},
		{"a whole agent is missing", func(d *desk) {
			d.agents, d.records, d.letters = d.agents[:1], d.records[:6], d.letters[1:]
			d.salts = d.salts[1:]
		}, place0(6), "its child " + string(kid) + " is missing"},
		{"everything is missing", func(d *desk) { *d = desk{} }, "", "agent 0 is missing"},
		{"an agent that its parent does not know", func(d *desk) {
			d.records[5].Meta = []byte(`{}`)
			d.link(&d.records[5], d.records[4].Hash)
			d.agents[0].HeadHash = d.records[5].Hash
		}, place1(7), "has no record of its fork"},

		{"a changed blob", func(d *desk) {
			for h := range d.blobs {
				d.blobs[h] = []byte("other")
			}
		}, place0(4), "does not hash to its name"},
		{"a missing blob", func(d *desk) { clear(d.blobs) }, place0(4), "is missing"},
		{"a blob under another name", func(d *desk) {
			for h, data := range d.blobs {
				d.blobs = map[chain.Hash][]byte{chain.Sum(h[:]): data}
			}
		}, place0(4), "is missing"},
		{"a stray blob that is bad", func(d *desk) { d.blobs[chain.Sum([]byte("x"))] = []byte("y") }, "", "which no message names"},

		{"a changed letter", func(d *desk) { d.letters[0].Body = "cheap" }, place1(10), "mail 1 does not fit"},
		{"a changed letter's salt", func(d *desk) { d.salts[0] = nil }, place1(10), "mail 1 does not fit"},
		{"another recipient", func(d *desk) { d.letters[0].To = kid }, place1(10), "mail 1 went from"},
		{"another sender", func(d *desk) { d.letters[0].From = zero }, place1(10), "mail 1 went from"},
		{"the user as sender", func(d *desk) { d.letters[0].From = "" }, place1(10), "mail 1 is missing"},
		{"the user's letter given to an agent", func(d *desk) { d.letters[1].From = zero }, place0(0), "mail 2 is in no history"},
		{"a missing letter", func(d *desk) { d.letters, d.salts = d.letters[1:], d.salts[1:] }, place1(10), "mail 1 is missing"},
	} {
		t.Run(c.what, func(t *testing.T) {
			d := newDesk(t)
			c.harm(d)
			_, err := d.audit(nil)
			if !fault.Is(err, fault.HistoryDamaged) || !strings.HasPrefix(err.Error(), c.where) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v\nwant %s…%s", err, c.where, c.says)
			}
		})
	}
}

// cut takes the newest entry away and patches the row, so that nothing but a
// checkpoint can tell.
func cut(d *desk) {
	d.records = d.records[:10]
	a := &d.agents[1]
	a.Head, a.HeadHash, a.Status, a.EndedAt, a.EndReason = 10, d.records[9].Hash, agent.Running, time.Time{}, ""
}

func TestACheckpointFindsWhatTheWorkspaceAloneCannot(t *testing.T) {
	d := newDesk(t)
	heads := headsOf(d.agents)
	cut(d)
	if _, err := d.audit(nil); err != nil {
		t.Fatalf("the cut is not consistent: %v", err)
	}
	_, err := d.audit(heads)
	if !fault.Is(err, fault.HistoryDamaged) || !strings.HasPrefix(err.Error(), place1(11)+"is in the checkpoint") {
		t.Errorf("a cut tail: %v", err)
	}

	d = newDesk(t) // other salts: every hash is another
	_, err = d.audit(heads)
	if !fault.Is(err, fault.HistoryDamaged) || !strings.Contains(err.Error(), "differs from the checkpoint") {
		t.Errorf("a rewritten history: %v", err)
	}

	d = newDesk(t)
	heads = headsOf(d.agents)
	d.write(t, 0, 12, history.Draft{Kind: history.Note})
	if r, err := d.audit(heads); err != nil || r.Heads != 2 {
		t.Errorf("a history that grew since: %+v, %v", r, err)
	}
}

func TestForksThatCannotBeCarriedOutAreRefused(t *testing.T) {
	child := func(name string) Child { return Child{ID: id.NewAgent(), Name: name} }
	long := strings.Repeat("x", 100_000)
	verbOnly := []history.Draft{{Kind: history.Killed}}
	for name, c := range map[string]struct {
		fork Fork
		want fault.Code // empty: it is accepted
	}{
		"one child":                {Fork{Children: []Child{child("ada")}}, ""},
		"two names":                {Fork{Children: []Child{child("ada"), child("bob")}}, ""},
		"two without a name":       {Fork{Children: []Child{child(""), child("")}}, ""},
		"no children":              {Fork{}, fault.Usage},
		"two with one name":        {Fork{Children: []Child{child("ada"), child("bob"), child("ada")}}, fault.Conflict},
		"a bad name":               {Fork{Children: []Child{child("a/b")}}, fault.InvalidName},
		"a bad id":                 {Fork{Children: []Child{{ID: "no"}}}, fault.InvalidID},
		"an entry of a verb":       {Fork{Children: []Child{child("ada")}, Entries: verbOnly}, fault.InvalidKind},
		"a child's entry":          {Fork{Children: []Child{{ID: id.NewAgent(), Entries: verbOnly}}}, fault.InvalidKind},
		"a run that is too long":   {Fork{Run: long, Children: []Child{child("ada")}}, fault.InvalidText},
		"an owner too long":        {Fork{Holder: long, Children: []Child{child("ada")}}, fault.InvalidText},
		"a model that is too long": {Fork{Children: []Child{{ID: id.NewAgent(), Model: long}}}, fault.InvalidText},
		"a folder too long":        {Fork{Children: []Child{child("bob"), {ID: id.NewAgent(), Cwd: long}}}, fault.InvalidText},
	} {
		err := c.fork.Check()
		if c.want == "" && err != nil || c.want != "" && !fault.Is(err, c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestAnAccountIsCheckedAgainstItsHistory(t *testing.T) {
	five, none := int64(5), int64(0)
	account := func(t *testing.T) *desk {
		d := newDesk(t)
		d.write(t, 0, 12, history.Draft{Kind: history.Usage, Meta: history.Meta{Call: &history.Call{
			Input: 1, Output: 20, CacheRead: 300, CacheWrite: 4000, Reasoning: 7, Cost: 9}}})
		d.write(t, 0, 13, history.Draft{Kind: history.Command, Meta: history.Meta{Command: BudgetCommand, Budget: &history.Budget{Cost: &none}}})
		d.write(t, 0, 14, history.Draft{Kind: history.Command, Meta: history.Meta{Command: BudgetCommand, Budget: &history.Budget{Tokens: &five}}})
		d.write(t, 0, 15, history.Draft{Kind: history.Usage, Meta: history.Meta{Call: &history.Call{Output: 1}}})
		return d
	}
	d := account(t)
	want := agent.Agent{Spent: agent.Spending{Tokens: 4322, Cost: 9}, Budget: agent.Budget{Tokens: agent.AtMost(5)}}
	if a := d.agents[0]; a.Spent != want.Spent || a.Budget != want.Budget {
		t.Errorf("%+v %+v, want %+v %+v", a.Spent, a.Budget, want.Spent, want.Budget)
	}
	testkit.Must(d.audit(nil))(t)
	for what, harm := range map[string]func(*agent.Agent){
		"fewer tokens":      func(a *agent.Agent) { a.Spent.Tokens-- },
		"less money":        func(a *agent.Agent) { a.Spent.Cost = 0 },
		"a higher limit":    func(a *agent.Agent) { a.Budget.Tokens = agent.AtMost(6) },
		"no limit":          func(a *agent.Agent) { a.Budget = agent.Budget{} },
		"an earlier budget": func(a *agent.Agent) { a.Budget = agent.Budget{Cost: agent.AtMost(0)} },
	} {
		d := account(t)
		harm(&d.agents[0])
		if _, err := d.audit(nil); !fault.Is(err, fault.HistoryDamaged) || !strings.HasPrefix(err.Error(), place0(15)) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
