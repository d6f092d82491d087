package session

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
)

// How much is written at once.
const (
	batchDrafts = 512
	batchBytes  = 4 << 20
)

// batch holds entries that are written together. While one is on its way into the store, the next lines are read: an
// import takes as long as the longer of the two, not as both.
type batch struct {
	agent   id.Agent
	at      [][]history.Bytes // of the entries
	entries []history.Entry   // when it is done
	err     error
	done    chan struct{}
}

// send begins to write what waits for an agent, behind what was sent before.
func (w *bringer) send(ctx context.Context, a id.Agent) error {
	if err := w.settle(); err != nil {
		return err
	}
	t := w.held.tips[a]
	if t == nil || len(t.drafts) == 0 {
		return nil
	}
	b := &batch{agent: a, at: t.at, done: make(chan struct{})}
	drafts := t.drafts
	t.drafts, t.at, t.size = nil, nil, 0
	w.sent = b
	go func() {
		defer close(b.done)
		b.entries, b.err = w.ws.Store.Append(ctx, a, agent.Passing(), drafts...)
	}()
	return nil
}

// settle waits for what was sent, and takes down where it stands.
func (w *bringer) settle() error {
	b := w.sent
	if b == nil {
		return nil
	}
	w.sent = nil
	<-b.done
	for i, e := range b.entries {
		for _, one := range b.at[i] {
			w.held.positions.set(one, position{b.agent, e.ID})
		}
		if len(b.at[i]) > 0 {
			w.held.tips[b.agent].last = e.ID
		}
	}
	return b.err
}

// flush writes what waits for an agent, and waits for it.
func (w *bringer) flush(ctx context.Context, a id.Agent) error {
	if err := w.send(ctx, a); err != nil {
		return err
	}
	return w.settle()
}
