package recipe

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"ramet/internal/base/fault"
	"ramet/internal/base/jsonschema"
	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/model/llm"
	"ramet/internal/run"
)

// Schema is a form that an output must have.
type Schema struct {
	// Format names the format of the bytes: json (also if empty), markdown or text.
	Format string

	form *jsonschema.Schema // of JSON; nil: any value has it
}

// Check reports whether data has the form: OUTPUT_INVALID with a JSON pointer to each value
// that has not.
func (s *Schema) Check(data []byte) error {
	switch s.Format {
	case "text", "markdown":
		return checkText(data, s.Format == "markdown")
	}
	if v := jsontext.Value(data); !v.IsValid() {
		_, err := jsontext.NewDecoder(bytes.NewReader(data)).ReadValue()
		why := "something follows the value"
		if err != nil {
			why = text.Line(err.Error(), 200)
		}
		return fault.New(fault.OutputInvalid, "not JSON: %s", why).WithHint("give the JSON alone, without a code fence or words around it")
	}
	if s.form == nil {
		return nil
	}
	err := s.form.Check(data)
	if err == nil {
		return nil
	}
	if wrong, ok := err.(*jsonschema.Mismatch); ok && wrong.Pointer == "" {
		return fault.New(fault.OutputInvalid, "the value: %s", wrong.What)
	}
	return fault.New(fault.OutputInvalid, "%s", err)
}

func checkText(data []byte, markdown bool) error {
	switch {
	case !utf8.Valid(data):
		return fault.New(fault.OutputInvalid, "the text is not UTF-8")
	case bytes.IndexByte(data, 0) >= 0:
		return fault.New(fault.OutputInvalid, "the text contains NUL")
	}
	trimmed := bytes.TrimSpace(data)
	switch {
	case !markdown:
		return nil
	case len(trimmed) == 0:
		return fault.New(fault.OutputInvalid, "the Markdown is empty")
	case bytes.HasPrefix(trimmed, []byte("```m")) && bytes.HasSuffix(trimmed, []byte("```")):
		return fault.New(fault.OutputInvalid, "the Markdown is wrapped in a code fence").WithHint("give it plain")
	}
	return nil
}

// JSON returns the form as a JSON Schema; nil where it is none of JSON.
func (s *Schema) JSON() json.RawMessage {
	switch {
	case s.Format != "" && s.Format != "json":
		return nil
	case s.form == nil:
		return json.RawMessage("{}")
	}
	return s.form.Text()
}

// formsText are the built-in forms.
//
//go:embed forms.yaml
var formsText []byte

var forms = sync.OnceValue(func() map[string]*Schema {
	var n mistakeList
	all := map[string]*Schema{"json": {}, "markdown": {Format: "markdown"}, "text": {Format: "text"}}
	root := n.document(formsText)
	if root != nil {
		for _, m := range n.members(root, "forms.yaml") {
			all[m.key] = n.schema(m.value, "form "+m.key)
		}
	}
	if err := n.fault(); err != nil {
		panic("recipe: forms.yaml: " + err.Error())
	}
	return all
})

// FormNames returns the names of the built-in schemas, sorted: json, markdown, text, and the
// files of built-ins.
func FormNames() []string { return slices.Sorted(maps.Keys(forms())) }

// FindForm finds a built-in schema.
func FindForm(name string) (*Schema, bool) {
	s, ok := forms()[name]
	return s, ok
}

func (p *parser) schemas(m member) {
	for _, m := range p.named(m, "schemas", "schema", maxSections) {
		if _, taken := FindForm(m.key); taken {
			p.say(m.line, "there is a built-in schema %s: choose another name", m.key)
			continue
		}
		p.recipe.Schemas[m.key] = p.schema(m.value, "schema "+m.key)
	}
}

// maxDepth of a schema: what is deeper was not written by anybody.
const maxDepth = 32

var types = []string{"object", "array", "string", "integer", "number", "boolean"}

// belongs maps a key to its type.
var belongs = map[string]string{"properties": "object", "required": "object", "additionalProperties": "object",
	"items": "array", "minItems": "array", "enum": "string", "minLength": "string", "pattern": "string"}

