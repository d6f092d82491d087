package facts

import (
	"cmp"
	"slices"
	"strings"
)

// pyCLI finds command lines made with argparse, click and typer. Only what is written out
// as a literal is taken.
func pyCLI(text string) *pyCommands {
	if !strings.Contains(text, "argparse") && !strings.Contains(text, "click") && !strings.Contains(text, "typer") {
		return nil
	}
	c := &pyCommands{text: text, parsers: map[string]string{}, groups: map[string]string{}, imported: map[string]bool{},
		alone: map[string]string{}, taken: map[string]string{}, of: map[*cliItem]string{}}
	lines := pyLines(text)
	for i, l := range lines {
		c.argparse(l)
		c.taking(l)
		if l.is(0, "@") {
			c.decorated = append(c.decorated, l)
			continue
		}
		if len(c.decorated) > 0 && (l.is(0, "def") || l.is(0, "async")) {
			c.function(lines, i)
		}
		c.decorated = nil
		c.script = c.script || l.is(0, "if") && l.is(1, "__name__")
		if l.is(0, "from") {
			m := pyModule{}
			m.importing(l)
			for _, imp := range m.imports {
				c.imported[imp.as] = true
			}
		}
	}
	c.single()
	c.loose()
	return c
}

// loose settles the commands of click that are declared by themselves. One alone is the
// program; of several, or beside a group, only those count that the group takes up.
func (c *pyCommands) loose() {
	if len(c.alone) == 0 || len(c.alone) == 1 && len(c.groups) == 0 {
		return
	}
	c.items = slices.DeleteFunc(c.items, func(it *cliItem) bool {
		fn := c.of[it]
		own, alone := c.alone[fn]
		if !alone {
			return false
		}
		group, taken := c.taken[fn]
		it.command = strings.TrimSpace(group + " " + own)
		return !taken
	})
}

// taking reads group.add_command(function).
func (c *pyCommands) taking(l pyLine) {
	for i := 2; i+2 < len(l.toks); i++ {
		if l.is(i, "add_command") && l.is(i-1, ".") && l.is(i+1, "(") {
			if group, ok := c.groups[pyReceiver(l.toks[:i-1])]; ok && l.toks[i+2].kind == 'n' {
				c.taken[l.toks[i+2].text] = group
			}
		}
	}
}

// single takes the name off the only command of a typer application: it has none then.
func (c *pyCommands) single() {
	if c.typers != 1 || c.callback {
		return
	}
	for _, it := range c.items {
		it.command = ""
	}
}

type pyCommands struct {
	text      string
	program   string
	parsers   map[string]string // variable of a parser, or of its subparsers: the command
	groups    map[string]string // function or variable of a click group: the command
	imported  map[string]bool
	alone     map[string]string   // function of a click command without a group: its name
	taken     map[string]string   // function: group that takes it up
	of        map[*cliItem]string // function that an item belongs to
	foreign   bool                // commands of a group that was imported
	script    bool                // can be run as a file
	typers    int                 // commands of a typer application
	callback  bool
	decorated []pyLine
	items     []*cliItem
}

// argparse looks at one statement: x = ArgumentParser(…), y = x.add_subparsers(), z =
// y.add_parser("name"), z.add_argument(…).
func (c *pyCommands) argparse(l pyLine) {
	for i := 1; i < len(l.toks); i++ {
		if l.toks[i].text != "(" || l.toks[i-1].kind != 'n' {
			continue
		}
		called := l.toks[i-1].text
		target, receiver := pyTarget(l), ""
		if i > 2 && l.toks[i-2].text == "." {
			receiver = pyReceiver(l.toks[:i-2])
		}
		args := pyArgs(l.toks, i)
		from, to := l.toks[0].from, l.toks[len(l.toks)-1].to
		switch called {
		case "ArgumentParser":
			if prog := pyKeyword(args, "prog"); prog != "" && c.program == "" {
				c.program = prog
			}
			if _, known := c.parsers[target]; !known {
				c.parsers[target] = ""
			}
			if d := pyKeyword(args, "description"); d != "" {
				c.items = append(c.items, &cliItem{text: unindent(d), from: from, to: to})
			}
		case "add_subparsers", "add_argument_group", "add_mutually_exclusive_group":
			if parent, ok := c.parsers[receiver]; ok && target != "" {
				c.parsers[target] = parent
			}
		case "add_parser":
			parent, ok := c.parsers[receiver]
			if !ok || len(args) == 0 {
				continue
			}
			if name, ok := pyText(args[0].toks); ok && args[0].name == "" {
				command := strings.TrimSpace(parent + " " + name)
				if target != "" {
					c.parsers[target] = command
				}
				about := cmp.Or(pyKeyword(args, "help"), pyKeyword(args, "description"))
				c.items = append(c.items, &cliItem{command: command, text: unindent(about), from: from, to: to})
			}
		case "add_argument":
			if command, ok := c.parsers[receiver]; ok {
				c.flagOf(command, args, from, to)
			}
		}
	}
}

