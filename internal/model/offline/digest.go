package offline

import (
	"fmt"
	"strings"

	"ramet/internal/base/text"
	"ramet/internal/model/llm"
)

// summarise is in requests to compact a conversation.
const summarise = "Summarise the conversation above"

const (
	digestTitle = "Digest of the conversation so far"
	userSaid    = "- the user said: "
	digestSize  = 4 << 10
)

// wantsDigest reports whether the model is asked to summarise.
func wantsDigest(all []llm.Message) bool {
	last := -1
	for i, m := range all {
		if m.Role == llm.System && strings.Contains(m.Text(), summarise) {
			return true
		}
		if m.Role == llm.User {
			last = i
		}
	}
	return last >= 0 && strings.Contains(all[last].Text(), summarise)
}

// digest counts the messages and gives the first line of each that the user
// wrote.
func digest(all []llm.Message) string {
	var lines []string
	count := 0
	for _, m := range all {
		said := strings.TrimSpace(m.Words())
		if strings.Contains(said, summarise) {
			continue
		}
		count++
		switch {
		case strings.Contains(said, digestTitle): // of an earlier compaction
			for line := range strings.Lines(said) {
				if strings.HasPrefix(line, userSaid) {
					lines = append(lines, strings.TrimRight(line, "\n"))
				}
			}
		case m.Role == llm.User && said != "" && !told().MatchString(said):
			first, _, _ := strings.Cut(said, "\n")
			lines = append(lines, userSaid+text.Line(first, 200))
		}
	}
	out := fmt.Sprintf("%s: %d messages.", digestTitle, count)
	for i, line := range lines {
		more := fmt.Sprintf("\n- and %d more", len(lines)-i)
		if len(Label)+len(out)+len(line)+1+len(more) > digestSize {
			return out + more
		}
		out += "\n" + line
	}
	return out
}
