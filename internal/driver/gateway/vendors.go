package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/model/catalog"
	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

// vendor is what is known of the endpoints that programs ask.
type vendor struct {
	upstream string
	plain    []string   // paths that cost nothing; * matches one part of a path
	metered  []endpoint // paths of model calls
	key      string     // the header of keys
	broke    refusal    // what it answers to who has no money; zero: 403
	// other is another address of the vendor, for requests of some logins, and what is asked before
	// the paths that it has; nil: there is none.
	other  func(http.Header) (address, strip string)
	nested string // the object of a request that holds the limits of its output, if it is not the request itself
	says   func(status int, code, message string) any
}

// endpoint is a path of model calls.
type endpoint struct {
	path string // * matches one part
	// limits lists the members of a request that this path obeys as a limit of its output, the usual one
	// first. A member that another path obeys is ignored here by the vendor, and so by us. If it is empty,
	// no member limits the output.
	limits []string
}

// refusal is a status and the vendor's word for it.
type refusal struct {
	status int
	code   string
}

// request holds the members of a call that decide its cost. A request that names one of them twice is
// refused, because vendors differ in which of the two they obey.
type request struct {
	Model         string `json:"model"`
	MaxTokens     int64  `json:"max_tokens"`
	MaxOutput     int64  `json:"max_output_tokens"`
	MaxCompletion int64  `json:"max_completion_tokens"`
	Choices       int64  `json:"n"`
	Config        struct {
		MaxOutput  int64 `json:"maxOutputTokens"`
		Candidates int64 `json:"candidateCount"`
		// Google also accepts these spellings.
		OtherMaxOutput  jsontext.Value `json:"max_output_tokens"`
		OtherCandidates jsontext.Value `json:"candidate_count"`
	} `json:"generationConfig"`
	// The vendor keeps these and reads them again with the request.
	Previous     string         `json:"previous_response_id"`
	Conversation jsontext.Value `json:"conversation"`
	Cached       string         `json:"cachedContent"`
	// And these.
	OtherConfig jsontext.Value `json:"generation_config"`
	OtherCached jsontext.Value `json:"cached_content"`
}

// limit returns the largest of the limits that the members with these names set, or 0 if none does.
func (q request) limit(names []string) int64 {
	var most int64
	for _, name := range names {
		switch name {
		case "max_tokens":
			most = max(most, q.MaxTokens)
		case "max_output_tokens":
			most = max(most, q.MaxOutput)
		case "max_completion_tokens":
			most = max(most, q.MaxCompletion)
		case "maxOutputTokens":
			most = max(most, q.Config.MaxOutput)
		}
	}
	return most
}

// check refuses a request whose limits cannot be read with certainty.
func (q request) check() error {
	for _, other := range []jsontext.Value{q.OtherConfig, q.OtherCached, q.Config.OtherMaxOutput, q.Config.OtherCandidates} {
		if len(other) > 0 {
			return errors.New("spell members as in generationConfig, not as in generation_config")
		}
	}
	return nil
}

// answers is how often an answer is written, each as long as one may be.
func (q request) answers() int64 {
	return min(max(1, q.Choices, q.Config.Candidates), mostAnswers)
}

// continues says whether the vendor reads more than the request holds.
func (q request) continues() bool {
	return q.Previous != "" || q.Cached != "" || len(q.Conversation) > 0 && string(q.Conversation) != "null"
}

// usualOutput is the most that a model writes where the request does not say, and no table does.
const usualOutput = 128_000

