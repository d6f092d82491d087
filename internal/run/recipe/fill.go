package recipe

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"text/template/parse"

	"ramet/internal/fault"
	"ramet/internal/text"
)

// filler fills a prompt: it walks through the tree of a text/template and does what that
// package would do, as far as templateCheck lets prompts go. text/template itself calls
// methods by names that are known when it runs only, and a program with such a call is
// linked with every exported method of every type in it: a twelfth of ramet, in the file
// and in the memory of each command.
//
// A value is a string, a bool, a number, a list of strings, a Section or an Issue; nil is
// the word nil.
type filler struct {
	prompt string
	data   RenderData
	out    bytes.Buffer
	vars   []variable // the newest last
}

type variable struct {
	name  string // with its $
	value any
}

// maxFilled is how deep nodes may lie in each other: a stack has an end.
const maxFilled = 1000

// How a list of nodes ends.
type ending int

const (
	atEnd ending = iota
	atBreak
	atContinue
)

// fill is a prompt with its values.
func fill(prompt string, data RenderData) (string, error) {
	known := map[string]any{}
	for _, name := range functions.Get() {
		known[name] = true
	}
	trees, err := parse.Parse("prompt", prompt, "", "", known)
	if err != nil {
		return "", fault.New(fault.InvalidRecipe, "%s", text.Line(err.Error(), 300))
	}
	f := &filler{prompt: prompt, data: data}
	if tree := trees["prompt"]; tree != nil && tree.Root != nil { // an empty prompt has none
		if _, err := f.list(nil, tree.Root, 0); err != nil {
			return "", err
		}
	}
	return f.out.String(), nil
}

// wrong is a fault at a node. What a function says itself is left as it is.
func (f *filler) wrong(at parse.Node, format string, args ...any) error {
	line := 1 + strings.Count(f.prompt[:min(int(at.Position()), len(f.prompt))], "\n")
	return fault.New(fault.InvalidRecipe, "line %d, %s: %s", line, text.Line(at.String(), 60), text.Line(fmt.Sprintf(format, args...), 200))
}

func (f *filler) write(s string) error {
	if f.out.Len()+len(s) > maxPrompt {
		return fault.New(fault.Failed, "it would have more than %d bytes", maxPrompt).WithHint("name fewer or smaller inputs in it")
	}
	f.out.WriteString(s)
	return nil
}

func (f *filler) list(dot any, l *parse.ListNode, depth int) (ending, error) {
	if l == nil {
		return atEnd, nil
	}
	if depth > maxFilled {
		return atEnd, f.wrong(l, "too deep")
	}
	for _, node := range l.Nodes {
		end, err := f.node(dot, node, depth)
		if err != nil || end != atEnd {
			return end, err
		}
	}
	return atEnd, nil
}

func (f *filler) node(dot any, node parse.Node, depth int) (ending, error) {
	switch node := node.(type) {
	case *parse.TextNode:
		return atEnd, f.write(string(node.Text))
	case *parse.ActionNode:
		value, err := f.pipe(dot, node.Pipe, depth)
		if err != nil || len(node.Pipe.Decl) > 0 {
			return atEnd, err
		}
		return atEnd, f.write(printed(value))
	case *parse.IfNode:
		return f.branch(dot, &node.BranchNode, false, depth)
	case *parse.WithNode:
		return f.branch(dot, &node.BranchNode, true, depth)
	case *parse.RangeNode:
		return atEnd, f.each(dot, node, depth)
	case *parse.BreakNode:
		return atBreak, nil
	case *parse.ContinueNode:
		return atContinue, nil
	case *parse.CommentNode:
		return atEnd, nil
	}
	return atEnd, f.wrong(node, "has no meaning in a prompt")
}

// branch is an if, or a with, which says what dot is.
func (f *filler) branch(dot any, b *parse.BranchNode, with bool, depth int) (ending, error) {
	known := len(f.vars)
	defer func() { f.vars = f.vars[:known] }()
	value, err := f.pipe(dot, b.Pipe, depth)
	switch {
	case err != nil:
		return atEnd, err
	case !truth(value):
		return f.list(dot, b.ElseList, depth+1)
	case with:
		dot = value
	}
	return f.list(dot, b.List, depth+1)
}

