package recipe

import (
	_ "embed"
	"maps"
	"regexp"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"
)

// formsText are the built-in forms. Those of package docs must match its types.
//
//go:embed forms.yaml
var formsText []byte

var forms = sync.OnceValue(func() map[string]*Schema {
	var n notebook
	all := map[string]*Schema{"json": {}, "markdown": {Format: "markdown"}, "text": {Format: "text"}}
	root := n.document(formsText)
	if root != nil {
		for _, m := range n.members(root, "forms.yaml") {
			all[m.key] = n.schema(m.value, "form "+m.key, 0)
		}
	}
	if err := n.fault(); err != nil {
		panic("recipe: forms.yaml: " + err.Error())
	}
	return all
})

// Forms are the names of the built-in schemas, sorted: json, markdown, text, and the files
// of the docs recipe.
func Forms() []string { return slices.Sorted(maps.Keys(forms())) }

// Form finds a built-in schema.
func Form(name string) (*Schema, bool) {
	s, ok := forms()[name]
	return s, ok
}

func (p *parser) schemas(m member) {
	for _, m := range p.named(m, "schemas", "schema", maxSections) {
		if _, taken := Form(m.key); taken {
			p.say(m.line, "there is a built-in schema %s: choose another name", m.key)
			continue
		}
		p.recipe.Schemas[m.key] = p.schema(m.value, "schema "+m.key, 0)
	}
}

// maxDepth of a schema: what is deeper was not written by anybody.
const maxDepth = 32

var types = []string{"object", "array", "string", "integer", "number", "boolean"}

// belongs says to which type a key belongs.
var belongs = map[string]string{"properties": "object", "required": "object", "additionalProperties": "object",
	"items": "array", "minItems": "array", "enum": "string", "minLength": "string", "pattern": "string"}

func (n *notebook) schema(node *yaml.Node, what string, depth int) *Schema {
	s := &Schema{}
	if depth > maxDepth {
		n.say(node.Line, "%s is more than %d deep: make it flatter", what, maxDepth)
		return s
	}
	f := n.fields(node, what, "type", "description", "properties", "required", "additionalProperties", "items", "enum", "minItems", "minLength", "pattern")
	s.Type = n.word(f["type"], "type of "+what, types)
	for key, m := range f {
		if of := belongs[key]; of != "" && s.Type != "" && s.Type != of {
			n.say(m.line, "%s of %s has no meaning for type %s: leave it out", key, what, s.Type)
		}
	}
	n.text(f["description"], "description of "+what)
	if m, ok := f["properties"]; ok {
		s.Properties = map[string]*Schema{}
		for _, m := range n.members(m.value, "properties of "+what) {
			s.Properties[m.key] = n.schema(m.value, what+"/"+m.key, depth+1)
		}
	}
	s.Required = texts(n.list(f["required"], "required of "+what, maxSections))
	if m, ok := f["additionalProperties"]; ok {
		if m.value.Kind == yaml.MappingNode {
			s.Values = n.schema(m.value, what+"/*", depth+1)
		} else {
			s.Closed = !n.truth(m, "additionalProperties of "+what)
		}
	}
	if s.Closed {
		for _, name := range s.Required {
			if s.Properties[name] == nil {
				n.say(f["required"].line, "%s requires %.60q, which its properties do not have: add it there", what, name)
			}
		}
	}
	if m, ok := f["items"]; ok {
		s.Items = n.schema(m.value, what+"/items", depth+1)
	}
	s.Enum = texts(n.list(f["enum"], "enum of "+what, maxSections))
	s.MinItems = int(n.integer(f["minItems"], "minItems of "+what, 0, maxScopes))
	s.MinLength = int(n.integer(f["minLength"], "minLength of "+what, 0, maxScopes))
	if s.Pattern = n.text(f["pattern"], "pattern of "+what); s.Pattern != "" {
		match, err := regexp.Compile(s.Pattern)
		if err != nil {
			n.say(f["pattern"].value.Line, "pattern of %s: %s: the syntax is that of RE2", what, err)
		}
		s.match = match
	}
	return s
}