var vendors = map[string]vendor{
	"anthropic": {upstream: "https://api.anthropic.com", key: "X-Api-Key", broke: refusal{http.StatusPaymentRequired, "billing_error"},
		plain:   []string{"GET /v1/models", "GET /v1/models/*", "POST /v1/messages/count_tokens"},
		metered: []endpoint{{"POST /v1/messages", []string{"max_tokens"}}},
		says: func(_ int, code, message string) any {
			return map[string]any{"type": "error", "error": map[string]any{"type": code, "message": message}}
		}},
	"openai": {upstream: "https://api.openai.com", key: "Authorization",
		other: func(h http.Header) (string, string) {
			if h.Get("Chatgpt-Account-Id") != "" { // a subscription's login, which the API does not know
				return "https://chatgpt.com/backend-api/codex", "/v1"
			}
			return "", ""
		},
		plain: []string{"GET /v1/models", "GET /v1/models/*"},
		metered: []endpoint{
			{"POST /v1/responses", []string{"max_output_tokens"}},
			{"POST /v1/responses/compact", nil},
			{"POST /v1/chat/completions", []string{"max_completion_tokens", "max_tokens"}},
		},
		says: func(_ int, code, message string) any {
			return map[string]any{"error": map[string]any{"type": code, "code": code, "message": message, "param": nil}}
		}},
	"gemini": {upstream: "https://generativelanguage.googleapis.com", key: "X-Goog-Api-Key",
		plain: []string{"GET /v1beta/models", "GET /v1beta/models/*", "POST /v1beta/models/*:countTokens"},
		metered: []endpoint{
			{"POST /v1beta/models/*:generateContent", []string{"maxOutputTokens"}},
			{"POST /v1beta/models/*:streamGenerateContent", []string{"maxOutputTokens"}},
		},
		nested: "generationConfig",
		says: func(status int, code, message string) any {
			return map[string]any{"error": map[string]any{"code": status, "status": strings.ToUpper(code), "message": message}}
		}},
}

// admits reports whether a request may be passed on; call is the endpoint of a model call, nil if the
// request costs nothing.
func (v vendor) admits(method, rest string) (call *endpoint, ok bool) {
	if rest != path.Clean(rest) || strings.Contains(rest, "..") {
		return nil, false
	}
	for _, p := range v.plain {
		if matches(p, method, rest) {
			return nil, true
		}
	}
	for _, e := range v.metered {
		if matches(e.path, method, rest) {
			return &e, true
		}
	}
	return nil, false
}

func matches(pattern, method, rest string) bool {
	ok, err := path.Match(pattern, method+" "+rest)
	return ok && err == nil
}

// model is which one is asked: the body says it, or the path.
func (v vendor) model(r request, rest string) string {
	if r.Model != "" {
		return r.Model
	}
	_, name, _ := strings.Cut(rest, "/models/")
	name, _, _ = strings.Cut(name, ":")
	return name
}

// refuse answers in the vendor's own form, with a status that programs do not ask again for.
func (v vendor) refuse(w http.ResponseWriter, status int, code, message string) {
	if v.says == nil {
		v = vendors["openai"]
	}
	text, err := json.Marshal(v.says(status, code, message))
	if err != nil {
		panic(err) // strings alone
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // whoever does not take it has gone
}

// unreached tells a program that its vendor is not there.
func (v vendor) unreached(w http.ResponseWriter, name string) {
	v.refuse(w, http.StatusBadGateway, "api_error", "the vendor cannot be reached: "+name)
}

// lend puts a key of ours in the place of whatever a program sends.
func (v vendor) lend(h http.Header, key string) {
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"} {
		h.Del(name)
	}
	if v.key == "Authorization" {
		key = "Bearer " + key
	}
	h.Set(v.key, key)
}

// address is where a request goes: to the address that the program's user gave, the gate's, or the
// vendor's own.
func (g *Gate) address(r *http.Request, p passage) (*url.URL, error) {
	v, rest := vendors[p.vendor], p.rest
	var at url.URL
	switch to, own := p.door.Upstream[p.vendor], g.o.Upstream[p.vendor]; {
	case to.URL != nil:
		at, rest = *to.URL, strings.TrimPrefix(rest, to.Strip)
	case own != nil:
		at = *own
	default:
		text, strip := v.upstream, ""
		if v.other != nil {
			if other, cut := v.other(r.Header); other != "" {
				text, strip = other, cut
			}
		}
		to, err := url.Parse(text)
		if err != nil {
			return nil, err
		}
		at, rest = *to, strings.TrimPrefix(rest, strip)
	}
	at.Path, at.RawQuery = strings.TrimSuffix(at.Path, "/")+rest, r.URL.RawQuery
	return &at, nil
}

// leastOutput is the output to which a request is lowered at most.
const leastOutput = 4096

