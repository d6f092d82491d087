package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/model/llm"
	"ramet/internal/run"
)

// AnswerCache keeps answers by what was asked. All methods may be called concurrently.
type AnswerCache interface {
	// Get finds what was put last; not ok: nothing, or something that is damaged.
	Get(key string) (data []byte, ok bool, err error)
	// Put keeps data; it is durable when Put returns.
	Put(key string, data []byte) error
	// Drop forgets a key; one that is not known is nothing.
	Drop(key string) error
}

// format is the version of what is kept, and of what keys are made of.
const format = "ramet-answer/1"

// answers is an entry of the cache: one whole answer.
type answers struct {
	Format string        `json:"format"`
	Key    string        `json:"key"`
	Events []cachedEvent `json:"events"`
}

// cachedEvent is an llm.Event that belongs to an answer.
type cachedEvent struct {
	Type   llm.EventType `json:"type"`
	Index  int           `json:"index,omitempty"`
	Text   string        `json:"text,omitempty"`
	CallID string        `json:"call_id,omitempty"`
	Name   string        `json:"name,omitempty"`
	Part   *part         `json:"part,omitempty"`
	Usage  *llm.Usage    `json:"usage,omitempty"`
	Finish *llm.Finish   `json:"finish,omitempty"`
}

// part is an llm.Part whose JSON is text: a vendor may want it back byte by byte.
type part struct {
	llm.Part
	Args   string `json:"args,omitempty"`
	Opaque string `json:"opaque,omitempty"`
}

func (p part) unpacked() llm.Part {
	out := p.Part
	if p.Args != "" {
		out.Args = json.RawMessage(p.Args)
	}
	if p.Opaque != "" {
		out.Opaque = json.RawMessage(p.Opaque)
	}
	return out
}

// keep puts the answer into the cache, if it may be given again: it ended well, and there
// is no secret in it.
func (c *call) keep() error {
	if c.Cache == nil {
		return nil
	}
	_, _, finish, err := c.whole.Result()
	if err != nil || finish.Reason == llm.Error {
		return nil
	}
	data, err := packAnswer(c.key, c.events)
	if err != nil {
		return fault.New(fault.Failed, "keep answer of model: %w", err)
	}
	// Of the answer alone: the key next to its name looks like a secret, and is none.
	plain, err := packAnswer("", c.events)
	if err != nil {
		return fault.New(fault.Failed, "keep answer of model: %w", err)
	}
	if _, found, err := c.redact(plain); err != nil || found {
		return err
	}
	if same, err := unpackAnswer(c.key, data); err != nil || !reflect.DeepEqual(same, c.events) {
		return nil // JSON cannot hold it as it is
	}
	if err := c.Cache.Put(c.key, data); err != nil {
		return err
	}
	c.Sequence.note(c.key)
	return nil
}

// recall looks for an answer that was given before.
func (c *call) recall() ([]llm.Event, bool, error) {
	if c.Cache == nil || c.Item.Task.Fresh {
		return nil, false, nil
	}
	data, ok, err := c.Cache.Get(c.key)
	if err != nil || !ok {
		return nil, false, err
	}
	events, err := unpackAnswer(c.key, data)
	if err != nil { // it was changed, or another version wrote it
		return nil, false, c.Cache.Drop(c.key)
	}
	return events, true, nil
}

// replay gives an answer again.
func (c *call) replay(ctx context.Context, events []llm.Event, yield func(llm.Event) bool) {
	c.name()
	c.Sequence.note(c.key)
	for _, e := range events {
		c.whole.Add(e)
	}
	message, usage, finish, _ := c.whole.Result()
	output, _, err := hashJSON(answerParts(message))
	if err == nil {
		w := c.newEvidence()
		w.Cached = true
		w.Answer = &recordedAnswer{Parts: answerParts(message), Usage: usage, FinishReason: string(finish.Reason), RawReason: finish.Raw, OutputHash: output}
		err = c.last(ctx, run.LLMCacheHit, run.CacheHit{CallID: c.id, CacheKey: c.key, OutputHash: output}, w)
	}
	if err != nil {
		yield(llm.Fail(err))
		return
	}
	for _, e := range events {
		if ctx.Err() != nil {
			yield(llm.Fail(llm.Ended(ctx)))
			return
		}
		if e.Type == llm.Used {
			e.Usage = &llm.Usage{} // it was paid for then
		}
		if !yield(e) {
			return
		}
	}
}

