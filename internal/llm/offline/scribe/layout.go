package scribe

import (
	"slices"
	"strings"

	"ramet/internal/llm/offline/prose"
)

// write lays a page out. titled: the page has a title already, and what is written stands
// below it.
func write(a *Assignment, p Page, titled bool) string {
	s := newSheet(a, p, 0)
	if titled {
		s.shift = 1
	}
	s.heading(1, prose.Escape(p.Title))
	switch a.Section.Name {
	case "overview":
		s.overview()
	case "guide":
		s.guide()
	case "reference":
		s.reference()
	case "cli":
		s.cli()
	case "contributing":
		s.contributing()
	default:
		s.plain()
	}
	if a.Section.Name == "overview" {
		s.contents()
	} else {
		s.seeAlso("See also")
	}
	return s.String()
}

// named finds the claims about the project with a name.
func (s *sheet) named(name string) (Claim, bool) {
	for _, c := range s.kind("project") {
		if strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return Claim{}, false
}

func (s *sheet) overview() {
	about, rest := s.readme(func(c Claim) bool { return !usage().MatchString(c.Name) })
	s.opening(about)
	for _, c := range about {
		if s.used[c.ID] {
			continue
		}
		s.part(c)
	}
	s.quickInstall(about)
	for _, c := range rest {
		s.excerpt(c)
	}
	for _, c := range s.kind("example") {
		s.heading(2, "Example")
		s.example(c)
	}
	s.licence()
}

var usage = lazily(`(?i)usage|^us(?:e|ing)\b|quick ?start|getting started|^examples?$|tutorial|install|download|requirement|prerequisite`)

// readme divides the parts of the README.
func (s *sheet) readme(first func(Claim) bool) (yes, no []Claim) {
	return divide(s.kind("readme"), first)
}

func divide(all []Claim, first func(Claim) bool) (yes, no []Claim) {
	for _, c := range all {
		if first(c) {
			yes = append(yes, c)
		} else {
			no = append(no, c)
		}
	}
	return yes, no
}

// opening says what the project is: as the README begins, else as the manifest has it.
func (s *sheet) opening(about []Claim) {
	description, described := s.named("description")
	if len(about) > 0 && untitled(about[0], s.a.Project, s.page.Title) {
		blocks := prose.Blocks(about[0].Text, "", 2+s.shift)
		said := ""
		for _, b := range blocks {
			if b.Kind == prose.Paragraph {
				said += b.Text + " "
			}
		}
		if described && len(blocks) < 2 && len(said) < len(description.Signature) && !same(said, description.Signature) {
			s.text(description, 2) // the manifest says more than the README
			return
		}
		s.blocks(about[0], blocks)
	} else if described {
		s.text(description, 2)
	} else {
		for _, c := range s.kind("module") {
			if blocks := prose.Blocks(c.Text, tongue(c), 2+s.shift); len(blocks) > 0 && blocks[0].Kind == prose.Paragraph {
				s.blocks(c, blocks[:1])
			}
		}
	}
	for _, c := range s.kind("project") {
		if !s.used[c.ID] && !strings.EqualFold(c.Name, "description") && len(s.out) == 1 {
			s.text(c, 2)
		}
	}
}

// same says whether a text holds another, whatever the case and the full stop.
func same(in, what string) bool {
	fold := func(s string) string {
		return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') }), " ")
	}
	w := fold(what)
	return w == "" || strings.Contains(fold(in), w)
}

// untitled says whether a part of the README stands before its first heading, or under
// its title.
func untitled(c Claim, names ...string) bool {
	if len(c.Evidence) > 0 && c.Evidence[0].From <= topLines && !headed().MatchString(c.Name) {
		return true // its title, whatever it says
	}
	return c.Name == "" || strings.EqualFold(c.Name, "readme") || strings.EqualFold(c.Name, "introduction") ||
		slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, c.Name) })
}

// topLines is where the title of a README stands at the latest.
const topLines = 20

// headed are headings that are no titles.
var headed = lazily(`(?i)^(?:key |main )?(?:overview|about|features?|why|what|status|introduction|motivation|goals?|description|background|summary|highlights|concepts?)\b`)

