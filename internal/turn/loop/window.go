package loop

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/model/catalog"
	"ramet/internal/model/decorate"
	"ramet/internal/model/llm"
)

// silentCut is by how many bytes a request must grow, while what was counted does not, until
// it is noticed that the server cuts it.
const silentCut = 8 << 10

// counted takes what the vendor counted of a call; sent is the bytes of the request. It says
// how much the server reads at most where that was less than was sent: it cuts what is too
// long and does not say so.
func (r *turn) counted(u llm.Usage, sent int64) (cutAt int64) {
	m := &r.meter
	in := u.Input + u.CacheRead + u.CacheWrite
	least, most := int64(float64(sent)*leastRate), int64(float64(sent)*mostRate)+1000
	grown := sent - m.sent
	switch {
	case in == 0:
		m.tokens = 0
		return 0
	case !r.Model.Known && in > 256 && m.sent > 0 && grown > silentCut && in <= m.in+grown/64:
		cutAt = max(in, m.in)
		m.tokens, m.in, m.sent = 0, 0, 0
		return cutAt
	case in < least || in > most: // whatever that is, it is no count of this request
		m.tokens = 0
		return 0
	}
	m.tokens, m.size = u.Total(), r.c.state.size
	if m.sent > 0 && in < m.in+int64(float64(grown)*leastRate) {
		return 0 // perhaps it was cut: the next will tell
	}
	m.in, m.sent = in, sent
	if sent > 4<<10 {
		m.rate = min(max(float64(in)/float64(sent), leastRate), 1)
	}
	return 0
}

// windowWords match a model's context size in a vendor's refusal of a request that was too long.
var windowWords = []func() *regexp.Regexp{
	text.Regexp(`[0-9](?: tokens?)? > ([0-9][0-9,]{2,9})`),
	text.Regexp(`(?i)(?:maximum context length is|context (?:length|window|size|limit)|maximum (?:number of )?tokens|n_ctx)[^0-9.]{0,24}([0-9][0-9,]{2,9})`),
}

// windowIn returns the window that a refusal names.
func windowIn(said string) (int64, bool) {
	for _, words := range windowWords {
		if found := words().FindStringSubmatch(said); found != nil {
			n, err := strconv.ParseInt(strings.ReplaceAll(found[1], ",", ""), 10, 64)
			return n, err == nil && n >= 256
		}
	}
	return 0, false
}

// tooLong learns from a request that was refused because it was too long, with so much of an
// answer to follow. It reports whether the same conversation may fit with a shorter one.
func (r *turn) tooLong(why error, limit int64) bool {
	sent := r.tokens()
	named, ok := windowIn(why.Error())
	window := r.window()
	switch {
	case ok && (window == 0 || named < window):
		r.Learnt.learn(named)
		r.narrow, window = named, named
	case !ok && limit > answerLeast && limit > sent/4:
		r.brief = max(limit/4, answerLeast)
		return true
	case !ok && (window == 0 || window > sent):
		r.narrow = sent * 9 / 10
		window = r.narrow
	}
	if sent < window && sent+limit > window && limit > r.longest() {
		return !r.full()
	}
	// Whatever was estimated, it was more.
	if sent < window {
		r.meter.rate = min(float64(window)/float64(max(1, r.fixed+r.c.state.size)), mostRate)
	}
	r.meter.tokens, r.meter.in, r.meter.sent = 0, 0, 0
	return false
}

// limitWords match a vendor's name for the limit of an answer, used when it is more than the
// model may write.
var limitWords = text.Regexp(`(?i)max_?(completion_|output_?)?tokens|completion tokens|output tokens|maximum tokens`)

// numbers match the numbers in a refusal.
var numbers = text.Regexp(`[0-9][0-9,]{2,9}`)

// tooMuch learns from a request that was refused because more might have been answered than the model may
// write: tables can be wrong, and a model in none has the limits of its neighbour. It reports whether the same
// request may be taken with the limit that the refusal names.
func (r *turn) tooMuch(why error, limit int64) bool {
	said := why.Error()
	if !fault.Is(why, fault.ProviderBadRequest) || !limitWords().MatchString(said) {
		return false
	}
	most := int64(0)
	for _, word := range numbers().FindAllString(said, -1) {
		n, err := strconv.ParseInt(strings.ReplaceAll(word, ",", ""), 10, 64)
		if strings.Contains(said, word+" (exclusive)") {
			n--
		}
		if err == nil && n < limit && n > most {
			most = n
		}
	}
	if most < 256 {
		return false
	}
	r.brief = most
	r.emit(Event{Type: Note, Text: fmt.Sprintf("%s accepts no limit of %d tokens for an answer; %d is used", r.Ref, limit, most)})
	return true
}

// Window records the size of a model's context as learnt from its refusals, which no table has: how much it
// reads. The turns of a kernel that ask the same model share one; the zero Window knows
// nothing.
type Window struct {
	mu   sync.Mutex
	most int64 // tokens; 0: nothing was learnt
}

func (w *Window) get() int64 {
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most
}

// learn takes a window, if it is narrower than what is known.
func (w *Window) learn(tokens int64) {
	if w == nil || tokens <= 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.most == 0 || tokens < w.most {
		w.most = tokens
	}
}

// meter relates tokens to bytes. Vendors count in their own way, and their
// counts come with each answer; between two of them bytes are counted.
type meter struct {
	tokens int64   // of the last call; 0: not counted
	size   int64   // bytes of the conversation then
	in     int64   // tokens that were read, of them
	sent   int64   // bytes that were sent, the fixed part included
	rate   float64 // tokens a byte; 0: not known
}

