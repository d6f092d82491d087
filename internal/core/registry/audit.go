package registry

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
)

// Auditor checks a whole workspace in one pass: every link, commitment, blob,
// letter and first entry, and every field of the registry that the histories
// vouch for. It stops at the first damage and says where it is.
//
// Feed it all agents, then all records in ascending order of id, then all
// letters and blobs, then call Report. Its memory grows with agents and blobs,
// not with messages.
type Auditor struct {
	agents   map[id.Agent]*audited
	order    []id.Agent
	forks    map[id.Message]forkPoint // filled as they pass
	redacted map[id.Message]id.Agent  // content gone, no redact entry seen yet
	blobs    map[chain.Hash]position  // named by an entry, not seen yet
	refs     map[blobRef]position     // which entry names which blob, not seen in the index yet
	stray    error                    // a bad blob that no entry names
	children map[id.Agent]position    // named by their parents, not met yet
	mailed   map[int64]letterProof
	heads    map[id.Message]Head // of a checkpoint, not met yet
	last     id.Message
	report   Report
}

type audited struct {
	agent.Agent
	prev   chain.Hash
	head   id.Message
	seq    int64
	name   string
	ended  time.Time
	reason string
	dead   bool
	bill   agent.Agent // only what Account keeps
	// total counts the context as far as that can be done in passing: a rewind
	// or compact needs the store's help, until the next clear.
	total    int64
	reshaped bool
	size     func() (int64, error)
}

// place is an entry and whose it is.
type position struct {
	agent   id.Agent
	message id.Message
}

// forkPoint describes what a child takes over from its parent.
type forkPoint struct {
	hash     chain.Hash
	total    int64
	reshaped bool
}

type blobRef struct {
	message id.Message
	hash    chain.Hash
}

type letterProof struct {
	from id.Agent
	at   id.Message
	to   string
	body string
}

// Report counts what was checked.
type Report struct {
	Agents   int `json:"agents"`
	Messages int `json:"messages"`
	Blobs    int `json:"blobs"`
	Letters  int `json:"letters"`
	Redacted int `json:"redacted"`
	Heads    int `json:"checkpoint_heads"` // heads of the checkpoint that were met
}

// NewAuditor makes one; heads, if any, are those of a checkpoint kept
// elsewhere, each of which must be met.
func NewAuditor(heads []Head) *Auditor {
	u := &Auditor{
		agents: map[id.Agent]*audited{}, forks: map[id.Message]forkPoint{}, redacted: map[id.Message]id.Agent{},
		blobs: map[chain.Hash]position{}, refs: map[blobRef]position{}, mailed: map[int64]letterProof{}, heads: map[id.Message]Head{},
		children: map[id.Agent]position{},
	}
	for _, h := range heads {
		u.heads[h.Message] = h
	}
	return u
}

func damagedHistory(a id.Agent, m id.Message, format string, args ...any) error {
	return fault.New(fault.HistoryDamaged, "agent %s message %d: "+format, append([]any{a, m}, args...)...).
		WithHint("the stored record was changed from outside; compare with a backup")
}

// Agent takes one row of the registry. size counts the messages of its context
// as the store would; it is asked only where entries in passing do not tell.
func (u *Auditor) Agent(a agent.Agent, size func() (int64, error)) error {
	if a.IsZero() && u.report.Agents > 0 {
		return damagedHistory(a.ID, 0, "a second agent without parent")
	}
	if _, twice := u.agents[a.ID]; twice {
		return damagedHistory(a.ID, 0, "appears twice in the registry")
	}
	u.agents[a.ID] = &audited{Agent: a, size: size}
	u.order = append(u.order, a.ID)
	if !a.IsZero() {
		u.forks[a.ForkMessage] = forkPoint{}
	}
	u.report.Agents++
	return nil
}