// part is a part of the README under its own heading.
func (s *sheet) part(c Claim) {
	blocks := prose.Blocks(c.Text, "", 3+s.shift)
	if len(blocks) == 0 {
		return
	}
	s.heading(2, heading(c.Name))
	s.blocks(c, blocks)
}

// heading is the words of a heading of the README, cleaned.
func heading(name string) string {
	words := strings.TrimSpace(prose.Inline(name, nil))
	words = strings.TrimRight(emoji().ReplaceAllString(words, ""), ": ")
	if words = strings.TrimSpace(words); words == "" {
		return "About"
	}
	return words
}

var emoji = lazily(`:[a-z0-9_+-]+:|[\x{1F000}-\x{1FAFF}\x{2600}-\x{27BF}\x{FE0F}]`)

// install shows how it is installed, once: where the README tells it, that is enough.
func (s *sheet) install(title string, told []Claim) {
	var show []Claim
	for _, c := range s.kind("install") {
		if !slices.ContainsFunc(told, func(t Claim) bool { return strings.Contains(t.Text, subject(c)) }) {
			show = append(show, c)
		}
	}
	if len(show) == 0 && len(told) == 0 {
		return
	}
	s.heading(2, title)
	s.commands(show)
	for _, c := range told {
		s.blocks(c, prose.Blocks(c.Text, "", 3+s.shift))
	}
}

// subject is what a command installs: its last word, without a version.
func subject(c Claim) string {
	words := strings.Fields(c.Signature)
	if len(words) == 0 {
		return c.Name
	}
	last := words[len(words)-1]
	if at := strings.LastIndexByte(last, '@'); at > 0 {
		last = last[:at]
	}
	return last
}

// commands are sentences with the command that each is about.
func (s *sheet) commands(show []Claim) {
	for _, c := range show {
		// "Add it with `go get x`." and the command below it: once is enough.
		if text, ok := strings.CutSuffix(c.Text, " with `"+c.Signature+"`."); ok && c.Signature != "" {
			s.say(prose.Inline(text, nil)+":", c)
			s.code(c.Signature, "sh")
			continue
		}
		cited := s.text(c, 3)
		if c.Signature != "" && !strings.Contains(c.Text, "```") {
			if cited {
				s.code(c.Signature, "sh")
			} else {
				s.code(c.Signature, "sh", c)
			}
		}
	}
}

// quickInstall is the shortest way, unless the text about the project tells it.
func (s *sheet) quickInstall(about []Claim) {
	all := s.kind("install")
	for i, c := range all {
		if c.Name == c.Module {
			all = all[i : i+1] // the project itself, and not one of its programs
			break
		}
	}
	for _, c := range all {
		for _, t := range about {
			if c.Signature != "" && strings.Contains(t.Text, strings.TrimSuffix(c.Signature, "@latest")) {
				return
			}
		}
	}
	if len(all) > 0 {
		s.heading(2, "Installation")
		s.commands(all)
	}
}

// excerpt is a part of the README up to its first program.
func (s *sheet) excerpt(c Claim) {
	blocks := prose.Blocks(c.Text, "", 3+s.shift)
	for i, b := range blocks {
		if b.Kind == prose.Code && b.Language != "text" && b.Language != "sh" && (programs[b.Language] || i == len(blocks)-1) {
			blocks = blocks[:i+1]
			break
		}
	}
	if len(blocks) > 0 {
		s.heading(2, heading(c.Name))
		s.blocks(c, blocks)
	}
}

var programs = map[string]bool{"go": true, "python": true, "py": true, "pycon": true, "js": true, "javascript": true, "jsx": true, "ts": true, "typescript": true, "tsx": true, "rust": true, "rs": true}

func (s *sheet) licence() {
	if claims := s.kind("licence"); len(claims) > 0 {
		s.heading(2, "Licence")
		for _, c := range claims {
			if !s.text(c, 3) {
				s.say(prose.Escape(c.Name), c)
			}
		}
	}
}

// example is text and code.
func (s *sheet) example(c Claim) {
	cited := false
	if c.Signature != "" {
		cited = s.text(c, 4)
		if cited {
			s.code(c.Signature, c.Language)
		} else {
			s.code(c.Signature, c.Language, c)
		}
		return
	}
	if !s.text(c, 4) {
		s.used[c.ID] = true
	}
}

