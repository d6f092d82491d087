package store

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
)

// Words and numbers are read as one column, and so are the texts, between separators
// that registry.CheckField keeps out of them: the SQLite driver takes as long for a
// column as for five of these, and a tree has thousands of rows.
const (
	treeWords  = `uuid, genesis_id, coalesce(parent_uuid, ''), status, coalesce(name, ''), created_at, own, total`
	agentWords = treeWords + `, coalesce(fork_message_id, 0), depth, coalesce(CAST(ended_at AS TEXT), ''), lease_epoch, coalesce(CAST(lease_until AS TEXT), ''),
		spent_tokens, spent_cost, coalesce(CAST(budget_tokens AS TEXT), ''), coalesce(CAST(budget_cost AS TEXT), ''), head_id`
	treeColumns  = `concat_ws('` + registry.Separator + `', provider, model, ` + treeWords + `)`
	agentTexts   = `provider, model, cwd, coalesce(end_reason, ''), coalesce(lease_owner, '')`
	agentColumns = `concat_ws('` + registry.Separator + `', ` + agentWords + `), head_hash, concat_ws('` + registry.Separator + `', ` + agentTexts + `)`
	listColumns  = `concat_ws('` + registry.Separator + `', ` + agentWords + `, ` + agentTexts + `)`
)

// agentScan reads rows of agents, one after the other, into the same place.
type agentScan struct {
	agent.Agent
	brief       bool // treeColumns
	listed      bool // listColumns
	packed      string
	hash        []byte
	texts, last string
	into        []any
}

// scanAgents reads agentColumns, and what stands behind them into more.
func scanAgents(more ...any) *agentScan {
	s := &agentScan{}
	s.into = append([]any{&s.packed, &s.hash, &s.texts}, more...)
	return s
}

func (s *agentScan) read(scan func(...any) error) error {
	if err := scan(s.into...); err != nil {
		return err
	}
	return s.take(s.packed)
}

// take takes a row apart.
func (s *agentScan) take(packed string) error {
	w := words{rest: packed}
	if s.brief {
		s.Provider, s.Model = w.next(), w.next()
	}
	s.ID, s.Genesis = id.Agent(w.next()), id.Message(w.number())
	s.Parent, s.Status, s.Name = id.Agent(w.next()), agent.Status(w.next()), w.next()
	s.CreatedAt, s.Own, s.Total = fromMicros(w.number()), w.number(), w.number()
	if !s.brief {
		s.ForkMessage, s.Depth, s.EndedAt = id.Message(w.number()), int(w.number()), w.moment()
		s.Lease.Epoch, s.Lease.Until = w.number(), w.moment()
		s.Spent.Tokens, s.Spent.Cost = w.number(), w.number()
		s.Budget.Tokens, s.Budget.Cost = w.limit(), w.limit()
		s.Head = id.Message(w.number()) // the last: a NULL before it would leave it without a word
		if s.HeadHash = toHash(s.hash); s.listed {
			s.texts, w.rest = w.rest, ""
		}
		w.bad = w.bad || !s.split()
	}
	if w.bad || w.rest != "" {
		return fmt.Errorf("%.200q is not a row of an agent", packed)
	}
	return nil
}

// split takes the texts apart. Most rows have the same as the one before.
func (s *agentScan) split() bool {
	if s.texts == s.last && s.last != "" {
		return true
	}
	parts := strings.Split(s.texts, registry.Separator)
	if len(parts) != 5 {
		return false
	}
	s.Provider, s.Model, s.Cwd, s.EndReason, s.Lease.Owner = parts[0], parts[1], parts[2], parts[3], parts[4]
	s.last = s.texts
	return true
}

// words reads the texts between separators.
type words struct {
	rest string
	bad  bool
}

func (w *words) next() string {
	word, rest, _ := strings.Cut(w.rest, registry.Separator)
	w.rest = rest
	return word
}

// number returns a word that is one.
func (w *words) number() int64 { return w.parse(w.next()) }

func (w *words) parse(word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	w.bad = w.bad || err != nil
	return n
}

// moment returns a time, or nothing: SQLite takes several times as long to write a zero as to write nothing.
func (w *words) moment() time.Time {
	if strings.HasPrefix(w.rest, registry.Separator) {
		w.rest = w.rest[1:]
		return time.Time{}
	}
	return fromMicros(w.number())
}

// limit returns a number, or nothing.
func (w *words) limit() agent.Limit {
	word := w.next()
	if word == "" {
		return agent.Limit{}
	}
	return agent.AtMost(w.parse(word))
}