// Record takes one entry.
func (u *Auditor) Record(r history.Record) error {
	a, known := u.agents[r.Agent]
	if !known {
		return damagedHistory(r.Agent, r.ID, "its agent is not in the registry")
	}
	if r.ID <= u.last {
		return damagedHistory(r.Agent, r.ID, "is after message %d", u.last)
	}
	u.last = r.ID
	if a.head == 0 {
		if err := u.genesis(a, r.Entry); err != nil {
			return err
		}
	}
	link := chain.Link{ID: int64(r.ID), CreatedAt: r.CreatedAt.UnixMicro(), Agent: string(r.Agent), Kind: string(r.Kind),
		Meta: r.Meta, Commitment: r.Commitment, Prev: a.prev}
	if link.Hash() != r.Hash {
		return damagedHistory(r.Agent, r.ID, "its hash does not match its content and the entry before it")
	}
	switch {
	case r.Kind.Reaches():
		a.seq++
		a.total++
	case r.Kind == history.Clear:
		a.total, a.reshaped = 0, false
	case r.Kind == history.Rewind || r.Kind == history.Compact:
		a.reshaped = true
	}
	if r.Seq != a.seq {
		return damagedHistory(r.Agent, r.ID, "is counted as %d, but is number %d", r.Seq, a.seq)
	}
	if err := u.content(r); err != nil {
		return err
	}
	a.prev, a.head = r.Hash, r.ID
	if _, needed := u.forks[r.ID]; needed {
		u.forks[r.ID] = forkPoint{r.Hash, a.total, a.reshaped}
	}
	if h, ok := u.heads[r.ID]; ok && h.Agent == r.Agent {
		if h.Hash != r.Hash {
			return damagedHistory(r.Agent, r.ID, "differs from the checkpoint")
		}
		delete(u.heads, r.ID)
		u.report.Heads++
	}
	u.report.Messages++
	return u.meaning(a, r.Entry)
}

// genesis compares the first entry with the row that it binds.
func (u *Auditor) genesis(a *audited, e history.Entry) error {
	m, err := e.Decode()
	if err != nil {
		return err
	}
	want := history.Meta{}
	if !a.IsZero() {
		want = history.Meta{Parent: a.Parent, ForkMessage: a.ForkMessage.String()}
	}
	switch {
	case e.Kind != history.Fork || m.Name == nil:
		return damagedHistory(e.Agent, e.ID, "a history must begin with its fork, not with %s", e.Kind)
	case m.Parent != want.Parent || m.ForkMessage != want.ForkMessage:
		return damagedHistory(e.Agent, e.ID, "was forked from %q at %q, but the registry says %q at %q",
			m.Parent, m.ForkMessage, want.Parent, want.ForkMessage)
	case m.Cwd != a.Cwd:
		return damagedHistory(e.Agent, e.ID, "its folder differs from the registry")
	case e.CreatedAt.UnixMicro() != a.CreatedAt.UnixMicro():
		return damagedHistory(e.Agent, e.ID, "was made at %s, but the registry says %s", e.CreatedAt, a.CreatedAt)
	case e.ID != a.Genesis:
		return damagedHistory(e.Agent, e.ID, "is its first entry, but the registry says %d", a.Genesis)
	}
	if a.IsZero() {
		if a.ForkMessage != 0 {
			return damagedHistory(e.Agent, e.ID, "is the root, but the registry says that it was forked at %d", a.ForkMessage)
		}
		return nil
	}
	if born, named := u.children[a.ID]; !named || born.agent != a.Parent {
		return damagedHistory(e.Agent, e.ID, "its parent %s has no record of its fork", a.Parent)
	}
	delete(u.children, a.ID)
	parent, known := u.agents[a.Parent]
	if !known {
		return damagedHistory(e.Agent, e.ID, "its parent %s is not in the registry", a.Parent)
	}
	if a.Depth != parent.Depth+1 {
		return damagedHistory(e.Agent, e.ID, "is %d generations deep under a parent at %d", a.Depth, parent.Depth)
	}
	at := u.forks[a.ForkMessage]
	a.prev, a.total, a.reshaped = at.hash, at.total, at.reshaped
	return nil
}

func (u *Auditor) content(r history.Record) error {
	if r.Redacted() {
		u.redacted[r.ID] = r.Agent
		u.report.Redacted++
		return nil
	}
	if r.Content == nil || len(r.Salt) != len(chain.Salt{}) || chain.Commit(chain.Salt(r.Salt), r.Content) != r.Commitment {
		return damagedHistory(r.Agent, r.ID, "its content does not fit its commitment")
	}
	if !bytes.Contains(r.Content, []byte(`"blob"`)) {
		return nil
	}
	parts, err := r.Parts()
	if err != nil {
		return err
	}
	for _, p := range parts {
		if p.Blob != nil {
			u.refs[blobRef{r.ID, *p.Blob}] = position{r.Agent, r.ID}
			if _, known := u.blobs[*p.Blob]; !known {
				u.blobs[*p.Blob] = position{r.Agent, r.ID}
			}
		}
	}
	return nil
}

