// Package catalog is what ramet knows without asking anybody: the vendors it
// can talk to, where, in which protocol and with which key, and their models with
// prices and limits.
//
// The models are in models.json, a table of which is parsed when it is asked for.
// They are made from charm.land/catwalk by this package's test, which also
// fails when the two differ; see table_test.go for the conversion of prices.
// rules.go says of families of models what no list of models does.
//
// Vendors whose models are not known (Ollama and other local servers) take any
// name, and cost nothing. A user adds vendors of his own, and changes how the
// built-in ones are reached, with Use.
package catalog

import (
	"cmp"
	_ "embed"
	"net/url"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/model/llm"
)

// Protocol names a vendor's protocol.
type Protocol string

// The protocols.
const (
	Anthropic Protocol = "anthropic"
	Responses Protocol = "openai-responses"
	Chat      Protocol = "openai-chat"
	Gemini    Protocol = "gemini"
	None      Protocol = "none" // it is built in, and asked without one
)

// Vendor is somebody who runs models.
type Vendor struct {
	Name     string
	Title    string
	Protocol Protocol
	Base     string // the usual base URL; empty: it must be given
	Key      string // whose key it takes: its own name, or another vendor's
	Local    bool   // runs on the user's machine: needs no key, costs nothing
	BuiltIn  bool   // is part of ramet: always usable, has neither key nor base URL
	Thoughts string // of the chat protocol: where it wants plain thinking back
	Models   string // whose models it has, if not its own
	Marks    string // of the chat protocol: models of names that begin so are told what to cache
	Cost     bool   // of the chat protocol: it says what it charged
	Header   string // that carries the key, if not its protocol's own
	Under    string // what the base URL is completed with where it names a host only
	Framed   bool   // Anthropic's protocol as Amazon hosts it: the model in the path, answers in frames
	Named    bool   // it is used where one of its models is named, and has no default
	Files    bool   // of the chat protocol: it takes documents; the other protocols all do
	KeyPath  string // what to read below the base URL to see whether a key is good; empty: the list of models
	Forms    string // of the chat protocol: how it holds an answer to a schema (see package chat)
	Plugin   string // of the chat protocol: its own search of the web
	Google   bool   // Google's cloud: models below a project, tokens instead of keys
	Asks     bool   // its server is asked for its models
	Free     bool   // it needs no key

	// What a user's configuration says of it (Use).
	TokenCommand      string // prints a token that goes along instead of a key
	Project, Location string // of Google's cloud
	Added             bool   // it is the user's own
	Moved             bool   // its base URL is the user's
}

// vendors is in the order in which a default is looked for.
var vendors = []Vendor{
	{Name: "anthropic", Title: "Anthropic", Protocol: Anthropic, Base: "https://api.anthropic.com"},
	{Name: "openai", Title: "OpenAI", Protocol: Responses, Base: "https://api.openai.com/v1"},
	{Name: "gemini", Title: "Google Gemini", Protocol: Gemini, Base: "https://generativelanguage.googleapis.com"},
	{Name: "openrouter", Title: "OpenRouter", Protocol: Chat, Base: "https://openrouter.ai/api/v1", Thoughts: "reasoning", Files: true, Marks: "anthropic/", Cost: true, KeyPath: "/key", Forms: "schema", Plugin: "web"},
	{Name: "xai", Title: "xAI", Protocol: Chat, Base: "https://api.x.ai/v1", Forms: "schema"},
	{Name: "deepseek", Title: "DeepSeek", Protocol: Chat, Base: "https://api.deepseek.com/v1", Thoughts: "reasoning_content", Forms: "object"},
	{Name: "groq", Title: "Groq", Protocol: Chat, Base: "https://api.groq.com/openai/v1", Forms: "schema"},
	{Name: "cerebras", Title: "Cerebras", Protocol: Chat, Base: "https://api.cerebras.ai/v1", Forms: "schema"},
	{Name: "azure", Title: "Azure OpenAI", Protocol: Responses, Header: "Api-Key", Under: "/openai/v1", Named: true},
	{Name: "bedrock", Title: "Amazon Bedrock", Protocol: Anthropic, Base: "https://bedrock-runtime.us-east-1.amazonaws.com", Header: "Authorization", Framed: true},
	{Name: "vertex", Title: "Google Vertex AI", Protocol: Gemini, Google: true, Named: true},
	{Name: "openai-chat", Title: "OpenAI, Chat Completions", Protocol: Chat, Base: "https://api.openai.com/v1", Key: "openai", Models: "openai", Files: true, Forms: "schema"},
	{Name: "ollama", Title: "Ollama", Protocol: Chat, Base: "http://127.0.0.1:11434/v1", Local: true, Asks: true, Forms: "apart"},
	{Name: "llamacpp", Title: "llama.cpp", Protocol: Chat, Base: "http://127.0.0.1:8080/v1", Local: true, Asks: true, Thoughts: "reasoning_content", Forms: "apart"},
	{Name: "vllm", Title: "vLLM", Protocol: Chat, Base: "http://127.0.0.1:8000/v1", Local: true, Asks: true, Thoughts: "reasoning_content", Forms: "apart"},
	{Name: "lmstudio", Title: "LM Studio", Protocol: Chat, Base: "http://127.0.0.1:1234/v1", Local: true, Asks: true, Forms: "apart"},
	{Name: Offline, Title: "built in", Protocol: None, BuiltIn: true},
}