// lower returns the request with its output limited to most, through the members that its path obeys.
// Nothing else changes, except a budget for thinking that would not fit.
func (v vendor) lower(limits []string, body []byte, most int64) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, err
	}
	if v.nested != "" {
		var inner map[string]json.RawMessage
		if raw := all[v.nested]; len(raw) > 0 {
			if err := json.Unmarshal(raw, &inner); err != nil {
				return nil, err
			}
		}
		if inner == nil {
			inner = map[string]json.RawMessage{}
		}
		put(inner, limits, most)
		raw, err := json.Marshal(inner)
		if err != nil {
			return nil, err
		}
		all[v.nested] = raw
		return json.Marshal(all)
	}
	put(all, limits, most)
	if err := lowerThinking(all, most); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

// put sets the members that are there, or the first.
func put(all map[string]json.RawMessage, names []string, most int64) {
	raw, _ := json.Marshal(most) // a number
	found := false
	for _, name := range names {
		if _, ok := all[name]; ok {
			all[name], found = raw, true
		}
	}
	if !found {
		all[names[0]] = raw
	}
}

// lowerThinking keeps Anthropic's budget of thinking below what may be written at all.
func lowerThinking(all map[string]json.RawMessage, most int64) error {
	var thinking map[string]any
	if raw := all["thinking"]; len(raw) == 0 || json.Unmarshal(raw, &thinking) != nil {
		return nil
	}
	if budget, ok := thinking["budget_tokens"].(float64); !ok || int64(budget) < most {
		return nil
	}
	thinking["budget_tokens"] = most / 2
	raw, err := json.Marshal(thinking)
	all["thinking"] = raw
	return err
}

// maxKept is the longest body that is kept.
const maxKept = 1 << 20

const (
	// margin is for what a request makes the vendor add: once in any case, and for each thing that the
	// request only names.
	margin = 32 << 10
	// maxSearches limits the searches of the vendor's tools.
	maxSearches = 10
	// usualContext is the most that a model reads where no table says it.
	usualContext = 1 << 20
	// mostOutput and mostAnswers are more than any vendor writes; what they cost is still a number.
	mostOutput  = 1 << 32
	mostAnswers = 1 << 10
)

// named are the forms in which requests name images and documents that the vendor fetches, or keeps. In
// words that are quoted the last mark would stand behind a stroke.
var named = [][]byte{
	[]byte(`"type":"url"`), []byte(`"type": "url"`), []byte(`"file_id"`), []byte(`"file_url"`), []byte(`"fileUri"`), []byte(`"file_uri"`),
	[]byte(`"image_url":"http`), []byte(`"image_url": "http`), []byte(`"image_url":{"url":"http`), []byte(`"image_url": {"url": "http`),
}

// read returns the most tokens that a call reads: a token is a byte at least. Where the vendor reads what it
// keeps it may be all that the model can.
func (c *metered) read(q request, plain []byte) int64 {
	out := int64(len(plain)) + margin
	for _, form := range named {
		out += int64(bytes.Count(plain, form)) * margin
	}
	if q.continues() {
		out = max(out, contextOf(c.vendor, c.rec.Model))
	}
	return out
}

// contextOf returns the most that a model reads.
func contextOf(vendor, model string) int64 {
	v, err := catalog.Find(vendor)
	if err != nil {
		return usualContext
	}
	if m, known := v.Model(model); known && m.Context > 0 {
		return int64(m.Context)
	}
	return usualContext
}

// meter reads what a vendor counted out of an answer as it goes by: a stream of events, or one
// JSON document.
type meter struct {
	events bool   // it is a stream of events
	line   []byte // what has come of an event, or of the document
	over   bool   // it is too long to be kept
	got    llm.Usage
	told   bool
	last   bool   // the vendor has said that this is all
	ends   func() // called then; may be nil
}

// maxLine is the longest event that is read; a longer one goes through all the same.
const maxLine = 8 << 20

// Write implements io.Writer, and never fails.
func (m *meter) Write(b []byte) (int, error) {
	n := len(b)
	if !m.events {
		m.keep(b)
		return n, nil
	}
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			m.keep(b)
			return n, nil
		}
		m.keep(b[:i])
		m.flush()
		b = b[i+1:]
	}
}

