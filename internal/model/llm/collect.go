package llm

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"ramet/internal/base/fault"
)

// Collect drains a stream and gives the message, or the error of Failed. With an
// error the message is what was shown so far, without tool calls: an answer that
// did not end asks for nothing. It is for programs that only want the end: tests, live,
// tools/oracle.
func Collect(stream iter.Seq[Event]) (Message, Usage, Finish, error) {
	var c Collector
	for e := range stream {
		c.Add(e)
	}
	return c.Result()
}

// Collector is Collect for those who look at the events themselves.
type Collector struct {
	parts  []Part
	open   map[int]*piece // begun and not done, by index
	last   *piece         // of them, the one that grew last; nil: none
	at     int            // its index
	usage  Usage
	finish Finish
	err    error
	ended  bool
}

type piece struct {
	kind PartType
	text strings.Builder
}

// Add takes the next event. What follows a terminal one is ignored.
func (c *Collector) Add(e Event) {
	if c.ended {
		return
	}
	switch e.Type {
	case TextDelta:
		c.delta(&e, Text)
	case ThinkingDelta:
		c.delta(&e, Thinking)
	case Done:
		delete(c.open, e.Index)
		c.last = nil
		c.parts = append(c.parts, *e.Part)
	case Used:
		c.usage = *e.Usage
	case Finished:
		c.finish, c.ended = e.Finish, true
	case Failed:
		c.err, c.ended = e.Err, true
		if c.err == nil {
			c.err = fault.New(fault.ProviderProtocol, "ask model: it failed and nobody said why")
		}
	}
}

func (c *Collector) delta(e *Event, kind PartType) {
	if c.last == nil || c.at != e.Index {
		if c.open == nil {
			c.open = map[int]*piece{}
		}
		if c.open[e.Index] == nil {
			c.open[e.Index] = &piece{kind: kind}
		}
		c.last, c.at = c.open[e.Index], e.Index
	}
	c.last.text.WriteString(e.Text)
}

// Result returns what Collect returns.
func (c *Collector) Result() (Message, Usage, Finish, error) {
	m := Message{Role: Assistant, Parts: c.parts}
	if c.ended && c.err == nil {
		return m, c.usage, c.finish, nil
	}
	err := c.err
	if !c.ended {
		err = Cut(nil)
	}
	return Message{Role: Assistant, Parts: c.shown()}, c.usage, Finish{}, err
}

// shown returns the texts and thoughts that came, whole or not.
func (c *Collector) shown() []Part {
	var out []Part
	for _, p := range c.parts {
		if p.Type == Text || p.Type == Thinking {
			out = append(out, p)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(c.open)) {
		out = append(out, Part{Type: c.open[i].kind, Text: c.open[i].text.String()})
	}
	return out
}