// each is a range.
func (f *filler) each(dot any, r *parse.RangeNode, depth int) error {
	known := len(f.vars)
	defer func() { f.vars = f.vars[:known] }()
	value, err := f.pipe(dot, r.Pipe, depth)
	if err != nil {
		return err
	}
	all, ok := value.([]string)
	if !ok {
		return f.wrong(r.Pipe, "ranges over something else than a list")
	}
	if len(all) == 0 {
		_, err := f.list(dot, r.ElseList, depth+1)
		return err
	}
	inside := len(f.vars)
	for i, one := range all {
		f.turn(r.Pipe.Decl, i, one)
		end, err := f.list(one, r.List, depth+1)
		if err != nil || end == atBreak {
			return err
		}
		f.vars = f.vars[:inside]
	}
	return nil
}

// turn gives the variables of a range their values: of one, the element; of two, the place first.
func (f *filler) turn(names []*parse.VariableNode, i int, one string) {
	switch len(names) {
	case 1:
		f.newest(names[0].Ident[0]).value = one
	case 2:
		f.newest(names[0].Ident[0]).value = i
		f.newest(names[1].Ident[0]).value = one
	}
}

// newest is the variable that a name means, nil if there is none.
func (f *filler) newest(name string) *variable {
	for i := len(f.vars) - 1; i >= 0; i-- {
		if f.vars[i].name == name {
			return &f.vars[i]
		}
	}
	return nil
}

func (f *filler) pipe(dot any, p *parse.PipeNode, depth int) (any, error) {
	if depth > maxFilled {
		return nil, f.wrong(p, "too deep")
	}
	var value any
	for i, cmd := range p.Cmds {
		var handed []any // on with |
		if i > 0 {
			handed = []any{value}
		}
		var err error
		if value, err = f.command(dot, cmd, handed, depth); err != nil {
			return nil, err
		}
	}
	for _, v := range p.Decl {
		switch old := f.newest(v.Ident[0]); {
		case !p.IsAssign:
			f.vars = append(f.vars, variable{v.Ident[0], value})
		case old == nil:
			return nil, f.wrong(v, "has no value to change: write := first")
		default:
			old.value = value
		}
	}
	return value, nil
}

func (f *filler) command(dot any, cmd *parse.CommandNode, handed []any, depth int) (any, error) {
	first := cmd.Args[0]
	if name, ok := first.(*parse.IdentifierNode); ok {
		return f.call(dot, name, cmd.Args[1:], handed, depth)
	}
	if len(cmd.Args) > 1 || len(handed) > 0 {
		return nil, f.wrong(first, "is no function and gets an argument")
	}
	if first.Type() == parse.NodeNil {
		return nil, f.wrong(first, "means nothing alone")
	}
	return f.value(dot, first, depth)
}

// value is what a node stands for.
func (f *filler) value(dot any, node parse.Node, depth int) (any, error) {
	switch node := node.(type) {
	case *parse.IdentifierNode:
		return f.call(dot, node, nil, nil, depth)
	case *parse.PipeNode:
		return f.pipe(dot, node, depth+1)
	case *parse.ChainNode:
		return f.part(dot, node, depth)
	case *parse.VariableNode:
		if v := f.newest(node.Ident[0]); v != nil && len(node.Ident) == 1 {
			return v.value, nil
		}
	case *parse.DotNode:
		return dot, nil
	case *parse.NilNode:
		return nil, nil
	case *parse.BoolNode:
		return node.True, nil
	case *parse.StringNode:
		return node.Text, nil
	case *parse.NumberNode:
		return f.number(node)
	}
	return nil, f.wrong(node, "has no meaning in a prompt")
}

// number is a constant, of the kind that it looks like.
func (f *filler) number(n *parse.NumberNode) (any, error) {
	digits := strings.ToLower(n.Text)
	hex := strings.HasPrefix(strings.TrimLeft(digits, "+-"), "0x") && !strings.ContainsAny(digits, "p")
	switch {
	case n.IsComplex:
		return n.Complex128, nil
	case n.IsFloat && !hex && !strings.Contains(digits, "'") && strings.ContainsAny(digits, ".ep"):
		return n.Float64, nil
	case n.IsInt && int64(int(n.Int64)) == n.Int64:
		return int(n.Int64), nil
	}
	return nil, f.wrong(n, "is too large a number")
}

