// Package toolinfo describes ramet's built-in tools: one Markdown file for each, whose header holds
// the facts that other packages need and whose body is the description for the model.
//
// It is below every package that asks about a tool by name (recipes, permissions, hooks, imported
// conversations, editors) and below the tools themselves, which take their name, description and
// access from here (tool.Describe). So a fact about a tool is written in one place.
package toolinfo

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/fault"
)

// Access names the effect that a tool can have; permission depends on it.
type Access string

// The kinds of access.
const (
	Reads     Access = "reads"     // looks at files of the workspace: runs unasked
	Writes    Access = "writes"    // changes files of the workspace
	Commands  Access = "commands"  // runs programs
	Servers   Access = "servers"   // calls a program of a third party, which can do anything
	Fetches   Access = "fetches"   // reads from other hosts: permitted by host
	Connects  Access = "connects"  // a running command connects to other hosts: permitted by host and port
	Processes Access = "processes" // acts on agents: unasked, within budget and descent
)

// Subject names what a call acts on: permission rules match it, and instructions of folders follow it.
type Subject string

// The subjects.
const (
	Command Subject = "command" // the argument command is a command line
	File    Subject = "file"    // the argument path names a file
	Folder  Subject = "folder"  // the argument path names where to search
	Host    Subject = "host"    // the host of a URL
	Driver  Subject = "driver"  // the program that drives a new agent
	Child   Subject = "child"   // an agent whose work is merged
	None    Subject = "none"    // no rule can name the tool
)

// Info describes a tool. Do not modify it: all callers share it.
type Info struct {
	Name        string
	Description string // for the model
	Access      Access
	Subject     Subject
	// Kind is the tool's kind in the Agent Client Protocol.
	Kind string
	// Names lists what Claude Code calls the tool, the usual name first: hooks see and match these.
	Names []string
	// Aliases lists further names, which lists of allowed tools and imported conversations may have.
	Aliases []string
	// Arguments maps arguments of the tool to their names in Claude Code, where they differ.
	Arguments map[string]string
	// NotInRecipes explains why workers of recipes cannot use the tool; empty if they can.
	NotInRecipes string
	// Alone reports whether an agent that works alone is told of the tool from the start.
	Alone bool
	// Removable reports whether lists of allowed tools (skills, roles) can take the tool away.
	Removable bool
}

//go:embed *.md
var files embed.FS

type tables struct {
	all    []*Info          // by name
	byName map[string]*Info // also under the lower-case names of other programs
}

var known = sync.OnceValue(func() tables { return fault.Must(readAll()) })

// All returns all built-in tools, sorted by name.
func All() []*Info { return known().all }

// Find returns the built-in tool of this name, or nil.
func Find(name string) *Info {
	if t := known().byName[name]; t != nil && t.Name == name {
		return t
	}
	return nil
}

// FindForeign returns the built-in tool that ramet or another program calls so, in upper or lower
// case, or nil.
func FindForeign(name string) *Info { return known().byName[strings.ToLower(name)] }

// Kinds returns the kinds of calls in the Agent Client Protocol, but for "other".
func Kinds() []string {
	return []string{"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode"}
}

func readAll() (tables, error) {
	out := tables{byName: map[string]*Info{}}
	entries, err := files.ReadDir(".")
	for _, e := range entries { // sorted
		text, err := files.ReadFile(e.Name())
		if err != nil {
			return out, err
		}
		info, err := parseInfo(strings.TrimSuffix(e.Name(), ".md"), string(text))
		if err != nil {
			return out, err
		}
		out.all = append(out.all, info)
		for _, name := range slices.Concat([]string{info.Name}, info.Names, info.Aliases) {
			name = strings.ToLower(name)
			if other := out.byName[name]; other != nil && other != info {
				return out, fmt.Errorf("%s and %s are both called %s", other.Name, info.Name, name)
			}
			out.byName[name] = info
		}
	}
	return out, err
}

// parseInfo reads a description. Every field must be there, and no other.
func parseInfo(name, text string) (*Info, error) {
	header, body, ok := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	if !ok || strings.TrimSpace(body) == "" {
		return nil, fmt.Errorf("%s.md: want a header between two lines of --- and a description", name)
	}
	fields := map[string]string{}
	for line := range strings.SplitSeq(header, "\n") {
		key, value, _ := strings.Cut(line, ":")
		fields[key] = strings.TrimSpace(value)
	}
	var err error
	take := func(key string, allowed ...string) string {
		value := fields[key]
		delete(fields, key)
		if value == "" || len(allowed) > 0 && !slices.Contains(allowed, value) {
			err = fmt.Errorf("%s.md: %s is %q; want %s", name, key, value, strings.Join(append(allowed, "a value"), ", "))
		}
		return value
	}
	info := &Info{Name: name, Description: strings.TrimSpace(body),
		Access:    Access(take("access", string(Reads), string(Writes), string(Commands), string(Fetches), string(Processes))),
		Subject:   Subject(take("subject", string(Command), string(File), string(Folder), string(Host), string(Driver), string(Child), string(None))),
		Kind:      take("kind", append(Kinds(), "other")...),
		Names:     splitList(take("names")),
		Aliases:   splitList(take("aliases")),
		Arguments: map[string]string{},
		Alone:     take("alone", "yes", "no") == "yes",
		Removable: take("removable", "yes", "no") == "yes",
	}
	for _, pair := range splitList(take("arguments")) {
		ours, theirs, _ := strings.Cut(pair, "=")
		info.Arguments[ours] = theirs
	}
	if recipes := take("recipes"); recipes != "yes" {
		why, ok := strings.CutPrefix(recipes, "no, because ")
		if info.NotInRecipes = why; !ok {
			err = fmt.Errorf("%s.md: recipes is %q; want yes, or no, because REASON", name, recipes)
		}
	}
	for key := range fields {
		err = fmt.Errorf("%s.md: unknown field %q", name, key)
	}
	return info, err
}

func splitList(value string) []string {
	if value == "none" {
		return nil
	}
	return strings.Split(value, ", ")
}