// schema reads a form, and records what is wrong with it.
func (n *mistakeList) schema(node *yaml.Node, what string) *Schema {
	said := len(n.found)
	form := n.form(node, what, 0)
	if len(n.found) > said {
		return &Schema{}
	}
	text, err := json.Marshal(form)
	if err != nil {
		panic(err) // strings and numbers alone
	}
	parsed, err := jsonschema.Parse(text)
	if err != nil {
		n.say(node.Line, "%s: %s", what, err)
		return &Schema{}
	}
	return &Schema{form: parsed}
}

// form reads the part of JSON Schema that a recipe may use, so that what is misspelt or has no
// meaning is reported with its line.
func (n *mistakeList) form(node *yaml.Node, what string, depth int) map[string]any {
	out := map[string]any{}
	if depth > maxDepth {
		n.say(node.Line, "%s is more than %d deep: make it flatter", what, maxDepth)
		return out
	}
	f := n.fields(node, what, "type", "description", "properties", "required", "additionalProperties", "items", "enum", "minItems", "minLength", "pattern")
	kind := n.word(f["type"], "type of "+what, types)
	if kind != "" {
		out["type"] = kind
	}
	for key, m := range f {
		if of := belongs[key]; of != "" && kind != "" && kind != of {
			n.say(m.line, "%s of %s has no meaning for type %s: leave it out", key, what, kind)
		}
	}
	n.text(f["description"], "description of "+what)
	n.formOfObject(f, what, depth, out)
	if m, ok := f["items"]; ok {
		out["items"] = n.form(m.value, what+"/items", depth+1)
	}
	if list := textsOf(n.list(f["enum"], "enum of "+what, maxSections)); len(list) > 0 {
		out["enum"] = list
	}
	for key, length := range map[string]int64{
		"minItems":  n.integer(f["minItems"], "minItems of "+what, 0, maxScopes),
		"minLength": n.integer(f["minLength"], "minLength of "+what, 0, maxScopes),
	} {
		if length > 0 {
			out[key] = length
		}
	}
	if pattern := n.text(f["pattern"], "pattern of "+what); pattern != "" {
		if _, err := regexp.Compile(pattern); err != nil {
			n.say(f["pattern"].value.Line, "pattern of %s: %s: the syntax is that of RE2", what, err)
		}
		out["pattern"] = pattern
	}
	return out
}

// formOfObject reads the keys of a form that are about members.
func (n *mistakeList) formOfObject(f map[string]member, what string, depth int, out map[string]any) {
	properties := map[string]any{}
	if m, ok := f["properties"]; ok {
		for _, m := range n.members(m.value, "properties of "+what) {
			properties[m.key] = n.form(m.value, what+"/"+m.key, depth+1)
		}
		out["properties"] = properties
	}
	required := textsOf(n.list(f["required"], "required of "+what, maxSections))
	if len(required) > 0 {
		out["required"] = required
	}
	m, ok := f["additionalProperties"]
	switch {
	case !ok:
	case m.value.Kind == yaml.MappingNode:
		out["additionalProperties"] = n.form(m.value, what+"/*", depth+1)
	case !n.truth(m, "additionalProperties of "+what):
		out["additionalProperties"] = false
		for _, name := range required {
			if properties[name] == nil {
				n.say(f["required"].line, "%s requires %.60q, which its properties do not have: add it there", what, name)
			}
		}
	}
}

