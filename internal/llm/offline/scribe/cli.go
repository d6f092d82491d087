package scribe

import (
	"slices"
	"strings"

	"ramet/internal/llm/offline/prose"
)

// cli shows programs and commands with their flags.
func (s *sheet) cli() {
	pages := map[string]string{}
	for _, p := range s.a.Section.Pages {
		if p.Path != s.page.Path {
			pages[p.Title] = p.Path
		}
	}
	flags := map[string][]Claim{}
	var order []string // of those whose flags are still to be shown
	for _, c := range s.kind("flag") {
		if flags[c.Module] == nil {
			order = append(order, c.Module)
		}
		flags[c.Module] = append(flags[c.Module], c)
	}
	commands := s.kind("command")
	entries := s.kind("entry")
	known := func(name string) bool {
		return slices.ContainsFunc(commands, func(c Claim) bool { return full(c) == name })
	}
	single := len(entries)+len(commands) == 1 && len(order) <= 1
	var bare []Claim
	for _, c := range entries {
		if flags[c.Name] == nil && !single || known(c.Name) {
			bare = append(bare, c)
		}
	}
	if len(bare) > 0 {
		s.programs(bare)
	}
	for _, c := range append(slices.DeleteFunc(entries, func(c Claim) bool { return s.used[c.ID] }), commands...) {
		name := full(c)
		if c.Kind == "entry" {
			name, c.Signature = c.Name, "" // it says how it is declared, which is no usage
		}
		if !single && !strings.EqualFold(name, s.page.Title) {
			s.heading(2, prose.CodeSpan(name))
		}
		cited := s.text(c, 3)
		switch {
		case c.Signature != "" && cited:
			s.code(c.Signature, "text")
		case c.Signature != "":
			s.code(c.Signature, "text", c)
		case !cited:
			s.add(marker(c), c)
		}
		if p := pages[name]; p != "" && len(flags[name]) == 0 {
			s.say("Its flags are listed on [a page of its own](" + relative(s.page.Path, p) + ").")
		}
		level := 3
		if single || strings.EqualFold(name, s.page.Title) {
			level = 2
		}
		s.flags(flags[name], level)
		order = slices.DeleteFunc(order, func(o string) bool { return o == name })
	}
	for _, name := range order {
		if name == "" {
			s.heading(2, "Flags")
		} else {
			s.heading(2, "Flags of "+prose.CodeSpan(name))
		}
		s.flags(flags[name], 0)
	}
}

func nameOr(name, other string) string {
	if name == "" {
		return other
	}
	return name
}

// full is the name of a command with those it stands under.
func full(c Claim) string {
	if c.Module == "" || strings.HasPrefix(c.Name, c.Module+" ") || c.Name == c.Module {
		return nameOr(c.Name, c.Module)
	}
	if c.Name == "" {
		return c.Module
	}
	return c.Module + " " + c.Name
}

// flags are a table; level is that of its heading, if it has one.
func (s *sheet) flags(all []Claim, level int) {
	if len(all) == 0 {
		return
	}
	if level > 0 {
		s.heading(level, "Flags")
	}
	var rows [][]string
	for _, c := range all {
		sign := c.Signature
		if sign == "" {
			sign = c.Name
		}
		var words []string
		for _, b := range prose.Blocks(c.Text, tongue(c), 6) {
			if b.Kind == prose.Paragraph {
				words = append(words, b.Text)
			}
		}
		rows = append(rows, []string{prose.CodeSpan(sign), strings.Join(words, " ")})
	}
	s.table([]string{"Flag", "Meaning"}, rows, all)
}

// kindTitles are headings of a section that the user made up.
var kindTitles = []struct{ kind, title string }{
	{"requires", "Requirements"}, {"install", "Installation"}, {"entry", "Programs"}, {"convention", "Conventions"},
}

// plain writes a section that the user made up: claims by kind.
func (s *sheet) plain() {
	if about := s.kind("project", "readme"); len(about) > 0 {
		s.opening(s.kind("readme"))
		for _, c := range s.kind("readme") {
			s.part(c)
		}
		if left := s.kind("project"); len(left) > 0 {
			s.facts(left)
		}
	}
	for _, k := range kindTitles {
		if claims := s.kind(k.kind); len(claims) > 0 {
			s.heading(2, k.title)
			s.facts(claims)
		}
	}
	if len(s.kind("command", "flag")) > 0 {
		s.cli()
	}
	if api := s.kind("module", "function", "type", "method", "value"); len(api) > 0 {
		modules := (&sheet{all: append(api, s.kind("example")...)}).modules()
		for _, m := range modules {
			if len(modules) == 1 {
				s.module(m, 2)
				continue
			}
			s.heading(2, prose.Escape(nameOr(m.name, s.a.Project)))
			s.module(m, 3)
		}
	}
	if examples := s.kind("example"); len(examples) > 0 {
		s.heading(2, "Examples")
		for _, c := range examples {
			s.heading(3, exampleTitle(c))
			s.example(c)
		}
	}
	s.licence()
}
