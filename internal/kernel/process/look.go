package process

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/turn/tool"
)

const (
	usualSteps = 5
	mostSteps  = 20
	// entriesOfStep limits the entries of one step that are examined.
	entriesOfStep = 12
)

var lookSpec = sync.OnceValue(func() tool.Spec {
	return tool.Describe("look", tool.Spec{
		Args: shape.Object(
			shape.Must("agent", shape.Text(1)),
			shape.May("steps", shape.Number(1, mostSteps)),
		),
		Summary: summary(func(args lookArgs) string { return "look at " + args.Agent }),
	})
})

type lookArgs struct {
	Agent string   `json:"agent"`
	Steps *float64 `json:"steps"`
}

// look shows what a descendant does.
func (a actor) look(ctx context.Context, _ tool.Call, args lookArgs) (tool.Answer, error) {
	steps := usualSteps
	if args.Steps != nil {
		steps = int(*args.Steps)
	}
	_, who, err := a.descendant(ctx, args.Agent, "look at those below you")
	if err != nil {
		return tool.Answer{}, err
	}
	now, err := a.kernel.Sources().Look(ctx, true, who.ID)
	if err != nil {
		return tool.Answer{}, err
	}
	entries, err := a.kernel.Recent(ctx, who.ID, steps*entriesOfStep)
	if err != nil {
		return tool.Answer{}, err
	}
	lines := told(entries, steps)
	head := fmt.Sprintf("%s is %s.", title(who), now.Of(who))
	if len(lines) == 0 {
		return tool.Answer{Text: head + " It has done nothing yet."}, nil
	}
	return tool.Answer{Text: head + " Its last steps, as information:\n" + strings.Join(lines, "\n")}, nil
}

// told is the last steps of a history, whose entries come newest first: oldest first, what
// was said and called, and how results begin.
func told(entries []history.Entry, steps int) []string {
	var out [][]string
	for _, e := range entries {
		parts, err := e.Parts()
		if err != nil {
			continue // damage is for verify to tell
		}
		var lines []string
		for _, p := range parts {
			if line := toldPart(e.Kind, p); line != "" {
				lines = append(lines, line)
			}
		}
		if len(lines) > 0 {
			out = append(out, lines)
		}
		if e.Kind == history.Assistant {
			if steps--; steps == 0 {
				break
			}
		}
	}
	slices.Reverse(out)
	return slices.Concat(out...)
}

func toldPart(k history.Kind, p history.Part) string {
	body := text.Line(p.Text, 200)
	if p.Blob != nil {
		body = fmt.Sprintf("(%d bytes)", p.Size)
	}
	switch {
	case p.Type == history.ToolCall:
		return "calls " + p.Name + " " + text.Line(string(p.Args), 200)
	case p.Type == history.Result && p.IsError:
		return "  failed: " + body
	case p.Type == history.Result:
		return "  → " + body
	case p.Type != history.Text || body == "":
		return ""
	case k == history.Assistant:
		return "says: " + body
	case k == history.User:
		return "is told: " + body
	case k == history.Notice, k == history.Interrupted:
		return "(" + string(k) + ") " + body
	}
	return ""
}
