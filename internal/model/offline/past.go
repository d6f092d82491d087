package offline

import (
	"fmt"
	"strconv"
	"strings"

	"ramet/internal/base/text"
	"ramet/internal/model/llm"
)

// batch is one earlier answer: its calls, and what came of them.
type batch struct {
	calls   []llm.Part
	results map[string]llm.Part // by call id
}

// goOn asks to continue with the order before.
var goOn = text.Regexp(`(?i)^\s*(?:please\s+)?(?:continue|go on|carry on|resume)[\s.!]*$`)

// summaryHead begins what stands for messages that were compacted.
const summaryHead = "This is a summary of the earlier part of this conversation"

// told matches what the user is made to say and never said: the opening of a
// conversation whose beginning is missing, and results in a text to summarise.
var told = text.Regexp(`^(?:\(conversation continues\)$|\[[a-z_]+ answers\])`)

// newestOrder returns what the user asked for last, and what was answered since. What
// a compaction left of earlier orders is no order.
func newestOrder(all []llm.Message) (order string, since []batch) {
	at := -1
	for i, m := range all {
		text := m.Words()
		if m.Role != llm.User || strings.TrimSpace(text) == "" {
			continue
		}
		switch {
		case told().MatchString(text):
		case strings.Contains(text, digestTitle) || strings.HasPrefix(text, summaryHead):
			at, order = i, ""
		case at >= 0 && order != "" && goOn().MatchString(text):
		default:
			if asked, ok := ordered(text); ok {
				at, order = i, asked
			}
		}
	}
	if at < 0 {
		return "", nil
	}
	owner := map[string]int{} // of a call; ids of other models may come again, and the newest counts
	for _, m := range all[at+1:] {
		if m.Role == llm.Assistant {
			calls := m.Calls()
			for _, c := range calls {
				owner[c.CallID] = len(since)
			}
			since = append(since, batch{calls: calls, results: map[string]llm.Part{}})
		}
		for _, p := range m.Parts {
			if p.Type == llm.ToolResult {
				if i, ok := owner[p.CallID]; ok {
					since[i].results[p.CallID] = p
				}
			}
		}
	}
	return order, since
}

const idPrefix = "off_"

// number gives calls ids that no call in the conversation has.
func number(calls []call, all []llm.Message) []llm.Part {
	n := 0
	for _, m := range all {
		for _, c := range m.Calls() {
			n++
			if k, err := strconv.Atoi(strings.TrimPrefix(c.CallID, idPrefix)); err == nil && k < 1<<30 {
				n = max(n, k) // some may have been compacted away
			}
		}
	}
	out := make([]llm.Part, len(calls))
	for i, c := range calls {
		out[i] = llm.NewCall(fmt.Sprintf("%s%d", idPrefix, n+i+1), c.tool, string(c.json()))
	}
	return out
}
