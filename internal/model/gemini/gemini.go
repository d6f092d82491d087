// Package gemini speaks Google's Gemini protocol.
//
// Signatures of thoughts stand on thoughts, texts and calls, and go back on the
// same parts. The newer models refuse a call without one; a call of another
// vendor gets the word that Google provides for that case. Where its own search
// stands beside functions, what the server called and found comes as parts of the
// answer and goes back with it.
package gemini

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strings"

	"ramet/internal/base/jsonschema"
	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

// Origin marks what only this protocol can read.
const Origin = "gemini"

type provider struct {
	client *wire.Client
	model  func(string) llm.Model
	below  string // the path of the models
}

// usual is the path of the models at Gemini's own API.
const usual = "/v1beta/models/"

// New makes a provider. The base URL is given without the version.
func New(o wire.Options) llm.Provider { return At(o, usual) }

// At makes a provider for models that stand below another path.
func At(o wire.Options, below string) llm.Provider {
	h := o.Auth("X-Goog-Api-Key", "")
	o.Base = strings.TrimSuffix(strings.TrimRight(o.Base, "/"), "/v1beta")
	return &provider{o.Client(h), o.Model, below}
}

func (p *provider) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	return p.client.Ask(ctx, r, p.encode, func() wire.Decoder {
		return &decoder{parts: wire.Parts{Origin: Origin}, open: -1, perQuery: takesLevels(p.model(r.Model))}
	})
}

type request struct {
	System   *content  `json:"systemInstruction,omitempty"`
	Contents []content `json:"contents"`
	Tools    []tools   `json:"tools,omitempty"`
	Calls    *calls    `json:"toolConfig,omitempty"`
	Config   config    `json:"generationConfig"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

type part struct {
	Text      *string           `json:"text,omitempty"`
	Thought   bool              `json:"thought,omitempty"`
	Signature string            `json:"thoughtSignature,omitempty"`
	Call      *functionCall     `json:"functionCall,omitempty"`
	Response  *functionResponse `json:"functionResponse,omitempty"`
	Inline    *inlineData       `json:"inlineData,omitempty"`
	served
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type functionResponse struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

type inlineData struct {
	MimeType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

type tools struct {
	Functions []function `json:"functionDeclarations,omitempty"`
	Search    *struct{}  `json:"googleSearch,omitempty"`
}

// calls sets whether functions may be called, and that the server reports the calls that it
// makes itself: it demands this where its own tools are next to functions.
type calls struct {
	Functions struct {
		Mode string `json:"mode"`
	} `json:"functionCallingConfig"`
	Tell bool `json:"includeServerSideToolInvocations,omitempty"`
}

// How functions may be called. Beside the server's own tools it does not take the
// usual mode, in which the arguments are not checked.
const (
	never   = "NONE"
	checked = "VALIDATED"
)

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"parametersJsonSchema"`
}

type config struct {
	MaxTokens   int64           `json:"maxOutputTokens,omitempty"`
	Temperature *float64        `json:"temperature,omitempty"`
	Thinking    *thinkingConfig `json:"thinkingConfig,omitempty"`
	Media       string          `json:"responseMimeType,omitempty"`
	Schema      json.RawMessage `json:"responseJsonSchema,omitempty"`
}

type thinkingConfig struct {
	Include bool   `json:"includeThoughts"`
	Level   string `json:"thinkingLevel,omitempty"`
	Budget  *int64 `json:"thinkingBudget,omitempty"`
}

// unsigned is Google's word for a call that was not signed by this model.
const unsigned = "skip_thought_signature_validator"

