package facts

import (
	"path"
	"slices"
	"strings"

	"ramet/internal/docs"
)

// chainLimit is how many calls of a chain are followed.
const chainLimit = 300

// jsCLI is a command line made with commander or yargs, as far as it is written out.
type jsCLI struct {
	c     *jsCode
	name  string            // that the program gives itself
	vars  map[string]string // variable: command
	items []*cliItem
}

func scanScriptCLI(text string) *jsCLI {
	if !strings.Contains(text, "commander") && !strings.Contains(text, "yargs") {
		return nil
	}
	c := lexScript(text)
	if c == nil {
		return nil
	}
	if !slices.ContainsFunc(c.toks, func(t jsTok) bool {
		return t.kind == 's' && (strings.HasPrefix(t.text[1:], "commander") || strings.HasPrefix(t.text[1:], "yargs"))
	}) {
		return nil
	}
	x := &jsCLI{c: c, vars: map[string]string{}}
	var around []jsOpen // calls of .command that are open here
	for i := range c.toks {
		for len(around) > 0 && i > around[len(around)-1].end {
			around = around[:len(around)-1]
		}
		if !c.is(i, "(") || !c.is(i-2, ".") || c.name(i-1) == "" {
			if c.is(i, "(") && c.is(i-2, "new") && c.name(i-1) == "Command" {
				x.construct(i)
			}
			continue
		}
		inside := ""
		if len(around) > 0 {
			inside = around[len(around)-1].command
		}
		if command, ok := x.call(i, inside); ok {
			around = append(around, jsOpen{command, c.match[i]})
		}
	}
	if len(x.items) == 0 {
		return nil
	}
	return x
}

type jsOpen struct {
	command string
	end     int
}

// construct reads new Command('name').
func (x *jsCLI) construct(i int) {
	name, _ := x.c.str(i + 1)
	target := x.target(i - 2)
	if target != "program" && name != "" && target != "" {
		x.vars[target] = name
	} else if x.name == "" {
		x.name = name
	}
}

// target is the variable that the expression at i is assigned to.
func (x *jsCLI) target(i int) string {
	if x.c.is(i-1, "=") {
		return x.c.name(i - 2)
	}
	return ""
}

// call looks at one method call; it says so if it opened a command.
func (x *jsCLI) call(i int, inside string) (string, bool) {
	c := x.c
	method := c.name(i - 1)
	first, isText := c.str(i + 1)
	root, command := x.chain(i-2, inside)
	second := ""
	if c.is(i+2, ",") {
		second, _ = c.str(i + 3)
	}
	from, to := c.toks[i-2].from, c.toks[c.match[i]].to
	switch method {
	case "name", "scriptName":
		if isText && command == "" && x.name == "" {
			x.name = first
		}
	case "command":
		if !isText {
			return "", false
		}
		word, args, _ := strings.Cut(strings.TrimSpace(first), " ")
		if word == "" || word == "$0" || word == "*" || strings.Count(command, " ") > 8 {
			return "", false
		}
		full := strings.TrimSpace(command + " " + word)
		if v := x.target(root); v != "" {
			x.vars[v] = full
		}
		about, end := second, min(to, c.toks[min(i+4, c.match[i])].to)
		if about == "" {
			about, end = x.description(i, end)
		}
		x.items = append(x.items, &cliItem{command: full, args: args, text: about, from: from, to: end})
		return full, true
	case "option", "requiredOption", "argument", "positional":
		if isText && first != "" {
			x.option(method, first, second, command, i, from, to)
		}
	}
	return "", false
}

// chain walks back over a.b(…).c(…) to its beginning; the last .command on the way is the one.
func (x *jsCLI) chain(dot int, inside string) (root int, command string) {
	c := x.c
	i := dot - 1
	var found []string
	for n := 0; i >= 0 && n < chainLimit; n++ {
		if c.is(i, ")") && c.match[i] < i {
			open := c.match[i]
			if c.name(open-1) == "command" && len(found) == 0 {
				if s, ok := c.str(open + 1); ok {
					word, _, _ := strings.Cut(s, " ")
					found = append(found, word)
				}
			}
			i = open - 1
		}
		if c.name(i) == "" {
			break
		}
		if !c.is(i-1, ".") {
			break
		}
		i -= 2
	}
	i = max(i, 0)
	base := x.vars[c.name(i)]
	if base == "" {
		base = inside
	}
	if len(found) > 0 && found[0] != "$0" {
		base = strings.TrimSpace(base + " " + found[0])
	}
	return i, base
}

// description finds .description('…') in the rest of the chain.
func (x *jsCLI) description(i, end int) (string, int) {
	c := x.c
	i = c.match[i] + 1
	for n := 0; n < chainLimit && c.is(i, ".") && c.is(i+2, "("); n, i = n+1, c.match[i+2]+1 {
		if name := c.name(i + 1); name == "description" || name == "summary" {
			s, _ := c.str(i + 3)
			return s, c.toks[c.match[i+2]].to
		} else if name == "command" {
			break
		}
	}
	return "", end
}

func (x *jsCLI) option(method, first, about, command string, i, from, to int) {
	c := x.c
	item := &cliItem{flag: true, command: command, text: about, from: from, to: to}
	if strings.HasPrefix(first, "-") || method == "argument" { // commander
		names := strings.FieldsFunc(first, func(r rune) bool { return r == ',' || r == ' ' || r == '|' })
		var flags []string
		for _, n := range names {
			if strings.HasPrefix(n, "-") {
				flags = append(flags, n)
			}
		}
		item.name, item.signature = longest(flags), first
		if item.name == "" {
			item.name = strings.Trim(first, "<>[].")
		}
	} else { // yargs: option('name', { alias, describe, type, default })
		names, value, def := []string{"--" + first}, "", ""
		if method == "positional" {
			names = []string{first}
		}
		if c.is(i+2, ",") && c.is(i+3, "{") {
			for k := i + 4; k < c.match[i+3]; k = max(k, c.match[k]) + 1 {
				if !c.is(k+1, ":") {
					continue
				}
				s, _ := c.str(k + 2)
				switch c.name(k) {
				case "alias":
					if len(s) == 1 {
						names = append([]string{"-" + s}, names...)
					} else if s != "" {
						names = append(names, "--"+s)
					}
				case "describe", "description", "desc":
					item.text = s
				case "type":
					if s != "boolean" {
						value = s
					}
				case "default":
					if k+2 < len(c.toks) && !c.is(k+2, "false") && (c.is(k+3, ",") || k+3 == c.match[i+3]) {
						def = c.toks[k+2].text
					}
				}
			}
		}
		item.name, item.signature = longest(names), flagSignature(names, value, oneLine(def, 60))
	}
	if item.name != "" {
		x.items = append(x.items, item)
	}
}

// program is the name that users type: that of the bin whose file this is, the only one, or
// what the source says.
func (x *jsCLI) program(t *tree, p *project, file string) string {
	var bins []string
	for _, c := range p.claims {
		if c.Kind == docs.Entry && c.Language == "javascript" {
			if t.scriptFile(path.Join(p.dir, c.Signature)) == file {
				return c.Name
			}
			bins = append(bins, c.Name)
		}
	}
	switch {
	case x.name != "":
		return x.name
	case len(bins) == 1:
		return bins[0]
	}
	return lastPart(p.name)
}