// meaning keeps what later rows must agree with.
func (u *Auditor) meaning(a *audited, e history.Entry) error {
	switch e.Kind {
	case history.Fork, history.Command, history.Killed, history.Redact, history.Mail, history.Usage:
	default:
		return nil
	}
	m, err := e.Decode()
	if err != nil {
		return err
	}
	if m.Name != nil {
		a.name = *m.Name
	}
	Account(&a.bill, e.Kind, m)
	switch e.Kind {
	case history.Fork:
		for _, child := range m.Children {
			u.children[child] = position{e.Agent, e.ID}
		}
	case history.Killed:
		a.dead, a.ended, a.reason = true, e.CreatedAt, m.Reason
	case history.Redact:
		if target, err := id.ParseMessage(m.Target); err == nil && u.redacted[target] == e.Agent {
			delete(u.redacted, target)
		}
	case history.Mail:
		if n, err := id.ParseMessage(m.LetterID); err == nil {
			u.mailed[int64(n)] = letterProof{e.Agent, e.ID, m.To, m.Body}
		}
	}
	return nil
}

// Letter takes one letter with its salt.
func (u *Auditor) Letter(l mail.Letter, salt []byte) error {
	u.report.Letters++
	if !l.From.Keeps() {
		return nil // neither the user nor the kernel keeps a history
	}
	proof, ok := u.mailed[l.ID]
	if !ok {
		return damagedHistory(l.From, 0, "mail %d is in no history of its sender", l.ID)
	}
	delete(u.mailed, l.ID)
	if proof.from != l.From || proof.to != string(l.To) {
		return damagedHistory(proof.from, proof.at, "mail %d went from %s to %s, not from %s to %s",
			l.ID, proof.from, proof.to, l.From, l.To)
	}
	if len(salt) != len(chain.Salt{}) || chain.Commit(chain.Salt(salt), []byte(l.Body)).String() != proof.body {
		return damagedHistory(proof.from, proof.at, "mail %d does not fit its commitment", l.ID)
	}
	return nil
}

// Blob takes one blob, unpacked; nil if it could not be.
func (u *Auditor) Blob(h chain.Hash, data []byte) error {
	u.report.Blobs++
	owner, named := u.blobs[h]
	switch whole := chain.Sum(data) == h; {
	case !whole && named:
		return damagedHistory(owner.agent, owner.message, "blob %s does not hash to its name", h)
	case !whole:
		// If it lost its name, a caller that misses it says more.
		u.stray = fault.New(fault.HistoryDamaged, "blob %s, which no message names, does not hash to its name", h).
			WithHint("`ramet gc` drops it")
	}
	delete(u.blobs, h)
	return nil
}

// Ref takes one row of the index that says which entry names which blob.
func (u *Auditor) Ref(m id.Message, h chain.Hash) { delete(u.refs, blobRef{m, h}) }

// Report ends the audit: what should have come and did not is damage too.
func (u *Auditor) Report() (Report, error) {
	if len(u.order) == 0 {
		return u.report, fault.New(fault.HistoryDamaged, "agent 0 is missing").WithHint("compare with a backup")
	}
	for _, name := range u.order {
		if err := u.row(u.agents[name]); err != nil {
			return u.report, err
		}
	}
	for m, a := range u.redacted {
		return u.report, damagedHistory(a, m, "its content is gone, and no entry says that it was redacted")
	}
	for ref, p := range u.refs {
		return u.report, damagedHistory(p.agent, p.message, "blob %s is not known to be named by it: gc would drop it", ref.hash)
	}
	for h, m := range u.blobs {
		return u.report, damagedHistory(m.agent, m.message, "blob %s is missing", h)
	}
	if u.stray != nil {
		return u.report, u.stray
	}
	for child, p := range u.children {
		return u.report, damagedHistory(p.agent, p.message, "its child %s is missing", child)
	}
	for l, p := range u.mailed {
		return u.report, damagedHistory(p.from, p.at, "mail %d is missing", l)
	}
	for _, h := range u.heads {
		return u.report, damagedHistory(h.Agent, h.Message, "is in the checkpoint and is missing here: the history was cut or rewritten")
	}
	return u.report, nil
}

