package recipe

import (
	_ "embed"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"sync"

	"ramet/internal/base/jsonschema"

	"go.yaml.in/yaml/v3"
)

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
