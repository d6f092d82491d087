package follow

import (
	"encoding/json"
	"strconv"
	"time"
)

// Event is one of a run's log.
type Event struct {
	RunID      string
	Type       string
	TS         string // RFC 3339
	Payload    []byte // an object
	TraceID    string
	SpanID     string
	ParentSpan string // empty: none
}

// The types of events that telemetry follows, as the log names them.
const (
	runCreated      = "RUN_CREATED"
	runForked       = "RUN_FORKED"
	runReopened     = "RUN_REOPENED"
	runFailed       = "RUN_FAILED"
	runCancelled    = "RUN_CANCELLED"
	stateChanged    = "RUN_STATE_CHANGED"
	resumeRewind    = "RESUME_REWIND"
	inputsCloned    = "INPUTS_CLONED"
	pullRequest     = "PR_OPENED"
	itemQueued      = "WORK_ITEM_QUEUED"
	itemStarted     = "WORK_ITEM_STARTED"
	itemFinished    = "WORK_ITEM_FINISHED"
	itemFailed      = "WORK_ITEM_FAILED"
	itemInvalidated = "WORK_ITEM_INVALIDATED"
	gateStarted     = "GATE_RUN_STARTED"
	gateFinished    = "GATE_RUN_FINISHED"
	callStarted     = "LLM_CALL_STARTED"
	callFinished    = "LLM_CALL_FINISHED"
	callFailed      = "LLM_CALL_FAILED"
	cacheHit        = "LLM_CACHE_HIT"
)

// payload is what any of them may hold; what the log has in another form is left empty.
type payload struct {
	// of the run
	Recipe       words  `json:"recipe"`
	ConfigSHA256 words  `json:"config_sha256"`
	ParentRunID  words  `json:"parent_run_id"`
	Old          words  `json:"old_state"`
	New          words  `json:"new_state"`
	Reason       words  `json:"reason"`
	Code         words  `json:"code"`
	Message      words  `json:"message"`
	URL          words  `json:"url"`
	Bundle       words  `json:"bundle"`
	Inputs       inputs `json:"inputs"`
	// of an item
	ItemID  words   `json:"work_item_id"`
	Worker  words   `json:"worker"`
	Scope   words   `json:"scope_key"`
	Attempt integer `json:"attempt"`
	Effect  words   `json:"effect"`
	Outputs count   `json:"outputs"`
	Error   failing `json:"error"`
	// of a gate
	Gate   words `json:"gate"`
	OK     bool  `json:"ok"`
	Issues count `json:"issues"`
	// of a call
	CallID       words  `json:"call_id"`
	Model        words  `json:"model"`
	BaseURL      words  `json:"provider_base_url"`
	PromptHash   words  `json:"prompt_hash"`
	Temperature  number `json:"temperature"`
	MaxTokens    number `json:"max_tokens"`
	Latency      number `json:"latency_ms"`
	Usage        usage  `json:"token_usage"`
	FinishReason words  `json:"finish_reason"`
	Cost         number `json:"api_cost_usd"`
	ErrorClass   words  `json:"error_class"`
	ErrorSummary words  `json:"error_summary"`
	ErrorDetails words  `json:"error_details"`
	HTTPStatus   number `json:"http_status"`
	Retryable    bool   `json:"retryable"`
	CacheKey     words  `json:"cache_key"`
}

type usage struct {
	Input  number `json:"input_tokens"`
	Output number `json:"output_tokens"`
	Total  number `json:"total_tokens"`
}

// words is a string; anything else is none.
type words string

func (t *words) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = words(s)
	}
	return nil
}

// number is a number as it stands in the log; anything else is none.
type number string

func (n *number) UnmarshalJSON(b []byte) error {
	if _, err := strconv.ParseFloat(string(b), 64); err == nil && len(b) < 40 {
		*n = number(b)
	}
	return nil
}

// or is the number, or 0 where there is none.
func (n number) or() json.Number {
	if n == "" {
		return "0"
	}
	return json.Number(n)
}

// put sets a field to the number, if there is one.
func (n number) put(f fields, name string) {
	if n != "" {
		f[name] = json.Number(n)
	}
}

// milliseconds is a duration, if it can be one.
func (n number) milliseconds() (int64, bool) {
	i, err := strconv.ParseInt(string(n), 10, 64)
	return i, err == nil && i >= 0 && i < 1<<53
}

// integer is a whole number; anything else is 0.
type integer int64

func (n *integer) UnmarshalJSON(b []byte) error {
	var i int64
	if json.Unmarshal(b, &i) == nil {
		*n = integer(i)
	}
	return nil
}

// count is how many elements a list has.
type count int

func (c *count) UnmarshalJSON(b []byte) error {
	var list []json.RawMessage
	if json.Unmarshal(b, &list) == nil {
		*c = count(len(list))
	}
	return nil
}

// inputs are the clones of INPUTS_CLONED; those of an item are files, and of these only
// the number matters.
type inputs struct {
	n      int
	clones []clone
}

type clone struct {
	URL    string `json:"url"`
	Commit string `json:"commit"`
}

func (i *inputs) UnmarshalJSON(b []byte) error {
	var list []json.RawMessage
	if json.Unmarshal(b, &list) != nil {
		return nil
	}
	i.n = len(list)
	for _, one := range list {
		var c clone
		if json.Unmarshal(one, &c) == nil && c.URL != "" {
			i.clones = append(i.clones, c)
		}
	}
	return nil
}

// failing is the error of an item: words, or code and words.
type failing struct{ code, message string }

func (f *failing) UnmarshalJSON(b []byte) error {
	var both struct{ Code, Message words }
	var said words
	if json.Unmarshal(b, &both) == nil {
		f.code, f.message = string(both.Code), string(both.Message)
	} else if json.Unmarshal(b, &said) == nil {
		f.message = string(said)
	}
	if f.code == "" {
		f.code = "FAILED"
	}
	return nil
}

func (e Event) payload() (p payload) {
	json.Unmarshal(e.Payload, &p) // what does not fit is empty
	return p
}

// at is the event's time; of one that has none, the time of the event before.
func (e Event) at(before time.Time) time.Time {
	t, err := time.Parse(time.RFC3339Nano, e.TS)
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		return later(time.Unix(0, 0).UTC(), before)
	}
	return t.UTC().Truncate(time.Microsecond)
}