func (u *Auditor) row(a *audited) error {
	switch {
	case a.head == 0:
		return damagedHistory(a.ID, 0, "has no first entry")
	case a.head != a.Head || a.prev != a.HeadHash:
		return damagedHistory(a.ID, a.head, "is its newest entry, but the registry says %d", a.Head)
	case a.name != a.Name:
		return damagedHistory(a.ID, a.head, "is called %q in its history and %q in the registry", a.name, a.Name)
	case a.dead != (a.Status == agent.Dead) || a.Status != agent.Dead && a.Status != agent.Running:
		return damagedHistory(a.ID, a.head, "is %q in the registry, against its history", a.Status)
	case a.dead && (a.ended.UnixMicro() != a.EndedAt.UnixMicro() || a.reason != a.EndReason):
		return damagedHistory(a.ID, a.head, "ended at %s (%s), but the registry says %s (%s)", a.ended, a.reason, a.EndedAt, a.EndReason)
	case !a.dead && (!a.EndedAt.IsZero() || a.EndReason != ""):
		return damagedHistory(a.ID, a.head, "has an end in the registry and none in its history")
	case a.seq != a.Own:
		return damagedHistory(a.ID, a.head, "has %d own messages, but the registry says %d", a.seq, a.Own)
	case a.bill.Spent != a.Spent:
		return damagedHistory(a.ID, a.head, "has spent %d tokens and %d nano-dollars, but the registry says %d and %d",
			a.bill.Spent.Tokens, a.bill.Spent.Cost, a.Spent.Tokens, a.Spent.Cost)
	case a.bill.Provider != a.Provider || a.bill.Model != a.Model:
		return damagedHistory(a.ID, a.head, "uses %s/%s in its history and %s/%s in the registry", a.bill.Provider, a.bill.Model, a.Provider, a.Model)
	case a.bill.Budget != a.Budget:
		return damagedHistory(a.ID, a.head, "has another budget in its history than in the registry")
	case a.IsZero() && a.Depth != 0:
		return damagedHistory(a.ID, a.head, "is the root, but is %d generations deep", a.Depth)
	}
	n := a.total
	if a.reshaped {
		var err error
		if n, err = a.size(); err != nil {
			return err
		}
	}
	if n != a.Total {
		return damagedHistory(a.ID, a.head, "has %d messages in its context, but the registry says %d", n, a.Total)
	}
	return nil
}

type watcher struct{}

// Watching lets an audit tell how many more entries it checked, from time to time.
func Watching(ctx context.Context, checked func(more int)) context.Context {
	return context.WithValue(ctx, watcher{}, checked)
}

// Watcher returns the function given to Watching, or one that does nothing.
func Watcher(ctx context.Context) func(more int) {
	if told, ok := ctx.Value(watcher{}).(func(int)); ok {
		return told
	}
	return func(int) {}
}

// A checkpoint is the state of all histories at one moment, to be kept
// elsewhere: a caller that has it can later find cut tails and rewritten entries.
//
// Its text, which is signed as a note, is four lines:
//
//	ramet/1 workspace
//	UUID of agent 0
//	number of heads
//	hex SHA-256 of the heads block
//
// The heads block follows the signed note: one line `UUID ID HASH` for each
// agent, its newest entry, sorted by uuid, each line ended by a line feed.

// Head is the newest entry of one history.
type Head struct {
	Agent   id.Agent
	Message id.Message
	Hash    chain.Hash
}

const checkpointOrigin = chain.Format + " workspace"

// SortHeads puts heads into the order of a checkpoint.
func SortHeads(heads []Head) {
	slices.SortFunc(heads, func(a, b Head) int { return strings.Compare(string(a.Agent), string(b.Agent)) })
}

// FormatCheckpoint gives the text to sign and the heads block.
func FormatCheckpoint(zero id.Agent, heads []Head) (text, block string) {
	const line = 22 + 1 + 20 + 1 + 64 + 1 // at most
	b := make([]byte, 0, line*len(heads))
	for _, h := range heads {
		b = append(append(b, h.Agent...), ' ')
		b = append(strconv.AppendInt(b, int64(h.Message), 10), ' ')
		b = append(append(b, h.Hash.String()...), '\n')
	}
	block = string(b)
	return fmt.Sprintf("%s\n%s\n%d\n%s\n", checkpointOrigin, zero, len(heads), chain.Sum([]byte(block))), block
}

// ParseCheckpoint reads what FormatCheckpoint gave, after the signature of the
// text was checked.
func ParseCheckpoint(text, block string) (zero id.Agent, heads []Head, err error) {
	for line := range strings.Lines(block) {
		var h Head
		var hash string
		if _, err := fmt.Sscanf(line, "%s %d %s\n", &h.Agent, &h.Message, &hash); err != nil {
			return "", nil, badCheckpoint("head %q is not readable", strings.TrimSpace(line))
		}
		if h.Hash, err = chain.ParseHash(hash); err != nil {
			return "", nil, badCheckpoint("%v", err)
		}
		heads = append(heads, h)
	}
	lines := strings.Split(text, "\n")
	if len(lines) < 2 || lines[0] != checkpointOrigin {
		return "", nil, badCheckpoint("it does not begin with %q", checkpointOrigin)
	}
	zero = id.Agent(lines[1])
	if wantText, wantBlock := FormatCheckpoint(zero, heads); wantText != text || wantBlock != block {
		return "", nil, badCheckpoint("its heads are not the ones that were signed")
	}
	return zero, heads, nil
}

func badCheckpoint(format string, args ...any) error {
	return fault.New(fault.HistoryDamaged, "the checkpoint is damaged: "+format, args...).
		WithHint("use the file exactly as `ramet checkpoint` printed it")
}