// Shape is the form of a recipe for editors, once YAML is read as JSON. It checks less than
// Parse, which also looks at what the parts have to do with each other, and refuses nothing
// that Parse takes.
var Shape = sync.OnceValue(func() *shape.Shape {
	text, count, yes := shape.Text(1), shape.Integer(0), shape.Bool()
	texts := shape.List(text)
	scalar := shape.Either(shape.Text(0), shape.Number(-maxFloat, maxFloat), yes, shape.Null())
	duration := shape.Text(1).With("A duration such as 90s, 5m or 1h30m.")
	with := shape.Map(scalar).With("Values for a built-in, or variables of a command; {name} is a parameter, {scope} the item's scope.")
	path := text.With("A path below work, artifacts, drafts or reports; {name} is a parameter, {scope} the item's scope.")
	worker := shape.Object(
		shape.May("uses", shape.Enum(builtIns()...).With("A built-in. Give one of uses, prompt and command.")),
		shape.May("prompt", text.With("The task of an agent, with the placeholders scope, param, input, failure, section and issue.")),
		shape.May("command", text.With("For sh -c.")),
		shape.May("with", with),
		shape.May("each", shape.Either(text, shape.List(scalar), shape.Object(shape.Must("from", path))).
			With("What it has items for: sections, issue, a list of names, a range such as 1..100, or a file with a JSON list. Left out: one item.")),
		shape.May("inputs", shape.List(path)),
		shape.May("outputs", shape.List(shape.Either(path, shape.Object(
			shape.Must("path", path),
			shape.May("schema", text.With("The form that it must have: json, markdown, text, a form that is built in, or one of schemas.")),
			shape.May("patch", yes.With("What it changed in its worktree.")),
			shape.May("answer", yes.With("Its last answer, or what its command printed.")))))),
		shape.May("tools", shape.List(shape.Enum(tools()...))),
		shape.May("agent", text.With("A definition of agents, else of .agents/agents or .claude/agents: its instructions and its tools.")),
		shape.May("driver", text.With("The program that drives its agents, as `ramet drivers` lists them; left out: ramet itself.")),
		shape.May("model", text.With("vendor/name, of a driver the program's own word; left out: that of its agent, else the configured one.")),
		shape.May("effort", shape.Enum(llm.Efforts()...).With("How hard the model thinks; left out: as configured.")),
		shape.May("worktree", path.With("One of the inputs, a git bundle: it works in a worktree that begins there.")),
		shape.May("patches", shape.List(path).With("Some of the inputs, applied to the worktree first.")),
		shape.May("expect", shape.Enum("changes", "any").With("Of a patch: changes, or any, so that nothing may be changed.")),
		shape.May("effect", shape.Enum("local", "external")),
		shape.May("key", text.With("Of an external effect: the same whenever the effect is.")),
		shape.May("lookup", text.With("A command that says whether the effect happened: exit 0 yes, 1 no.")),
		shape.May("timeout", duration),
		shape.May("attempts", count),
		shape.May("queue", text),
	)
	gate := shape.Object(
		shape.May("uses", shape.Enum(gates()...).With("A built-in. Give one of uses and command.")),
		shape.May("command", text.With("For sh -c; it only looks.")),
		shape.May("with", with),
		shape.May("inputs", shape.List(path).With("Files of the run that the command finds below $RAMET_INPUTS.")),
		shape.May("severity", shape.Enum(severities...).With("Of what a command finds.")),
		shape.May("timeout", duration),
	)
	var states []shape.Field
	for _, s := range working {
		states = append(states, shape.May(string(s), texts))
	}
	return shape.Object(
		shape.Must("name", shape.Match(`[a-z][a-z0-9-]{0,39}`)),
		shape.May("description", text),
		shape.May("brief", text.With("What every agent of the run knows.")),
		shape.May("parameters", shape.Map(shape.Either(shape.Null(), shape.Object(
			shape.May("default", scalar), shape.May("required", yes), shape.May("help", text)))).With("What --set gives values to.")),
		shape.May("sections", shape.Map(shape.Object(
			shape.May("title", text), shape.May("brief", text))).With("Parts of the product that are drafted by themselves.")),
		shape.May("schemas", shape.Map(shape.Open()).With("Forms of outputs: type, properties, required, additionalProperties, items, enum, minItems, minLength, pattern.")),
		shape.May("agents", shape.Map(shape.Object(
			shape.May("from", text.With("Where it was defined; left out: here.")),
			shape.Must("prompt", text.With("Its instructions.")),
			shape.May("tools", shape.List(text).With("All that its workers may use, such as read or bash(git *); left out: what they name.")),
			shape.May("driver", text), shape.May("model", text), shape.May("effort", shape.Enum(llm.Efforts()...)),
			shape.May("tokens", shape.Integer(1)), shape.May("cost_usd", shape.Number(0, maxFloat)))).With("Agents that workers can be.")),
		shape.Must("workers", shape.Map(worker)),
		shape.Must("states", shape.Object(states...).With("The workers of each state.")),
		shape.May("gates", shape.Map(gate).With("The checks of "+string(run.Validating)+".")),
		shape.May("limits", shape.Object(
			shape.May("parallel", shape.Integer(1)), shape.May("attempts", shape.Integer(1)), shape.May("fix_attempts", shape.Integer(1)),
			shape.May("fix_rounds", shape.Integer(1)),
			shape.May("runtime", duration), shape.May("calls", count), shape.May("tokens", count),
			shape.May("cost_usd", shape.Number(0, maxFloat)), shape.May("files", count), shape.May("lines_per_file", count))),
	)
})

// maxFloat stands for any number.
const maxFloat = 1e300