func (m *meter) keep(b []byte) {
	if m.over = m.over || len(m.line)+len(b) > maxLine; !m.over {
		m.line = append(m.line, b...)
	}
}

// flush reads a line.
func (m *meter) flush() {
	text := bytes.TrimSpace(m.line)
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("data:")))
	if !m.over && bytes.Contains(text, []byte("sage")) { // usage, usageMetadata
		m.read(text)
	}
	m.line, m.over = m.line[:0], false
}

// counts are the numbers of all vendors.
type counts struct {
	Input   int64 `json:"input_tokens"`
	Output  int64 `json:"output_tokens"`
	Written int64 `json:"cache_creation_input_tokens"`
	Read    int64 `json:"cache_read_input_tokens"`
	Kept    struct {
		Hour int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Server struct {
		Searches int64 `json:"web_search_requests"`
	} `json:"server_tool_use"`
	InputParts struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputParts struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Prompt      int64 `json:"prompt_tokens"`
	Completion  int64 `json:"completion_tokens"`
	PromptParts struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionParts struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

type said struct {
	Type     string
	Usage    *counts
	Message  struct{ Usage *counts }
	Response struct{ Usage *counts }
	Raw      *struct {
		Prompt     int64 `json:"promptTokenCount"`
		Candidates int64 `json:"candidatesTokenCount"`
		Thoughts   int64 `json:"thoughtsTokenCount"`
		Cached     int64 `json:"cachedContentTokenCount"`
		ToolUse    int64 `json:"toolUsePromptTokenCount"`
	} `json:"usageMetadata"`
}

// read takes the numbers of one event or document. Later ones replace earlier ones, as the
// vendors count up.
func (m *meter) read(text []byte) {
	if len(text) > 0 && text[0] == '[' { // a stream of Gemini's, as a list
		var list []json.RawMessage
		if json.Unmarshal(text, &list) == nil {
			for _, one := range list {
				m.read(one)
			}
		}
		return
	}
	var s said
	if json.Unmarshal(text, &s) != nil {
		return
	}
	said := s.Raw != nil
	for _, c := range []*counts{s.Message.Usage, s.Response.Usage, s.Usage} {
		if c != nil {
			said = true
			m.take(*c)
		}
	}
	if g := s.Raw; g != nil {
		m.told, m.got = true, llm.Usage{Input: wire.Rest(g.Prompt+g.ToolUse, g.Cached), CacheRead: g.Cached, Output: g.Candidates + g.Thoughts, Reasoning: g.Thoughts}
	}
	if said && s.Type != "message_start" { // it has the input alone
		if m.last = true; m.ends != nil {
			m.ends()
		}
	}
}

func (m *meter) take(c counts) {
	m.told = true
	if c.Prompt > 0 || c.Completion > 0 {
		m.got = llm.Usage{Input: wire.Rest(c.Prompt, c.PromptParts.Cached), CacheRead: c.PromptParts.Cached, Output: c.Completion, Reasoning: c.CompletionParts.Reasoning}
		return
	}
	if c.Input > 0 || c.InputParts.Cached > 0 {
		m.got.Input, m.got.CacheRead = wire.Rest(c.Input, c.InputParts.Cached), c.InputParts.Cached
	}
	m.got.CacheRead, m.got.CacheWrite = max(m.got.CacheRead, c.Read), max(m.got.CacheWrite, c.Written)
	m.got.CacheHour, m.got.Searches = max(m.got.CacheHour, c.Kept.Hour), max(m.got.Searches, c.Server.Searches)
	m.got.Output, m.got.Reasoning = max(m.got.Output, c.Output), max(m.got.Reasoning, c.OutputParts.Reasoning)
}

// end returns the usage that was counted; false if the answer ended before the vendor said it, or it said what cannot be:
// that nothing was read and written, or more than any call takes.
func (m *meter) end() (llm.Usage, bool) {
	m.flush()
	if _, ok := wire.Plausible(m.got); !ok {
		return llm.Usage{}, false
	}
	return m.got, m.told && m.last && m.got.Total() > 0
}