func (s *sheet) guide() {
	s.say("How to get " + prose.Escape(s.a.Project) + " and use it for the first time.")
	var languages, packages []Claim
	for _, c := range s.kind("requires") {
		if runtime().MatchString(c.Name) {
			languages = append(languages, c)
		} else {
			packages = append(packages, c)
		}
	}
	installs, rest := s.readme(func(c Claim) bool { return installing().MatchString(c.Name) })
	needs, rest := divide(rest, func(c Claim) bool { return needing().MatchString(c.Name) })
	if len(languages)+len(needs) > 0 {
		s.heading(2, "Requirements")
		if len(languages) > 0 {
			s.facts(languages)
		}
		for _, c := range needs {
			s.text(c, 3)
		}
	}
	s.install("Installation", installs)
	for _, c := range rest {
		s.part(c)
	}
	if entries := s.kind("entry"); len(entries) > 0 {
		s.heading(2, "Programs")
		s.programs(entries)
	}
	if examples := s.kind("example"); len(examples) > 0 {
		s.heading(2, "Examples")
		for _, c := range examples {
			s.heading(3, exampleTitle(c))
			s.example(c)
		}
	}
	s.dependencies(packages)
}

var (
	needing    = lazily(`(?i)^(?:system |minimum )?(?:requirements?|prerequisites?)$`)
	installing = lazily(`(?i)install|download`)
	runtime    = lazily(`(?i)^(?:go|golang|python|node(?:\.?js)?|npm|rust(?:c)?|cargo|deno|bun|yarn|pnpm|msrv)$`)
)

// programs are a list of what can be run.
func (s *sheet) programs(entries []Claim) {
	var items []string
	for _, c := range entries {
		item := prose.CodeSpan(c.Name)
		if l := lead(c); l != "" {
			item += ": " + l
		}
		items = append(items, item)
	}
	s.list(items, entries)
}

// facts are claims in a sentence each: a paragraph for one, a list for more.
func (s *sheet) facts(claims []Claim) {
	if len(claims) == 1 {
		if !s.text(claims[0], 3) {
			s.say(plainFact(claims[0]), claims[0])
		}
		return
	}
	var items []string
	for _, c := range claims {
		items = append(items, plainFact(c))
	}
	s.list(items, claims)
}

// plainFact is a claim in one line.
func plainFact(c Claim) string {
	if l := lead(c); l != "" {
		return l
	}
	if c.Signature != "" && c.Signature != c.Name {
		return prose.CodeSpan(c.Name) + ": " + prose.CodeSpan(c.Signature)
	}
	return prose.CodeSpan(c.Name)
}

// dependencies are a table.
func (s *sheet) dependencies(claims []Claim) {
	if len(claims) == 0 {
		return
	}
	s.heading(2, "Dependencies")
	var rows [][]string
	for _, c := range claims {
		rows = append(rows, []string{prose.CodeSpan(c.Name), prose.CodeSpan(c.Signature)})
	}
	s.table([]string{"Package", "Version"}, rows, claims)
}

func exampleTitle(c Claim) string {
	if c.Name == "" {
		return "Example"
	}
	return prose.Escape(c.Name)
}

func (s *sheet) contributing() {
	s.say("How to work on " + prose.Escape(s.a.Project) + ".")
	for _, c := range s.kind("readme") {
		if strings.EqualFold(heading(c.Name), s.page.Title) {
			s.text(c, 2)
		}
	}
	for _, c := range s.kind("readme") {
		s.part(c)
	}
	if all := s.kind("convention"); len(all) > 0 {
		var commands, words []Claim
		for _, c := range all {
			if c.Signature != "" {
				commands = append(commands, c)
			} else {
				words = append(words, c)
			}
		}
		if len(commands) > 0 {
			s.heading(2, "Building and testing")
			var items []string
			for _, c := range commands {
				item := prose.CodeSpan(c.Signature)
				switch l := lead(c); {
				case strings.HasPrefix(l, item):
					item = l
				case l != "":
					item += ": " + l
				}
				items = append(items, item)
			}
			s.list(items, commands)
		}
		if len(words) > 0 {
			s.heading(2, "Conventions")
			s.facts(words)
		}
	}
	s.licence()
}
