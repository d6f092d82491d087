package session

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/kit"
	"ramet/internal/core/registry"
	"ramet/internal/driver"
	"ramet/internal/model/catalog"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
	"ramet/internal/run/recipe"
	"ramet/internal/turn/permit"
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
	if w.ws.system.Drivers == nil {
		return public.Drivers{Drivers: []public.Driver{}}
	}
	return w.ws.system.Drivers(ctx, w.ws, ask)
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

// Offers returns the store of what programs that drive agents offered.
func (w Programs) Offers() *driver.Offers {
	w.ws.offering.Do(func() { w.ws.offers = &driver.Offers{Folder: filepath.Join(w.ws.Home, "drivers")} })
	return w.ws.offers
}

// Program returns what is known of the program that drives an agent; nil: none does.
func (w Programs) Program(ctx context.Context, a agent.Agent) (*public.Program, error) {
	name := a.Driver()
	if name == "" {
		return nil, nil
	}
	o, _ := w.Offers().Of(name)
	mode, err := driver.Mode(ctx, w.ws.Store, a.ID, name)
	if err != nil {
		return nil, err
	}
	out := formatProgram(name, o)
	p, err := driver.FindPreset(name, w.ws.Config.Drivers)
	if mode == "" && err == nil {
		mode = p.Mode
	}
	if mode != "" {
		out.Mode = &mode
	}
	if err == nil {
		boxed := p.Boxed(mode)
		out.Boxed = &boxed
	}
	return out, nil
}

// ChooseMode chooses how an agent's calls are permitted, or one of the modes of the program that
// drives it: by the program's own word, or NAME:WORD where ramet has the same.
func (w Programs) ChooseMode(ctx context.Context, a agent.Agent, word string) error {
	name := a.Driver()
	o, _ := w.Offers().Of(name)
	if own, ok := strings.CutPrefix(word, name+":"); ok && name != "" {
		if !driver.Has(o.Modes, own) {
			return fault.New(fault.InvalidField, "%s offers no mode %.40q", name, own).WithHint("%s", modesHint(name, o))
		}
		return w.ws.Turns().orderMode(ctx, a, driver.ModeEntry(name, own)) // from its next turn on
	}
	if !slices.Contains(permit.Modes(), permit.Mode(word)) && driver.Has(o.Modes, word) {
		return w.ws.Turns().orderMode(ctx, a, driver.ModeEntry(name, word))
	}
	mode, err := permit.ParseMode(word)
	if err != nil {
		return err
	}
	return w.ws.Turns().SetMode(ctx, a, mode)
}

func modesHint(name string, o driver.Offer) string {
	if len(o.Modes) == 0 {
		return "it tells its modes when it has run once"
	}
	words := make([]string, len(o.Modes))
	for i, m := range o.Modes {
		words[i] = m.Word
	}
	return name + " has " + strings.Join(words, ", ")
}

// ProgramCommands returns the commands of the program that drives an agent, for menus. Where ramet, the
// user or the project has one of the same name, it is NAME:COMMAND.
func (w Programs) ProgramCommands(a agent.Agent) []kit.Command {
	name := a.Driver()
	if name == "" {
		return nil
	}
	o, _ := w.Offers().Of(name)
	defined := w.ws.Prompts().Defined()
	var out []kit.Command
	for _, c := range o.Commands {
		word := c.Word
		_, own := FindCommand(word)
		if own || slices.ContainsFunc(defined, func(d kit.Command) bool { return d.Name == word }) {
			word = name + ":" + word
		}
		out = append(out, kit.Command{Name: word, Description: c.About, Hint: c.Hint})
	}
	return out
}

// programModels returns the models of programs that are installed, and the programs themselves.
func (w Programs) programModels(ctx context.Context) []Model {
	var out []Model
	for _, d := range w.Drivers(ctx, false).Drivers {
		if d.State != "found" && d.State != "ready" {
			continue
		}
		out = append(out, Model{Ref: driver.Ref(d.Name, ""), Title: d.Title + " (drives the agent)"})
		o, _ := w.Offers().Of(d.Name)
		for _, m := range o.Models {
			if !strings.ContainsAny(m.Word, " \t") {
				out = append(out, Model{Ref: driver.Ref(d.Name, m.Word), Title: d.Title + ": " + m.Title})
			}
		}
	}
	return out
}

// formatProgram converts an offer to its public shape.
func formatProgram(name string, o driver.Offer) *public.Program {
	return &public.Program{Driver: name, Modes: formatChoices(o.Modes), Models: formatChoices(o.Models),
		Efforts: formatChoices(o.Efforts), Commands: formatChoices(o.Commands)}
}

func formatChoices(all []driver.Choice) []public.Choice {
	out := make([]public.Choice, len(all))
	for i, c := range all {
		out[i] = public.Choice{Word: c.Word, Title: c.Title, About: c.About, Hint: public.Optional(c.Hint)}
	}
	return out
}

// CheckDrivers refuses workers whose driver is unknown here; with installed also those whose program is not
// found on this machine.
func (w Programs) CheckDrivers(workers []recipe.DrivenWorker, installed bool) error {
	for _, one := range workers {
		p, err := driver.FindPreset(one.Driver, w.ws.Config.Drivers)
		if err == nil && installed {
			err = p.Installed(os.Environ())
		}
		if err != nil {
			return ofWorker(one, err)
		}
	}
	return nil
}

// ofWorker says of which worker an error tells.
func ofWorker(one recipe.DrivenWorker, err error) error {
	f, ok := fault.Of(err)
	if !ok {
		return err
	}
	return fault.New(f.Code, "line %d: worker %s: %s", one.Line, one.Worker, f.Message).WithHint("%s", f.Hint)
}