func (p *provider) encode(r llm.Request) (string, any) {
	known := p.model(r.Model)
	out := request{Config: config{MaxTokens: r.MaxTokens, Temperature: r.Temperature}, Contents: []content{}}
	if known.Think(r.Effort) != "" || known.Thinks {
		out.Config.Thinking = thinkingOf(r.Effort, known)
	}
	ids := wire.CallIDs(r, Origin)
	offerTools(&out, r, known.Search, p.both(known))
	if schema, ok := wire.Form(r, jsonschema.Gemini); ok {
		out.Config.Media, out.Config.Schema = "application/json", schema
	}
	// Models that think in levels are those that insist on signatures; for an unknown
	// model the worst is expected.
	insists := takesLevels(known)
	for _, m := range r.Messages {
		parts := partsOf(m, insists, p.both(known), ids)
		leading := len(out.Contents) == 0
		if len(parts) == 0 {
			continue
		}
		if m.Role == llm.System && !leading { // the protocol has no place for it
			for i := range parts {
				if parts[i].Text != nil {
					tagged := "<system>\n" + *parts[i].Text + "\n</system>"
					parts[i].Text = &tagged
				}
			}
		}
		if m.Role == llm.System && leading {
			if out.System == nil {
				out.System = &content{}
			}
			out.System.Parts = append(out.System.Parts, parts...)
			continue
		}
		role := "user"
		if m.Role == llm.Assistant {
			role = "model"
		}
		n := len(out.Contents)
		if n == 0 || out.Contents[n-1].Role != role {
			out.Contents = append(out.Contents, content{Role: role})
			n++
		}
		out.Contents[n-1].Parts = append(out.Contents[n-1].Parts, parts...)
	}
	return p.below + url.PathEscape(r.Model) + ":streamGenerateContent?alt=sse", out
}

// takesLevels reports whether a model is of the third generation or later, or of an unknown
// one.
func takesLevels(known llm.Model) bool { return len(known.Efforts) > 0 || !known.Known }

// both reports whether the server's own search may stand beside functions. Models
// before 3 refuse it, and so does Google's cloud.
func (p *provider) both(known llm.Model) bool { return takesLevels(known) && p.below == usual }

// offerTools adds the tools that may be called: our functions, the server's search, or both.
func offerTools(out *request, r llm.Request, searches, both bool) {
	var one tools
	for _, t := range r.Tools {
		one.Functions = append(one.Functions, function{t.Name, t.Description, t.Schema})
	}
	functions := len(one.Functions) > 0
	if r.Search && searches && (!functions || both && !r.NoCalls) {
		one.Search = &struct{}{}
	}
	if functions || one.Search != nil {
		out.Tools = []tools{one}
	}
	switch {
	case functions && r.NoCalls:
		out.Calls = &calls{}
		out.Calls.Functions.Mode = never
	case functions && one.Search != nil:
		out.Calls = &calls{Tell: true}
		out.Calls.Functions.Mode = checked
	}
}

// thinkingOf asks for thoughts. Models before 3 take a budget, the others a level.
func thinkingOf(e llm.Effort, known llm.Model) *thinkingConfig {
	out := &thinkingConfig{Include: true}
	switch {
	case e == "":
	case takesLevels(known):
		out.Level = known.Think(e)
	default:
		budget := budgets[e]
		out.Budget, out.Include = &budget, budget > 0
	}
	return out
}

var budgets = map[llm.Effort]int64{llm.Off: 0, llm.Minimal: 512, llm.Low: 1024, llm.Medium: 8192, llm.High: 24576, llm.XHigh: 24576, llm.Max: 24576}

func partsOf(m llm.Message, insists, both bool, ids wire.IDs) []part {
	var out []part
	signed := false
	for _, p := range m.Parts {
		signature := ""
		if p.Origin == Origin {
			signature = p.Signature
		}
		switch p.Type {
		case llm.Text:
			text := p.Text
			if text == "" && signature == "" {
				continue
			}
			out = append(out, part{Text: &text, Signature: signature})
		case llm.Thinking:
			if signature != "" { // without one it is only a summary for people
				out = append(out, part{Text: &p.Text, Thought: true, Signature: signature})
			}
		case llm.Search:
			if told, ok := keptSearch(p); ok && both {
				out = append(out, part{served: told, Signature: signature})
			}
		case llm.ToolCall:
			if signature == "" && !signed && insists {
				signature = unsigned
			}
			signed = true // the first call of a message stands for all
			out = append(out, part{Call: &functionCall{idOf(p.CallID, ids), p.Name, p.Args}, Signature: signature})
		case llm.ToolResult:
			kind := "output"
			if p.IsError {
				kind = "error"
			}
			out = append(out, part{Response: &functionResponse{idOf(p.CallID, ids), p.Name, map[string]string{kind: p.Text}}})
		case llm.Image, llm.Document:
			out = append(out, part{Inline: &inlineData{p.MediaType, p.Data}})
		}
	}
	return out
}

// idOf leaves out ids that this protocol did not give: it finds the call by its
// name and place then.
func idOf(s string, ids wire.IDs) string {
	if wire.IsDrawn(s) {
		return ""
	}
	return ids.Of(s)
}
