package operation

import (
	"context"

	"ramet/internal/base/printer"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// SearchInput holds the words to look for.
type SearchInput struct {
	Words string   `json:"q" arg:"WORDS" help:"the words, ignoring case"`
	Agent AgentRef `json:"agent,omitempty" help:"only in the history of this agent, including inherited messages: 0, a name, a uuid or the beginning of one"`
	Limit *int64   `json:"limit,omitempty" short:"n" default:"100" range:"1..1000" help:"limit, 1 to 1000"`
}

// Search finds messages.
var Search = Op[SearchInput, public.Search]{
	Doc: Doc{Name: "search", Group: "agents", ID: "searchMessages", Route: "GET /api/v1/search 200", Faces: CLI | HTTP, Effect: Reads,
		Summary: "Find messages that contain words, newest first"},
	Run: func(ctx context.Context, e *Env, in SearchInput) (public.Search, error) {
		ask := session.Search{Words: in.Words, Limit: int(*in.Limit)}
		if in.Agent != "" {
			found, err := e.Find(ctx, string(in.Agent))
			if err != nil {
				return public.Search{}, err
			}
			ask.Of = found.ID
		}
		return e.History().Search(ctx, ask)
	},
	Text: writeHits,
}

func writeHits(w *printer.Writer, _ SearchInput, out public.Search) {
	rows := [][]string{{"AGENT", "MESSAGE", "KIND", "TEXT"}}
	for _, h := range out.Found {
		rows = append(rows, []string{h.Agent.Short(), h.ID.String(), h.Kind, h.Around})
	}
	if len(out.Found) > 0 {
		w.Table(rows)
	} else {
		w.Line("no message contains these words")
	}
	if out.More {
		w.Line("There are more; name an agent, or raise the limit.")
	}
}
