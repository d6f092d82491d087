package recipe

import (
	"slices"
	"strings"
	"text/template/parse"
)

// templateCheck walks through a prompt. What it lets pass ends when it is filled: nothing
// counts, nothing calls itself.
type templateCheck struct {
	*parser
	sheet *sheet
	what  string
}

func (c *templateCheck) wrong(at parse.Node, format string, args ...any) {
	before := c.sheet.Prompt[:min(int(at.Position()), len(c.sheet.Prompt))]
	c.say(c.sheet.prompt+strings.Count(before, "\n"), "prompt of "+c.what+" "+format, args...)
}

// list walks through nodes; dot says whether . means something.
func (c *templateCheck) list(l *parse.ListNode, dot bool) {
	if l == nil {
		return
	}
	for _, node := range l.Nodes {
		switch node := node.(type) {
		case *parse.ActionNode:
			c.pipe(node.Pipe, dot)
		case *parse.IfNode:
			c.branch(&node.BranchNode, dot, dot)
		case *parse.WithNode:
			c.branch(&node.BranchNode, dot, true)
		case *parse.RangeNode:
			if !c.countable(node.Pipe) {
				c.wrong(node, "ranges over something else than issue.Files: take it out")
			}
			c.branch(&node.BranchNode, dot, true)
		case *parse.TemplateNode:
			c.wrong(node, "calls a template %.60q: write it where it is needed", node.Name)
		}
	}
}

func (c *templateCheck) branch(b *parse.BranchNode, dot, inside bool) {
	c.pipe(b.Pipe, dot)
	c.list(b.List, inside)
	c.list(b.ElseList, dot)
}

// countable says whether a pipe is one of the lists there are.
func (c *templateCheck) countable(p *parse.PipeNode) bool {
	if len(p.Cmds) != 1 || len(p.Cmds[0].Args) != 1 {
		return false
	}
	chain, ok := p.Cmds[0].Args[0].(*parse.ChainNode)
	return ok && len(chain.Field) == 1 && chain.Field[0] == "Files"
}

func (c *templateCheck) pipe(p *parse.PipeNode, dot bool) {
	if p == nil {
		return
	}
	for i, cmd := range p.Cmds {
		args := cmd.Args
		if call, ok := args[0].(*parse.IdentifierNode); ok {
			c.call(call, args[1:], i > 0)
			args = args[1:]
		}
		for _, arg := range args {
			c.arg(arg, dot)
		}
	}
}

// call looks at a function with its arguments; piped says that it gets one more.
func (c *templateCheck) call(f *parse.IdentifierNode, args []parse.Node, piped bool) {
	name := f.Ident
	switch {
	case !slices.Contains(functions.Get(), name):
		c.wrong(f, "calls %.60s, which is no function: %s", name, instead(name, functions.Get()))
		return
	case !slices.Contains(ownFunctions, name):
		return
	case piped:
		c.wrong(f, "hands something on to %s with |: write %s first", name, name)
		return
	}
	switch name {
	case "section":
		if !c.sheet.Each.Sections {
			c.wrong(f, "uses section, and the worker is not for sections: add `each: sections`, or take it out")
		}
	case "issue":
		if !c.sheet.Each.Issue {
			c.wrong(f, "uses issue, and the worker is not for an issue: add `each: issue`, or take it out")
		}
	}
	if name != "param" && name != "input" {
		if len(args) > 0 {
			c.wrong(f, "gives %s an argument, which takes none: take it out", name)
		}
		return
	}
	var text string
	if len(args) == 1 {
		if s, ok := args[0].(*parse.StringNode); ok {
			text = s.Text
		}
	}
	if text == "" {
		c.wrong(f, `gives %s something else than one name in quotes: write %s "name"`, name, name)
		return
	}
	if name == "param" {
		var known []string
		for _, p := range c.recipe.Parameters {
			known = append(known, p.Name)
		}
		if !slices.Contains(known, text) {
			c.wrong(f, "names the parameter %.60q, which is none: %s", text, instead(text, known))
		}
		return
	}
	if !slices.ContainsFunc(c.sheet.Inputs, func(in string) bool { return in == text || Covers(in, text) }) {
		c.wrong(f, "uses the input %.100q, which is none of the worker's: add it to inputs", text)
	}
}

func (c *templateCheck) arg(node parse.Node, dot bool) {
	switch node := node.(type) {
	case *parse.IdentifierNode:
		c.call(node, nil, false)
	case *parse.PipeNode:
		c.pipe(node, dot)
	case *parse.ChainNode:
		c.chain(node)
	case *parse.FieldNode:
		c.wrong(node, "uses %.60s, which belongs to nothing: write section%s or issue%s", node, node, node)
	case *parse.VariableNode:
		if node.Ident[0] == "$" || len(node.Ident) > 1 {
			c.wrong(node, "uses %.60s, which has no meaning: take it out", node)
		}
	case *parse.DotNode:
		if !dot {
			c.wrong(node, "uses . where it has no meaning: use one of the functions %s", strings.Join(ownFunctions, ", "))
		}
	}
}

// chain is section.Title and the like.
func (c *templateCheck) chain(node *parse.ChainNode) {
	of, ok := node.Node.(*parse.IdentifierNode)
	parts := map[string][]string{"section": sectionParts, "issue": issueParts}
	if !ok || parts[of.Ident] == nil || len(node.Field) != 1 {
		c.wrong(node, "uses %.60s, which has no such part: only section and issue have parts", node)
		return
	}
	c.call(of, nil, false)
	if known := parts[of.Ident]; !slices.Contains(known, node.Field[0]) {
		c.wrong(node, "uses %.60s, which is no part: %s", node, instead(node.Field[0], known))
	}
}
