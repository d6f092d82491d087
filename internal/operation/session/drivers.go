package session

import (
	"context"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/driver"
	"ramet/internal/model/catalog"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
)

// Own is the driver that is no other program: ramet's own loop.
const Own = "ramet"

// Driver returns the model that a driver and a model name, either of which may be empty:
// driver/NAME with the program's own word for a model, or a model of ramet's own loop. Zero:
// nothing was said.
func (w Programs) Driver(name, model string) (llm.Ref, error) {
	switch {
	case name == "" && model == "":
		return llm.Ref{}, nil
	case name == Own && model == "":
		if model = w.ws.Config.Model; model == "" {
			return llm.Ref{}, fault.New(fault.Usage, "which model is ramet to ask?").WithHint("--model vendor/name, or `ramet config set model`")
		}
		return catalog.Parse(model)
	case name == "" || name == Own:
		return catalog.Parse(model)
	}
	if _, err := driver.FindPreset(name, w.ws.Config.Drivers); err != nil {
		return llm.Ref{}, err
	}
	if strings.ContainsFunc(model, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return llm.Ref{}, fault.New(fault.InvalidConfig, "%.80q names no model", model).WithHint("use the program's own word for it")
	}
	return driver.Ref(name, model), nil
}

// Drivers lists the programs that can drive agents. With ask, those that are installed are
// started to say who they are.
func (w Programs) Drivers(ctx context.Context, ask bool) public.Drivers {
	if w.ws.drivers == nil {
		return public.Drivers{Drivers: []public.Driver{}}
	}
	return w.ws.drivers(ctx, w.ws, ask)
}

// DrivenAmong returns what is known of the agents of a list that other programs drive.
func (w Programs) DrivenAmong(ctx context.Context, nodes []agent.Node) (map[id.Agent]*public.Driven, error) {
	out := map[id.Agent]*public.Driven{}
	for _, n := range nodes {
		if n.Provider != agent.DriverVendor {
			continue
		}
		driven, err := w.DrivenOf(ctx, *n.Agent)
		if err != nil {
			return nil, err
		}
		out[n.ID] = driven
	}
	return out, nil
}

// DrivenOf returns what is known of an agent that another program drives; nil: none does.
func (w Programs) DrivenOf(ctx context.Context, a agent.Agent) (*public.Driven, error) {
	name := a.Driver()
	if name == "" {
		return nil, nil
	}
	by, err := registry.AccountsOf(ctx, w.ws.Store, a.ID)
	if err != nil {
		return nil, err
	}
	mode, err := driver.Mode(ctx, w.ws.Store, a.ID, name)
	if err != nil {
		return nil, err
	}
	out := w.driven(name, mode, by)
	if out.Boxed != nil && !*out.Boxed {
		item, err := w.belowRun(ctx, a)
		if err != nil {
			return nil, err
		}
		out.Boxed = &item // whatever its preset says: nobody watches an item
	}
	return out, nil
}

// belowRun reports whether an agent is in the subtree of the agent of a run.
func (w Programs) belowRun(ctx context.Context, a agent.Agent) (bool, error) {
	for !a.IsZero() {
		above, err := w.ws.Store.Agent(ctx, a.Parent)
		if err != nil {
			return false, err
		}
		if strings.HasPrefix(above.Name, RunName) {
			return true, nil
		}
		a = above
	}
	return false, nil
}

func (w Programs) driven(name, mode string, by registry.Accounts) *public.Driven {
	p, err := driver.FindPreset(name, w.ws.Config.Drivers)
	if err != nil { // another configuration's
		return public.FormatDriven(name, by, false)
	}
	out := public.FormatDriven(name, by, len(p.Bases) > 0 && !p.Direct)
	asks, boxed := p.AsksIn(mode), p.Boxed(mode)
	out.Asks, out.Boxed = &asks, &boxed
	return out
}