// Offline is the vendor of the model that is built in.
const Offline = "offline"

// KeyOwner returns the vendor whose key and base URL it takes; empty for one that is
// built in.
func (v Vendor) KeyOwner() string {
	switch {
	case v.BuiltIn:
		return ""
	case v.Key != "":
		return v.Key
	}
	return v.Name
}

// KeyVariable returns the environment variable of its key; empty if it takes none.
func (v Vendor) KeyVariable() string { return v.variable("_API_KEY") }

// BaseVariable returns the environment variable of its base URL; empty if it has none.
func (v Vendor) BaseVariable() string { return v.variable("_BASE_URL") }

func (v Vendor) variable(ending string) string {
	if v.BuiltIn {
		return ""
	}
	return strings.ToUpper(strings.ReplaceAll(v.KeyOwner(), "-", "_")) + ending
}

// Speaks returns the protocol in which a model of the vendor is asked.
func (v Vendor) Speaks(model string) Protocol {
	if v.Google && strings.HasPrefix(model, "claude") {
		return Anthropic
	}
	return v.Protocol
}

// Vendors lists all of them, in the order in which a default is looked for: those
// of the user before the one that is built in.
func Vendors() []Vendor {
	users, changes := userVendors()
	out := make([]Vendor, 0, len(vendors)+len(users))
	for _, v := range vendors {
		if v.BuiltIn {
			out = append(out, users...)
		}
		out = append(out, v.with(changes[v.Name]))
	}
	return out
}

// Find returns the vendor of a name, or NOT_FOUND with what was perhaps meant.
func Find(name string) (Vendor, error) {
	if v, ok := findVendor(name); ok {
		return v, nil
	}
	all := Vendors()
	names := make([]string, len(all))
	for i, v := range all {
		names[i] = v.Name
	}
	return Vendor{}, fault.New(fault.NotFound, "no vendor is called %.40q", name).
		WithHint("%s", text.NearestHint(strings.ToLower(name), names, "known: "+strings.Join(names, ", ")))
}

// IsLocal reports whether there is such a vendor, and it runs on the user's machine. It is asked for every
// call, and finds no words for those that are not known.
func IsLocal(name string) bool {
	v, ok := findVendor(name)
	return ok && v.Local
}

func findVendor(name string) (Vendor, bool) {
	users, changes := userVendors()
	for i := range vendors { // asked for every turn: not all of them are copied
		if vendors[i].Name == name {
			return vendors[i].with(changes[name]), true
		}
	}
	for _, v := range users {
		if v.Name == name {
			return v, true
		}
	}
	return Vendor{}, false
}

// Table is the models of one vendor.
type Table struct {
	Default string      `json:"default"` // the one to take if nobody chooses
	Models  []llm.Model `json:"models"`
}

// linkedTable returns the table of a vendor as it is linked; empty where its models are not known.
func linkedTable(name string) Table {
	if name == Offline {
		return Table{Default: Offline, Models: []llm.Model{{Name: Offline, Title: "built-in offline model", Context: 200_000, Output: 8192}}}
	}
	var t Table
	if raw := linked()[name]; raw != nil {
		if err := json.Unmarshal(raw, &t); err != nil {
			panic("models.json: " + err.Error())
		}
	}
	return t
}

//go:embed models.json
var models []byte

// linked returns the tables of models.json, which has the form of an update.
var linked = sync.OnceValue(func() map[string]jsontext.Value {
	var all struct {
		Vendors map[string]jsontext.Value `json:"vendors"`
	}
	if err := json.Unmarshal(models, &all); err != nil {
		panic("models.json: " + err.Error())
	}
	return all.Vendors
})

var (
	mu     sync.Mutex
	tables = map[string]Table{}
)

// Table returns the vendor's; empty where its models are not known.
func (v Vendor) Table() Table {
	name := v.owner()
	mu.Lock()
	defer mu.Unlock()
	if t, ok := tables[name]; ok {
		return t
	}
	t, fresh := updatedTable(name)
	if !fresh {
		t = linkedTable(name)
	}
	for i := range t.Models {
		t.Models[i].Known = true
		t.Models[i] = applyRules(name, t.Models[i])
	}
	tables[name] = t
	return t
}

