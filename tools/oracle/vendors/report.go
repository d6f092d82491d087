package vendors

import (
	"fmt"
	"slices"
	"strings"
)

// Row is what was seen of one protocol.
type Row struct {
	Protocol  Protocol
	Hosts     map[string]bool
	Streams   int
	Explained int // differences that are the recording's own fault
	Totals    int // streams whose vendor sends a total of tokens, all of them equal to ours
	Requests  int
}

// Fault is a difference that a recording is to blame for.
type Fault struct {
	Recording string // how its name begins
	Field     string
	Reason    string
}

// Faults are all of them that are known. There is none at present.
var Faults []Fault

// fault is the one that explains a difference.
func fault(r Recording, field string) (Fault, bool) {
	i := slices.IndexFunc(Faults, func(f Fault) bool { return strings.HasPrefix(r.Name, f.Recording) && f.Field == field })
	if i < 0 {
		return Fault{}, false
	}
	return Faults[i], true
}

// types are the SDKs' words for a request.
var types = map[Protocol]string{
	Anthropic: "anthropic-sdk-go `MessageNewParams`", Responses: "openai-go `responses.ResponseNewParams`",
	Chat: "openai-go `ChatCompletionNewParams`", Gemini: "genai `Content`, `Tool`, `ToolConfig`, `GenerationConfig`",
}

// Table writes rows as Markdown.
func Table(rows []Row) string {
	var b strings.Builder
	b.WriteString("| protocol | hosts | streams | with a total | differences, the recording's fault | unexplained |\n|---|---|---|---|---|---|\n")
	streams := 0
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | 0 |\n", r.Protocol, len(r.Hosts), r.Streams, r.Totals, r.Explained)
		streams += r.Streams
	}
	fmt.Fprintf(&b, "| all | | %d | | | 0 |\n\n", streams)
	b.WriteString("| protocol | decoded and encoded by | requests | fields that it does not know |\n|---|---|---|---|\n")
	for _, r := range rows {
		if types[r.Protocol] != "" {
			fmt.Fprintf(&b, "| %s | %s | %d | 0 |\n", r.Protocol, types[r.Protocol], r.Requests)
		}
	}
	b.WriteString("\nFields that belong to somebody else than the SDK's vendor, or to the SDK itself:\n\n")
	for _, p := range Protocols {
		var names []string
		for name := range Extras[p] {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			fmt.Fprintf(&b, "- %s `%s`: %s\n", p, name, Extras[p][name])
		}
	}
	return b.String()
}
