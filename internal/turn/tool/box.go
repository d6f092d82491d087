package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/model/llm"
)

// Box is the tools of one agent, in the order in which models see them.
type Box []Tool

// Told returns the tools of which a model is told.
func (b Box) Told() Box {
	var covers []Cover
	for _, t := range b {
		if c, ok := t.(Cover); ok {
			covers = append(covers, c)
		}
	}
	return slices.DeleteFunc(slices.Clone(b), func(t Tool) bool {
		return isUntold(t) || slices.ContainsFunc(covers, func(c Cover) bool { return c.Covers(NameOf(t)) })
	})
}

// Tell returns a tool that is offered to models, because a person chose it by its name.
func Tell(t Tool) Tool {
	if !isUntold(t) {
		return t
	}
	return chosen{t}
}

func isUntold(t Tool) bool {
	_, named := t.(Named)
	return !named && t.Spec().Untold
}

type chosen struct{ Tool }

func (c chosen) Spec() Spec {
	s := c.Tool.Spec()
	s.Untold = false
	return s
}

// Names returns those of the tools.
func (b Box) Names() []string {
	out := make([]string, len(b))
	for i, t := range b {
		out[i] = NameOf(t)
	}
	return out
}

// Offer returns the tools in the form of a request to a model.
func (b Box) Offer() []llm.Tool {
	b = b.Told()
	out := make([]llm.Tool, len(b))
	for i, t := range b {
		s := t.Spec()
		schema := s.Schema
		if schema == nil {
			schema = s.Args.Brief()
		}
		out[i] = llm.Tool{Name: s.Name, Description: strings.TrimSpace(s.Description), Schema: schema}
	}
	return out
}

// Open returns the tools and those that chests among them have opened, as far as they are left.
func (b Box) Open() Box {
	out := b
	for _, t := range b {
		if c, ok := t.(Chest); ok {
			out = append(out[:len(out):len(out)], c.Opened()...)
		}
	}
	for _, t := range b {
		if n, ok := t.(Narrower); ok {
			out = n.Narrow(out)
		}
	}
	return out
}

// Found is a call that can be run.
type Found struct {
	Tool
	Args json.RawMessage // as they were meant
	Note string          // for the model, under the answer; empty: nothing
}

// Find checks a call as the model made it and finds its tool. Arguments whose meaning is
// plain are taken: a number in quotes, null for nothing. Those that the tool does not have are
// ignored, which the note says; but a tool that acts on agents refuses one that is nearly the name
// of another, because what agents are told to do is not guessed. A call that cannot be run is
// refused with an answer for the model that says why: an unknown name, arguments that are no JSON
// or have not the shape.
func (b Box) Find(call llm.Part) (Found, Answer, bool) {
	i := slices.IndexFunc(b, func(t Tool) bool { return NameOf(t) == call.Name })
	if i < 0 {
		names := b.Told().Names()
		said := fmt.Sprintf("There is no tool %.60q.", call.Name)
		if near := text.NearestWord(call.Name, names); near != "" {
			said += fmt.Sprintf(" Did you mean %q?", near)
		}
		return Found{}, Failed(said + " The tools are: " + strings.Join(names, ", ") + "."), false
	}
	if call.Malformed != "" {
		return Found{}, Failed("The arguments are no complete JSON object. Nothing was run; send the call again, whole."), false
	}
	if b[i].Spec().Schema != nil {
		return Found{Tool: b[i], Args: call.Args}, Answer{}, true // the one that answers it checks it
	}
	form := b[i].Spec().Args
	args, unknown := form.Take(call.Args)
	meant, near := nearestMembers(call.Name, unknown)
	err := form.Check(args)
	if err != nil || near && b[i].Spec().Access == Processes {
		return Found{}, refuseArguments(call.Name, form, err, meant), false
	}
	found := Found{Tool: b[i], Args: args}
	if meant != "" {
		found.Note = "[note: " + meant + " and was ignored]"
	}
	return found, Answer{}, true
}

// refuseArguments refuses arguments; meant is about those that the tool does not have.
func refuseArguments(name string, form *shape.Shape, err error, meant string) Answer {
	said := fmt.Sprintf("The arguments of %s are wrong", name)
	if e := (*shape.Error)(nil); errors.As(err, &e) && e.Pointer != "" {
		said += ": " + text.Line(e.Path(), 80) + ": " + e.What
	} else if err != nil {
		said += ": " + err.Error()
	}
	if meant != "" {
		said += ". " + meant
	}
	fields := "It has no fields."
	if len(form.Fields()) > 0 {
		fields = "Fields: " + listMembers(form) + "."
	}
	return Failed(said + ". " + fields + " Nothing was run.")
}

// nearestMembers says of arguments that a tool does not have what they should perhaps be called; near
// says that there is such a name.
func nearestMembers(name string, unknown []shape.Unknown) (says string, near bool) {
	var said []string
	for _, u := range unknown[:min(len(unknown), 5)] {
		one := fmt.Sprintf("%s is not a field of %s", text.Line(u.Path(), 80), name)
		if meant := meantField(u.Of, u.Name); meant != "" {
			one += " (did you mean " + meant + "?)"
			near = true
		}
		said = append(said, one)
	}
	return strings.Join(said, ", "), near
}

// meantField returns the field whose name is near, or a part of what was written.
func meantField(form *shape.Shape, unknown string) string {
	var names []string
	plain := strings.ToLower(strings.ReplaceAll(unknown, "-", "_"))
	for _, f := range form.Fields() {
		names = append(names, f.Name)
		if strings.HasSuffix(plain, "_"+f.Name) || strings.HasSuffix(f.Name, "_"+plain) || strings.HasPrefix(plain, f.Name+"_") ||
			strings.ReplaceAll(f.Name, "_", "") == strings.ReplaceAll(plain, "_", "") {
			return f.Name
		}
	}
	return text.NearestWord(unknown, names)
}

// listMembers lists what a tool takes, with the members of what is in lists.
func listMembers(form *shape.Shape) string {
	var names []string
	for _, f := range form.Fields() {
		var about []string
		if !f.Optional {
			about = append(about, "needed")
		}
		if words := f.Shape.Words(); words != nil {
			about = append(about, strings.Join(words, " | "))
		}
		if each := f.Shape.Elements(); each != nil && len(each.Fields()) > 0 {
			about = append(about, "each with "+listMembers(each))
		}
		if about != nil {
			f.Name += " (" + strings.Join(about, "; ") + ")"
		}
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}