func (m *meter) tokensOf(bytes int64) int64 {
	rate := cmp.Or(m.rate, usualRate)
	return int64(float64(bytes) * rate)
}

func (m *meter) bytesOf(tokens int64) int64 {
	rate := cmp.Or(m.rate, usualRate)
	return int64(float64(tokens) / rate)
}

// Tokens a byte: usually, and within what a count is believed.
const (
	usualRate = 2.0 / 7
	leastRate = 1.0 / 12
	mostRate  = 2.0
)

const (
	// longAnswer is the limit of an answer where it is unknown how much the model may
	// write nor how much it may read.
	longAnswer = 32_000
	// answerLeast is the least that an answer is given room for.
	answerLeast = 1024
)

// longest returns how long the next answer may be at most: the model's limit, or what
// its window leaves where that is less. It is always sent, so that what is
// recorded of a call is what was asked.
func (r *turn) longest() int64 {
	most := r.Model.Output
	if window := r.window(); window > 0 {
		if most <= 0 {
			most = window / 2
		}
		// What was counted is an estimate, which some servers hold us to: there is a margin.
		filled := r.tokens()
		left := window - filled - filled/32 - window/64
		most = min(most, max(left, window/16))
	}
	if most <= 0 {
		most = longAnswer
	}
	if r.brief > 0 {
		most = min(most, r.brief)
	}
	return most
}

// fewest is the lowest limit of an answer.
const fewest = 4096

// mostSearches limits how often a model may search the web in one call.
const mostSearches = 16

// allowed returns the limit of the next answer in tokens. What the call may come to is set aside
// until what it came to is written (spent).
func (r *turn) allowed(ctx context.Context) (int64, error) {
	longest := r.longest()
	price, priced := r.price("")
	w := Worst{Model: r.Ref, Input: r.atMost(), Output: longest, Least: min(longest, fewest), Price: price, Priced: priced}
	if r.Search {
		w.Search = mostSearches
	}
	got, err := r.Budget.Reserve(ctx, w)
	if err != nil {
		return 0, err
	}
	r.bound, r.settle, r.worst = got.Bound, got.Settle, w.Input
	return max(1, got.Output), nil
}

// uncounted returns a call with what it can have taken at most, where a budget binds and the vendor did
// not say what it took, or not all of it: else an agent that is never told could spend forever. No token
// has less than a byte; came is how many of the answer did, whole says that it came to its end.
func (r *turn) uncounted(c decorate.RecordedCall, came int64, whole bool) decorate.RecordedCall {
	u := &c.Usage
	told := u.Total() > 0
	if !r.bound || whole && told || !whole && c.First == 0 { // what was refused took nothing
		return c
	}
	if u.Input+u.CacheRead+u.CacheWrite == 0 {
		u.Input = r.worst
	}
	u.Output = max(u.Output, came)
	if price, known := r.price(""); known {
		c.Cost = price.Cost(*u)
	}
	if whole && !r.silent {
		r.silent = true
		r.emit(Event{Type: Note, Text: fmt.Sprintf("the server of %s doesn't report the tokens of its answers: they count against the budget at their maximum, a token for each byte", r.Ref)})
	}
	return c
}

// atMost returns how much the next request can be: no token has less than a byte; and what the
// vendor counted before is known.
func (r *turn) atMost() int64 {
	bytes := r.fixed + r.c.state.size
	if m := &r.meter; m.tokens > 0 {
		return min(bytes, m.tokens+m.tokens/8+max(0, r.c.state.size-m.size)) + aside
	}
	return bytes + aside
}

// aside estimates the tokens that vendors add to a request: the words around tools and roles.
const aside = 1024

// price returns what is known of the price: a model without one costs nothing where its
// vendor is this machine, and an unknown amount elsewhere.
func (r *turn) price(string) (llm.Price, bool) {
	if r.Model.Price != (llm.Price{}) {
		return r.Model.Price, true
	}
	return llm.Price{}, r.Ref.Vendor == "offline" || r.Ref.Vendor == "script" || catalog.IsLocal(r.Ref.Vendor)
}

// full reports whether room should be made.
func (r *turn) full() bool {
	window := r.window()
	return window > 0 && r.tokens() > window/100*int64(r.Limits.Fill)
}

// spent counts and tells what a call cost, which was just written.
func (r *turn) spent(c decorate.RecordedCall) {
	if r.settle != nil {
		r.settle(context.Background()) // although the caller may be gone
		r.settle = nil
	}
	r.out.Usage = r.out.Usage.Plus(c.Usage)
	r.out.Cost += c.Cost
	r.emit(Event{Type: Spent, Usage: c.Usage, Cost: c.Cost})
}

// window returns how much the model reads and writes, in tokens; 0 if unknown.
func (r *turn) window() int64 {
	out := r.Model.Context
	for _, n := range []int64{r.Learnt.get(), r.narrow} {
		if n > 0 && (out == 0 || n < out) {
			out = n
		}
	}
	return out
}

// tokens returns how much the next request would be, about.
func (r *turn) tokens() int64 {
	m := &r.meter
	if m.tokens > 0 {
		return m.tokens + m.tokensOf(max(0, r.c.state.size-m.size))
	}
	return m.tokensOf(r.fixed + r.c.state.size)
}