func packAnswer(key string, events []llm.Event) ([]byte, error) {
	a := answers{Format: format, Key: key, Events: make([]cachedEvent, len(events))}
	for i, e := range events {
		out := cachedEvent{Type: e.Type, Index: e.Index, Text: e.Text, CallID: e.CallID, Name: e.Name}
		switch e.Type {
		case llm.Done:
			out.Part = &part{Part: *e.Part, Args: string(e.Part.Args), Opaque: string(e.Part.Opaque)}
			out.Part.Part.Args, out.Part.Part.Opaque = nil, nil
		case llm.Used:
			out.Usage = e.Usage
		case llm.Finished:
			out.Finish = &e.Finish
		}
		a.Events[i] = out
	}
	return json.Marshal(a)
}

// unpackAnswer reads what pack wrote, and refuses everything else: an answer is whole.
func unpackAnswer(key string, data []byte) ([]llm.Event, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var a answers
	if err := dec.Decode(&a); err != nil {
		return nil, err
	}
	if dec.More() || a.Format != format || a.Key != key || len(a.Events) == 0 {
		return nil, fmt.Errorf("it is not an answer to this request")
	}
	out := make([]llm.Event, len(a.Events))
	for i, e := range a.Events {
		made := llm.Event{Type: e.Type, Index: e.Index, Text: e.Text, CallID: e.CallID, Name: e.Name}
		ok := (e.Part != nil) == (e.Type == llm.Done) && (e.Usage != nil) == (e.Type == llm.Used) &&
			(e.Finish != nil) == (e.Type == llm.Finished) && (e.Type == llm.Finished) == (i == len(a.Events)-1)
		switch e.Type {
		case llm.TextDelta, llm.ThinkingDelta, llm.ToolStart, llm.ToolDelta:
		case llm.Done:
			if ok {
				whole := e.Part.unpacked()
				made.Part = &whole
				ok = made.Part.Type != llm.ToolCall || json.Valid(made.Part.Args)
				ok = ok && (len(made.Part.Opaque) == 0 || json.Valid(made.Part.Opaque))
			}
		case llm.Used:
			if ok {
				made.Usage = e.Usage
			}
		case llm.Finished:
			if ok {
				made.Finish = *e.Finish
			}
		default:
			ok = false
		}
		if !ok {
			return nil, fmt.Errorf("event %d is none of an answer", i)
		}
		out[i] = made
	}
	return out, nil
}

// AnswerFolder keeps answers in a folder, one file (0600) for each key. Hosts of one machine
// may share it. A file begins with the hash of the rest: what a crash or anybody else
// damaged is not there.
type AnswerFolder struct{ Dir string }

var _ AnswerCache = AnswerFolder{}

var keyForm = text.Regexp(`^[0-9a-f]{64}$`)

const sumLine = 2*sha256.Size + 1

func (c AnswerFolder) path(key string) (string, error) {
	if !keyForm().MatchString(key) {
		return "", fault.New(fault.InvalidID, "%.80q is not a key of an answer", key)
	}
	return filepath.Join(c.Dir, key+".json"), nil
}

// Get implements AnswerCache.
func (c AnswerFolder) Get(key string) ([]byte, bool, error) {
	path, err := c.path(key)
	if err != nil {
		return nil, false, err
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, durable.Failure("read answer", path, err)
	}
	if len(data) < sumLine || string(data[:sumLine]) != sumOf(data[sumLine:]) {
		return nil, false, nil
	}
	return data[sumLine:], true, nil
}

// Put implements AnswerCache.
func (c AnswerFolder) Put(key string, data []byte) error {
	path, err := c.path(key)
	if err != nil {
		return err
	}
	if err := durable.MakeFolder(c.Dir, 0o700); err != nil {
		return err
	}
	return durable.PutFile(path, append([]byte(sumOf(data)), data...), 0o600)
}

// Drop implements AnswerCache.
func (c AnswerFolder) Drop(key string) error {
	path, err := c.path(key)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return durable.Failure("drop answer", path, err)
	}
	return nil
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]) + "\n"
}