// part is section.Title and the like.
func (f *filler) part(dot any, node *parse.ChainNode, depth int) (any, error) {
	of, err := f.value(dot, node.Node, depth)
	if err != nil {
		return nil, err
	}
	if len(node.Field) == 1 {
		var parts map[string]any
		switch of := of.(type) {
		case Section:
			parts = map[string]any{"Name": of.Name, "Title": of.Title, "Brief": of.Brief}
		case Issue:
			parts = map[string]any{"ID": of.ID, "Gate": of.Gate, "Severity": of.Severity, "Code": of.Code,
				"Message": of.Message, "Files": of.Files, "Line": of.Line, "Fix": of.Fix}
		}
		if value, ok := parts[node.Field[0]]; ok {
			return value, nil
		}
	}
	return nil, f.wrong(node, "has no such part")
}

// call calls a function; what is handed on to it with | is its last argument.
func (f *filler) call(dot any, name *parse.IdentifierNode, nodes []parse.Node, handed []any, depth int) (any, error) {
	args := make([]any, 0, len(nodes)+len(handed))
	for _, node := range nodes {
		value, err := f.value(dot, node, depth)
		if err != nil {
			return nil, err
		}
		if args = append(args, value); name.Ident == "and" && !truth(value) || name.Ident == "or" && truth(value) {
			return value, nil // the others are not looked at
		}
	}
	args = append(args, handed...)
	if least, most := arity(name.Ident); len(args) < least || len(args) > most {
		return nil, f.wrong(name, "does not take %d arguments", len(args))
	}
	switch name.Ident {
	case "and", "or":
		return args[len(args)-1], nil
	case "not":
		return !truth(args[0]), nil
	case "len":
		switch of := args[0].(type) {
		case string:
			return len(of), nil
		case []string:
			return len(of), nil
		}
		return nil, f.wrong(name, "is for texts and lists, not for %T", args[0])
	case "eq", "ne":
		same, err := equal(args[0], args[1:])
		if err != nil {
			return nil, f.wrong(name, "%v", err)
		}
		return same == (name.Ident == "eq"), nil
	}
	return f.own(name, args)
}

// arity is how many arguments a function takes.
func arity(name string) (least, most int) {
	switch name {
	case "and", "or":
		return 1, 1 << 30
	case "eq":
		return 2, 1 << 30
	case "ne":
		return 2, 2
	case "not", "len", "param", "input":
		return 1, 1
	}
	return 0, 0
}

// own calls a function of ours.
func (f *filler) own(name *parse.IdentifierNode, args []any) (any, error) {
	switch name.Ident {
	case "scope":
		return f.data.Scope, nil
	case "failure":
		return f.data.Failure, nil
	case "section":
		if f.data.Section == nil {
			return nil, fault.New(fault.InvalidRecipe, "there is no section here")
		}
		return *f.data.Section, nil
	case "issue":
		if f.data.Issue == nil {
			return nil, fault.New(fault.InvalidRecipe, "there is no issue here")
		}
		return *f.data.Issue, nil
	case "param", "input":
		what, ok := args[0].(string)
		if !ok {
			return nil, f.wrong(name, "takes a name in quotes")
		}
		if name.Ident == "input" {
			return f.data.input(what)
		}
		return f.data.param(what)
	}
	return nil, f.wrong(name, "is no function")
}

// truth says whether a value is one that an if takes: not empty, not zero.
func truth(value any) bool {
	switch value := value.(type) {
	case nil:
		return false
	case bool:
		return value
	case string:
		return value != ""
	case []string:
		return len(value) > 0
	case int:
		return value != 0
	case float64:
		return value != 0
	case complex128:
		return value != 0
	}
	return true
}

// equal says whether a value is one of some. Only values of one kind can be compared; nil,
// which an empty list is too, with anything.
func equal(value any, with []any) (bool, error) {
	for _, other := range with {
		a, b := reflect.TypeOf(value), reflect.TypeOf(other)
		same := false
		switch {
		case none(value) || none(other):
			same = none(value) && none(other)
		case a != b:
			return false, fmt.Errorf("incompatible types for comparison: %s and %s", a, b)
		case !a.Comparable():
			return false, fmt.Errorf("%s cannot be compared", a)
		default:
			same = value == other
		}
		if same {
			return true, nil
		}
	}
	return false, nil
}

func none(value any) bool {
	list, ok := value.([]string)
	return value == nil || ok && list == nil
}

// printed is a value as a prompt shows it.
func printed(value any) string {
	switch value := value.(type) {
	case nil:
		return "<no value>"
	case string:
		return value
	}
	return fmt.Sprint(value)
}
