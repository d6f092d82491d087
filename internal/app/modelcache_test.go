package app_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// promptCache is a vendor's cache of prompts: what of each request it had read
// before, as its documents say. Bytes stand for tokens.
//
// Anthropic, and OpenRouter for its models, keep what ends at a cache_control, and
// find what ends there or up to twenty blocks before. OpenAI finds what began like
// an earlier request of the same prompt_cache_key, from 1024 tokens on, in steps of
// 128.
type promptCache struct {
	marked   bool // only what is marked is kept
	kept     map[[32]byte]bool
	requests map[string][][]byte
	asked    int
	read     int // from the second request on: bytes
	cached   int // of them, known
}

// segment is a piece of a request that can be the end of what is kept.
type segment struct {
	text []byte
	mark bool
}

func (c *promptCache) take(body []byte) {
	list, key := segments(body)
	size := 0
	for _, s := range list {
		size += len(s.text)
	}
	hit := 0
	if c.marked {
		hit = c.findMarked(list)
	} else {
		hit = c.findPrefix(list, key)
	}
	if c.asked++; c.asked > 1 {
		c.read, c.cached = c.read+size, c.cached+hit
	}
}

func (c *promptCache) findMarked(list []segment) (hit int) {
	if c.kept == nil {
		c.kept = map[[32]byte]bool{}
	}
	sums, sizes := make([][32]byte, len(list)), make([]int, len(list))
	hash, size := sha256.New(), 0
	for i, s := range list {
		hash.Write(s.text)
		size += len(s.text)
		sums[i], sizes[i] = [32]byte(hash.Sum(nil)), size
	}
	for i, s := range list {
		if !s.mark {
			continue
		}
		for j := i; j >= 0 && j > i-20; j-- {
			if c.kept[sums[j]] {
				hit = max(hit, sizes[j])
				break
			}
		}
	}
	for i, s := range list {
		if s.mark {
			c.kept[sums[i]] = true
		}
	}
	return hit
}

func (c *promptCache) findPrefix(list []segment, key string) (hit int) {
	if c.requests == nil {
		c.requests = map[string][][]byte{}
	}
	var whole []byte
	for _, s := range list {
		whole = append(whole, s.text...)
	}
	for _, old := range c.requests[key] {
		n := 0
		for n < min(len(old), len(whole)) && old[n] == whole[n] {
			n++
		}
		if n >= 4*1024 {
			hit = max(hit, n/512*512)
		}
	}
	c.requests[key] = append(c.requests[key], whole)
	return hit
}

// segments takes a request apart in the order in which vendors read it: tools,
// system prompt, messages.
func segments(body []byte) (list []segment, key string) {
	var q struct {
		Key                            string `json:"prompt_cache_key"`
		Tools, System, Messages, Input []json.RawMessage
	}
	json.Unmarshal(body, &q)
	add := func(raw json.RawMessage) {
		bare := raw
		for _, mark := range []string{`"cache_control":{"type":"ephemeral"}`, `"cache_control":{"type":"ephemeral","ttl":"1h"}`} {
			bare = bytes.ReplaceAll(bytes.ReplaceAll(bare, []byte(","+mark), nil), []byte(mark+","), nil)
		}
		list = append(list, segment{bare, len(bare) != len(raw)})
	}
	for _, group := range [][]json.RawMessage{q.Tools, q.System, q.Messages, q.Input} {
		for _, one := range group {
			var m struct {
				Role    string
				Content []json.RawMessage
			}
			if json.Unmarshal(one, &m) != nil || len(m.Content) == 0 || m.Role == "" {
				add(one)
				continue
			}
			for _, block := range m.Content {
				add(append([]byte(m.Role), block...))
			}
		}
	}
	return list, q.Key
}

// cached demands that so much percent of what the newest server read from the second
// request on was cached.
func cached(ts *testscript.TestScript, _ bool, args []string) {
	s := serverOf(ts)
	s.mu.Lock()
	defer s.mu.Unlock()
	want, err := strconv.Atoi(args[0])
	if err != nil || s.cache.read == 0 {
		ts.Fatalf("cached PERCENT, of %d requests", s.cache.asked)
	}
	got := float64(s.cache.cached) * 100 / float64(s.cache.read)
	ts.Logf("%d requests, %d bytes, %.1f %% cached", s.cache.asked, s.cache.read, got)
	if got < float64(want) {
		ts.Fatalf("%.1f %% cached, want %d", got, want)
	}
}