// pyTarget is the variable that a statement assigns to: a name, or self.name.
func pyTarget(l pyLine) string {
	parts := pySplit(l.toks, "=")
	if len(parts) < 2 {
		return ""
	}
	return pyReceiver(parts[0])
}

// pyReceiver is the dotted name at the end of tokens.
func pyReceiver(toks []pyTok) string {
	i := len(toks)
	for i > 0 && (toks[i-1].kind == 'n' || toks[i-1].text == ".") {
		i--
	}
	var b strings.Builder
	for _, t := range toks[i:] {
		b.WriteString(t.text)
	}
	return b.String()
}

// flagOf takes the arguments of add_argument, click.option and the like.
func (c *pyCommands) flagOf(command string, args []pyArg, from, to int) {
	var names []string
	value, def := "VALUE", ""
	for _, a := range args {
		switch a.name {
		case "":
			if s, ok := pyText(a.toks); ok && s != "" {
				for part := range strings.SplitSeq(s, "/") { // click: --shout/--no-shout
					names = append(names, part)
				}
			}
		case "action":
			if s, _ := pyText(a.toks); strings.HasPrefix(s, "store_") || s == "count" || s == "version" || s == "help" {
				value = ""
			}
		case "is_flag", "count":
			if len(a.toks) == 1 && a.toks[0].text == "True" {
				value = ""
			}
		case "metavar":
			if s, ok := pyText(a.toks); ok {
				value = s
			}
		case "default":
			def = pySpell(c.text, a.toks)
			if def == "None" || def == "False" || strings.HasPrefix(def, "argparse.") || len(def) > 60 {
				def = ""
			}
		case "choices":
			if len(a.toks) > 2 && a.toks[0].kind == 'o' && (a.toks[0].text == "[" || a.toks[0].text == "(") && value == "VALUE" {
				if s := pySpell(c.text, a.toks[1:len(a.toks)-1]); len(s) <= 80 {
					value = "{" + strings.Join(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("\"', ", r) }), ",") + "}"
				}
			}
		}
	}
	if len(names) == 0 {
		return
	}
	if !strings.HasPrefix(names[0], "-") {
		value = "" // an argument is its own value
		names = names[:1]
	} else if len(names) > 1 && strings.HasPrefix(names[1], "--no-") {
		value = ""
	}
	names = slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(names[0], "-") && !strings.HasPrefix(n, "-") })
	name := longest(names)
	if positive := "--" + strings.TrimPrefix(name, "--no-"); slices.Contains(names, positive) {
		name = positive
	}
	c.items = append(c.items, &cliItem{flag: true, command: command, name: name,
		signature: flagSignature(names, value, def), text: unindent(pyKeyword(args, "help")), from: from, to: to})
}

