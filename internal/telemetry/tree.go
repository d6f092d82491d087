package telemetry

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
)

const (
	// MaxTree limits the records of a tree.
	MaxTree = 100_000
	// MaxLevels limits the levels of a tree; deeper records are children of the last level.
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
		delete(of, run) // a record appears once
	}
	// From the leaves up: a host stands before those that it hosts.
	var out Branch
	for at := len(nodes) - 1; at >= 0; at-- {
		n := &nodes[at]
		slices.Reverse(n.kids)
		b := Branch{Record: *n.record, Sums: SumsOf(*n.record), Children: n.kids}
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

// SumsOf returns the sums of one record. Tokens, cost and time are counted where a model
// was called, so that a launch that repeats the sum of its calls does not double it.
func SumsOf(r Record) Sums {
	s := Sums{Records: 1}
	if r.JobType != LLMCall {
		return s
	}
	s.Calls = 1
	if r.DurationMS != nil {
		s.DurationMS = *r.DurationMS
	}
	var metrics map[string]any
	if json.Unmarshal(r.Metrics, &metrics) != nil {
		return s
	}
	amount := func(name string) (float64, bool) {
		f, ok := metrics[name].(float64)
		return max(f, 0), ok && f >= 0
	}
	tokens := func(name string) (int64, bool) {
		f, ok := amount(name)
		return int64(min(f, 1<<53)), ok
	}
	s.InputTokens, _ = tokens("input_tokens")
	s.OutputTokens, _ = tokens("output_tokens")
	s.CostUSD, _ = amount("api_cost_usd")
	total, ok := tokens("total_tokens")
	if s.TotalTokens = total; !ok {
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

// TraceID returns the trace that a record's context names, if it can be looked for.
func (r Record) TraceID() string {
	var about map[string]any
	if json.Unmarshal(r.Context, &about) != nil {
		return ""
	}
	id, _ := about["trace_id"].(string)
	if readFilterText(new(string), id) != nil {
		return ""
	}
	return id
}