// Learn takes a table for a vendor whose models only its server knows.
func Learn(v Vendor, t Table) {
	mu.Lock()
	defer mu.Unlock()
	tables[v.owner()] = t
}

// owner returns the vendor whose models these are.
func (v Vendor) owner() string {
	if v.Models != "" {
		return v.Models
	}
	return v.Name
}

// Model returns what is known about a model; ok is false if no table has it:
// then its limits are those of the one most like it, if any is.
func (v Vendor) Model(name string) (m llm.Model, ok bool) {
	table := v.Table()
	for _, m := range table.Models {
		if m.Name == name {
			m.PDF = v.documents(m)
			return m, m.Known
		}
	}
	m = applyRules(v.owner(), guessModel(table, name))
	m.PDF = v.documents(m)
	return m, false
}

// documents reports whether a model can be given documents: vendors make images of their pages.
func (v Vendor) documents(m llm.Model) bool {
	return (v.Protocol != Chat || v.Files) && !v.BuiltIn && (m.Images || !m.Known)
}

// Price returns what a model costs; ok is false if unknown.
func (v Vendor) Price(name string) (llm.Price, bool) {
	m, known := v.Model(name)
	return m.Price, known || v.Local
}

// cloud returns where Google's cloud is asked: its location decides.
func (v Vendor) cloud() string {
	switch at := v.Place(); at {
	case "global":
		return "https://aiplatform.googleapis.com"
	case "us", "eu":
		return "https://aiplatform." + at + ".rep.googleapis.com"
	default:
		return "https://" + at + "-aiplatform.googleapis.com"
	}
}

// Place returns the location in Google's cloud.
func (v Vendor) Place() string {
	if v.Location == "" {
		return "global"
	}
	return v.Location
}

// Below returns the path of the models in Google's cloud, of one who made them.
func (v Vendor) Below(publisher string) string {
	return "/v1/projects/" + url.PathEscape(v.Project) + "/locations/" + url.PathEscape(v.Place()) + "/publishers/" + publisher + "/models/"
}

// URL returns the base URL under which the vendor is asked: the given one or, if that is
// empty, its usual one. OpenAI's protocols stand below /v1, which people leave out.
func (v Vendor) URL(given string) (string, error) {
	base := cmp.Or(given, v.Base)
	if base == "" && v.Google {
		base = v.cloud()
	}
	if base == "" {
		return "", fault.New(fault.InvalidConfig, "%s has no usual address", v.Name).WithHint("set %s", v.BaseVariable())
	}
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		// It is not repeated: there may be a password in it.
		return "", fault.New(fault.InvalidConfig, "%s is not a URL with http or https and a host", v.BaseVariable()).
			WithHint("correct it, or leave it out")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return "", fault.New(fault.InvalidConfig, "%s has a query or a fragment", v.BaseVariable()).WithHint("leave it out")
	}
	if strings.Trim(u.Path, "/") == "" && (v.Protocol == Chat || v.Protocol == Responses) {
		if u.Path = "/v1"; v.Under != "" {
			u.Path = v.Under
		}
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// Choose decides which model is meant: the one that was asked for, else the
// default of the first vendor that is usable, else the one that is built in.
func Choose(asked string, usable func(Vendor) bool) (llm.Ref, error) {
	if asked != "" {
		ref, err := Parse(asked)
		if err != nil {
			return llm.Ref{}, err
		}
		_, err = Find(ref.Vendor)
		return ref, err
	}
	for _, v := range Vendors() {
		if v.Named || !v.BuiltIn && !usable(v) {
			continue // its table, which may be long, is not read
		}
		if name := v.Table().Default; name != "" {
			return llm.Ref{Vendor: v.Name, Name: name}, nil
		}
	}
	panic("catalog: no model is built in")
}

// Parse reads a model as a person writes it: vendor/name. If the vendor is missing, or is all there is,
// the hint of the error names the model that was probably meant.
func Parse(said string) (llm.Ref, error) {
	ref, err := llm.ParseRef(said)
	f, ok := fault.Of(err)
	if !ok {
		return ref, err
	}
	var words []string
	full := map[string]string{} // by what may be said for it
	for _, v := range Vendors() {
		for _, m := range v.Table().Models {
			for _, word := range []string{v.Name + "/" + m.Name, m.Name} {
				if full[word] == "" {
					words, full[word] = append(words, word), v.Name+"/"+m.Name
				}
			}
		}
		if usual := v.Table().Default; usual != "" && full[v.Name] == "" {
			words, full[v.Name] = append(words, v.Name), v.Name+"/"+usual
		}
	}
	if near := text.NearestWord(strings.ToLower(said), words); near != "" && said != "" {
		return ref, f.WithHint("did you mean %q?", full[near])
	}
	return ref, err
}
