package telemetry

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// MaxTree is how many records a tree may have.
	MaxTree = 100_000
	// MaxLevels is how deep a tree is drawn; what is deeper hangs on the last level.
	MaxLevels = 200
)

// BuildTree makes the tree of a record out of the records below it, in any order. Those that
// do not hang on it are left out, and a circle of parents is cut where it comes back.
// Children stand in the order of their start.
func BuildTree(root Record, below []Record) Branch {
	order := make([]int, len(below)) // records are large to move
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &below[i], &below[j]
		return cmp.Or(a.StartTime.Compare(b.StartTime), cmp.Compare(a.RunID, b.RunID))
	})
	of := map[string][]int{} // parent's run_id to indexes
	for _, i := range order {
		if below[i].RunID != root.RunID {
			of[below[i].ParentRunID] = append(of[below[i].ParentRunID], i)
		}
	}
	type node struct {
		record *Record
		host   int // whose child it is drawn as; an index of nodes
		level  int
		kids   []Branch
		count  int
	}
	nodes := make([]node, 1, len(below)+1)
	nodes[0] = node{record: &root, host: -1}
	for at := 0; at < len(nodes); at++ {
		run := nodes[at].record.RunID
		host := at
		if nodes[at].level >= MaxLevels-1 {
			host = nodes[at].host
		}
		for _, i := range of[run] {
			nodes[host].count++
			nodes = append(nodes, node{record: &below[i], host: host, level: nodes[host].level + 1})
		}
		delete(of, run) // nobody comes twice
	}
	// From the leaves up: a host stands before those that it hosts.
	var out Branch
	var c counter
	for at := len(nodes) - 1; at >= 0; at-- {
		n := &nodes[at]
		slices.Reverse(n.kids)
		b := Branch{Record: *n.record, Sums: c.sums(n.record), Children: n.kids}
		if b.Children == nil {
			b.Children = []Branch{}
		}
		for i := range n.kids {
			b.Sums.Add(n.kids[i].Sums)
		}
		if n.host < 0 {
			out = b
			break
		}
		host := &nodes[n.host]
		if host.kids == nil {
			host.kids = make([]Branch, 0, host.count)
		}
		host.kids = append(host.kids, b)
	}
	return out
}

// SumsOf are the sums of one record. Tokens, cost and time are counted where a model
// was called, so that a launch that repeats the sum of its calls does not double it.
func SumsOf(r Record) Sums { return new(counter).sums(&r) }

// counter reads the metrics of many records with one decoder.
type counter struct {
	dec  jsontext.Decoder
	text bytes.Buffer
}

func (c *counter) sums(r *Record) Sums {
	s := Sums{Records: 1}
	if r.JobType != LLMCall {
		return s
	}
	s.Calls = 1
	if r.DurationMS != nil {
		s.DurationMS = *r.DurationMS
	}
	total := false
	dec := &c.dec
	c.text = *bytes.NewBuffer(r.Metrics)
	dec.Reset(&c.text)
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
		return s
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return s
		}
		var to *int64
		switch name.String() {
		case "input_tokens":
			to = &s.InputTokens
		case "output_tokens":
			to = &s.OutputTokens
		case "total_tokens":
			to = &s.TotalTokens
		case "api_cost_usd":
		default:
			dec.SkipValue()
			continue
		}
		if dec.PeekKind() != '0' {
			dec.SkipValue()
			continue
		}
		value, err := dec.ReadToken()
		if err != nil {
			return s
		}
		f, err := value.Float()
		switch {
		case err != nil || f < 0: // says nothing
		case to == nil:
			s.CostUSD = f
		default:
			*to = int64(min(f, 1<<53))
			total = total || to == &s.TotalTokens
		}
	}
	if !total {
		s.TotalTokens = s.InputTokens + s.OutputTokens
	}
	return s
}

// Add adds other sums to these. What does not fit stays at the largest number.
func (s *Sums) Add(o Sums) {
	for _, pair := range []struct {
		to   *int64
		more int64
	}{
		{&s.Records, o.Records}, {&s.Calls, o.Calls}, {&s.InputTokens, o.InputTokens},
		{&s.OutputTokens, o.OutputTokens}, {&s.TotalTokens, o.TotalTokens}, {&s.DurationMS, o.DurationMS},
	} {
		if *pair.to += pair.more; *pair.to < 0 {
			*pair.to = math.MaxInt64
		}
	}
	s.CostUSD = min(s.CostUSD+o.CostUSD, math.MaxFloat64)
}

// TraceID is the trace that a record's context names, if it can be looked for.
func (r Record) TraceID() string {
	dec := jsontext.NewDecoder(bytes.NewBuffer(r.Context))
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
		return ""
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return ""
		}
		if name.String() != "trace_id" {
			if dec.SkipValue() != nil {
				return ""
			}
			continue
		}
		value, err := dec.ReadToken()
		if err != nil || value.Kind() != '"' {
			return ""
		}
		var id string
		if readFilterText(&id, value.String()) != nil {
			return ""
		}
		return id
	}
	return ""
}
