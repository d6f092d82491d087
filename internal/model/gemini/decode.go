package gemini

import (
	"encoding/json"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

type decoder struct {
	parts   wire.Parts
	open    int // the text or thought being written, -1 for none
	thought bool
	reason  string

	queries  []string
	pages    []llm.Source // that the answer rests on
	searched int64        // what is charged for
	perQuery bool         // each query is charged for, not each answer
	told     bool         // the server told what it looked for
}

// grounding holds the sources of an answer.
type grounding struct {
	Queries []string `json:"webSearchQueries"`
	Chunks  []struct {
		Web struct {
			URI   string `json:"uri"`
			Title string `json:"title"`
		} `json:"web"`
	} `json:"groundingChunks"`
}

type chunk struct {
	Candidates []struct {
		Content struct {
			Parts []struct {
				Text      string `json:"text"`
				Thought   bool   `json:"thought"`
				Signature string `json:"thoughtSignature"`
				Call      *struct {
					ID   string          `json:"id"`
					Name string          `json:"name"`
					Args json.RawMessage `json:"args"`
				} `json:"functionCall"`
				Served json.RawMessage `json:"toolCall"`
				Came   json.RawMessage `json:"toolResponse"`
			} `json:"parts"`
		} `json:"content"`
		FinishReason string    `json:"finishReason"`
		Grounding    grounding `json:"groundingMetadata"`
	} `json:"candidates"`
	Feedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *struct {
		Prompt     int64 `json:"promptTokenCount"`
		Cached     int64 `json:"cachedContentTokenCount"`
		Candidates int64 `json:"candidatesTokenCount"`
		Thoughts   int64 `json:"thoughtsTokenCount"`
		ToolPrompt int64 `json:"toolUsePromptTokenCount"`
	} `json:"usageMetadata"`
	Error json.RawMessage `json:"error"`
}

func (d *decoder) Next(_ string, data []byte) ([]llm.Event, bool, error) {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, false, wire.Garbled("a chunk is not JSON of the protocol: %v", err)
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return nil, false, wire.ParseSaid(data)
	}
	for _, candidate := range c.Candidates[:min(len(c.Candidates), 1)] {
		for _, p := range candidate.Content.Parts {
			if p.Call != nil {
				d.call(p.Call.ID, p.Call.Name, p.Call.Args, p.Signature)
				continue
			}
			if s, ok := servedIn(p.Served, p.Came); ok {
				d.serve(s, p.Signature)
				continue
			}
			d.write(p.Text, p.Thought, p.Signature)
		}
		d.ground(candidate.Grounding)
		if candidate.FinishReason != "" {
			d.reason = candidate.FinishReason
		}
	}
	if c.Feedback.BlockReason != "" {
		d.reason = c.Feedback.BlockReason
	}
	events := d.parts.Take()
	if u := c.Usage; u != nil {
		events = append(events, llm.Event{Type: llm.Used, Usage: &llm.Usage{
			Input:  wire.Rest(u.Prompt+u.ToolPrompt, u.Cached),
			Output: u.Candidates + u.Thoughts, CacheRead: u.Cached, Reasoning: u.Thoughts, Searches: d.searched,
		}})
	}
	return events, false, nil
}

// write goes on with a text or a thought; a signature ends it.
func (d *decoder) write(text string, thought bool, signature string) {
	if text == "" && signature == "" {
		return
	}
	if d.open >= 0 && d.thought != thought {
		d.shut()
	}
	if d.open < 0 {
		kind := llm.Text
		if thought {
			kind = llm.Thinking
		}
		d.open, d.thought = d.parts.Open(kind), thought
	}
	d.parts.Add(d.open, text)
	if signature != "" {
		d.parts.Sign(d.open, signature)
		d.shut()
	}
}

func (d *decoder) shut() {
	if d.open >= 0 {
		d.parts.Done(d.open)
	}
	d.open = -1
}

func (d *decoder) call(id, name string, args json.RawMessage, signature string) {
	d.shut()
	if id == "" {
		id = wire.NewCallID()
	}
	i := d.parts.OpenCall(id, name)
	if string(args) != "null" {
		d.parts.Add(i, string(args))
	}
	d.parts.Sign(i, signature)
	d.parts.Done(i)
}

func (d *decoder) Close() ([]llm.Event, llm.Finish, bool) {
	if d.reason == "" {
		return nil, llm.Finish{}, false
	}
	d.cite()
	d.parts.DoneAll()
	finish := llm.Finish{Reason: llm.Error, Raw: d.reason} // SAFETY, RECITATION, MALFORMED_FUNCTION_CALL …
	switch {
	case d.reason == "STOP" && d.parts.Calls():
		finish.Reason = llm.ToolCalls
	case d.reason == "STOP":
		finish.Reason = llm.Stop
	case d.reason == "MAX_TOKENS":
		finish.Reason = llm.Length
	}
	return d.parts.Take(), finish, true
}