// function looks at a decorated function: a command of click or typer.
func (c *pyCommands) function(lines []pyLine, i int) {
	l := lines[i]
	word := slices.IndexFunc(l.toks, func(t pyTok) bool { return t.text == "def" })
	if word < 0 || word+1 >= len(l.toks) {
		return
	}
	name := l.toks[word+1].text
	isCommand, command, about := false, "", ""
	for _, d := range c.decorated {
		at := slices.IndexFunc(d.toks, func(t pyTok) bool { return t.text == "(" })
		path := d.toks[1:]
		if at >= 0 {
			path = d.toks[1:at]
		}
		dotted := pyReceiver(path)
		owner, verb, _ := cutLast(dotted, ".")
		if verb != "command" && verb != "group" && verb != "callback" {
			continue
		}
		isCommand = true
		var args []pyArg
		if at >= 0 {
			args = pyArgs(d.toks, at)
		}
		about = cmp.Or(pyKeyword(args, "help"), pyKeyword(args, "short_help"))
		own := strings.ReplaceAll(strings.TrimSuffix(strings.ToLower(name), "_cmd"), "_", "-")
		if len(args) > 0 && args[0].name == "" {
			if s, ok := pyText(args[0].toks); ok {
				own = s
			}
		} else if s := pyKeyword(args, "name"); s != "" {
			own = s
		}
		parent, grouped := c.groups[owner]
		switch {
		case verb == "callback":
			c.callback = true
		case owner == "click" || owner == "":
			if verb == "group" {
				c.groups[name] = ""
			} else if owner == "click" {
				c.alone[name] = own
			}
		case grouped:
			command = strings.TrimSpace(parent + " " + own)
		default: // @app.command() of typer, or a group defined elsewhere
			command = own
			c.foreign = c.foreign || c.imported[owner]
			if strings.Contains(c.text, "import typer") && !c.imported[owner] {
				c.typers++
			}
		}
		if verb == "group" {
			c.groups[name] = command
		}
	}
	if !isCommand {
		return
	}
	before := len(c.items)
	defer func() {
		for _, it := range c.items[before:] {
			c.of[it] = name
		}
	}()
	head := pySplit(l.toks, ":")[0]
	doc, _ := pyDoc(lines, i, len(head))
	doc, _, _ = strings.Cut(doc, "\f")
	from, to := c.decorated[0].toks[0].from, head[len(head)-1].to
	c.items = append(c.items, &cliItem{command: command, text: cmp.Or(unindent(about), doc), from: from, to: to})
	for _, d := range c.decorated {
		if at := slices.IndexFunc(d.toks, func(t pyTok) bool { return t.text == "(" }); at > 1 {
			if verb := d.toks[at-1].text; verb == "option" || verb == "argument" {
				c.flagOf(command, pyArgs(d.toks, at), d.toks[0].from, d.toks[len(d.toks)-1].to)
			}
		}
	}
	c.typer(command, head)
}

// typer reads the parameters of a function that are declared with Option and Argument.
func (c *pyCommands) typer(command string, head []pyTok) {
	open := slices.IndexFunc(head, func(t pyTok) bool { return t.text == "(" })
	if open < 0 {
		return
	}
	for _, param := range pySplit(head[open+1:pyClose(head, open)], ",") {
		at := slices.IndexFunc(param, func(t pyTok) bool { return t.kind == 'n' && (t.text == "Option" || t.text == "Argument") })
		if at < 1 || at+1 >= len(param) || param[0].kind != 'n' {
			continue
		}
		args := pyArgs(param, at+1)
		name := param[0].text
		if param[at].text == "Option" {
			if !slices.ContainsFunc(args, func(a pyArg) bool { s, ok := pyText(a.toks); return ok && strings.HasPrefix(s, "-") }) {
				args = append(args, pyArg{"", []pyTok{{kind: 's', text: `"--` + strings.ReplaceAll(name, "_", "-") + `"`}}})
			}
			if len(args) > 0 && args[0].name == "" && len(args[0].toks) == 1 { // the default
				if s, ok := pyText(args[0].toks); !ok || !strings.HasPrefix(s, "-") {
					args[0].name = "default"
				}
			}
		} else {
			args = append([]pyArg{{"", []pyTok{{kind: 's', text: `"` + strings.ToUpper(name) + `"`}}}}, args...)
		}
		if slices.ContainsFunc(param, func(t pyTok) bool { return t.text == "bool" }) {
			args = append(args, pyArg{"is_flag", []pyTok{{kind: 'n', text: "True"}}})
		}
		c.flagOf(command, args, param[0].from, param[len(param)-1].to)
	}
}

func cutLast(s, mark string) (before, after string, found bool) {
	if i := strings.LastIndex(s, mark); i >= 0 {
		return s[:i], s[i+len(mark):], true
	}
	return "", s, false
}
