package session

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/model/catalog"
	"ramet/internal/model/llm"
)

// Effort holds the effort of an agent's model, and where it was chosen.
type Effort struct {
	Word llm.Effort // empty: it is not asked to think
	Of   id.Agent   // who was told; empty: nobody was
	Set  bool       // nobody was told, and the configuration says so
}

// Effort returns the effort that the model of an agent would have.
func (w Models) Effort(ctx context.Context, a agent.Agent) (Effort, error) {
	told, of, err := registry.Effort(ctx, w.ws.Store, a.ID)
	if err != nil {
		return Effort{}, err
	}
	if told.Or("") != "" {
		return Effort{Word: told, Of: of}, nil
	}
	if set := llm.Effort(w.ws.Config.Effort); set.Or("") != "" {
		return Effort{Word: set, Set: true}, nil
	}
	return Effort{Word: w.known(a).Effort}, nil
}

// known returns the model that an agent would use, as far as it is known without asking a server.
// What nobody knows is empty; who asks for a turn is told why.
func (w Models) known(a agent.Agent) llm.Model {
	name := w.ws.Config.Model
	if a.Provider != "" && a.Model != "" {
		name = a.Provider + "/" + a.Model
	}
	ref, err := catalog.Choose(name, func(v catalog.Vendor) bool { ok, _ := w.ws.Keys.Usable(v); return ok })
	if err != nil {
		return llm.Model{}
	}
	v, err := catalog.Find(ref.Vendor)
	if err != nil {
		return llm.Model{}
	}
	m, _ := v.Model(ref.Name)
	return m
}

// SetEffort tells an agent how hard its model is to think: from its next turn on, and
// for the children that are born after it.
func (w Models) SetEffort(ctx context.Context, a agent.Agent, e llm.Effort) error {
	if err := agent.NeedLiving(a); err != nil {
		return err
	}
	if err := w.ws.may(ctx, "set the effort of", a); err != nil {
		return err
	}
	if err := w.ws.mended(ctx, a); err != nil {
		return err
	}
	return w.ws.Agents().order(ctx, a.ID, registry.EffortEntry(e))
}
