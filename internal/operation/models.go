package operation

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/config"
	"ramet/internal/model/catalog"
	"ramet/internal/model/credential"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
)

// ModelsInput chooses models.
type ModelsInput struct {
	All bool `json:"all,omitempty" short:"a" help:"also models that can't be used"`
}

// ListModels lists models and their vendors.
var ListModels = Op[ModelsInput, ModelList]{
	Doc: Doc{Name: "models", Group: "models", Faces: CLI, Effect: Reads, OnHome: true, Summary: "List usable models, and what the others need",
		Help: `List the models of all vendors that have a key or a base URL, with their prices per million tokens,
then the other vendors and what each one needs. {all} lists their models too.

The default model is marked with *. It is the first of these that exists: the setting "model";
the best known model of the first usable vendor; the first model of a local server whose base URL
is set; the built-in offline model, which needs no network and understands only plain commands.

The catalog is built in (see "ramet models update"). Local servers are asked for their models.
Servers at their usual address on this machine are listed if they answer, and are used only if
you choose one of their models.`},
	Run: func(ctx context.Context, e *Env, in ModelsInput) (out ModelList, err error) {
		keys, err := e.Session.Keys()
		if err != nil {
			return out, err
		}
		conf, err := e.Session.Config()
		if err != nil {
			return out, err
		}
		out = listModels(keys, in.All, e.Vendors.survey(ctx, keys))
		usable := func(v catalog.Vendor) bool { ok, _ := keys.Usable(v); return ok }
		chosen, err := catalog.Choose(conf.Model, usable)
		if err != nil {
			return out, atSetting(conf, err)
		}
		out.choose(chosen)
		return out, nil
	},
}

// ModelList lists models and their vendors.
type ModelList struct {
	Default string         `json:"default"`
	Models  []ListedModel  `json:"models"`
	Vendors []ListedVendor `json:"vendors"`
}

// ListedModel is a model of a vendor.
type ListedModel struct {
	Model      string      `json:"model"` // vendor/name
	Title      string      `json:"title"`
	Vendor     string      `json:"vendor"`
	Default    bool        `json:"default"`
	Usable     bool        `json:"usable"`
	Context    *int64      `json:"context_tokens"`
	Output     *int64      `json:"output_tokens"`
	Thinks     bool        `json:"thinks"`
	Images     bool        `json:"images"`
	Effort     *string     `json:"effort"` // how hard it is to think by default
	EffortFrom *EffortRule `json:"effort_from"`
	Price      *ModelPrice `json:"usd_per_million_tokens"`
	knownPrice llm.Price
}

// EffortRule names the source and date of a default effort for a family of models.
type EffortRule struct {
	Families []string `json:"families"`
	Source   string   `json:"source"`
	Date     string   `json:"date"`
}

// ModelPrice is a price in dollars per million tokens.
type ModelPrice struct {
	Input      float64  `json:"input"`
	Output     float64  `json:"output"`
	CacheRead  *float64 `json:"cache_read"`
	CacheWrite *float64 `json:"cache_write"`
}

// ListedVendor is a vendor, with the reason if none of its models can be used.
type ListedVendor struct {
	Vendor  string  `json:"vendor"`
	Title   string  `json:"title"`
	Usable  bool    `json:"usable"`
	Why     *string `json:"why"` // why it is not
	KeyFrom *string `json:"key_from"`
	BaseURL string  `json:"base_url"`
	// Found are the models of a local server that answers although no setting names it.
	Found []string `json:"found"`
}

func listModels(keys *credential.Store, all bool, seen survey) ModelList {
	out := ModelList{Models: []ListedModel{}}
	for _, v := range catalog.Vendors() {
		ok, why := keys.Usable(v)
		access := keys.Access(v)
		base, err := access.Reach(v).URL(access.Base)
		if err != nil {
			base = v.Base
		}
		if err := seen.silent[v.Name]; err != nil {
			why = err.Error()
		}
		found := seen.found[v.Name]
		if found == nil {
			found = []string{}
		}
		out.Vendors = append(out.Vendors, ListedVendor{v.Name, v.Title, ok, public.Optional(why), public.Optional(access.KeyFrom), withoutUser(base), found})
		if !ok && !all {
			continue
		}
		for _, m := range v.Table().Models {
			out.Models = append(out.Models, shapeModel(v, m, ok))
		}
	}
	return out
}

func shapeModel(v catalog.Vendor, m llm.Model, usable bool) ListedModel {
	dollars := func(pico int64) float64 { return float64(pico) / 1e6 }
	out := ListedModel{Model: v.Name + "/" + m.Name, Title: m.Title, Vendor: v.Name, Usable: usable, Context: public.Optional(m.Context),
		Output: public.Optional(m.Output), Thinks: m.Thinks, Images: m.Images, Effort: public.Optional(string(m.Effort)), knownPrice: m.Price,
		Price: &ModelPrice{Input: dollars(m.Price.Input), Output: dollars(m.Price.Output)}}
	if r, ok := v.EffortRule(m); ok {
		out.EffortFrom = &EffortRule{r.Families, r.Source, r.Date}
	}
	if m.Price.CacheRead != 0 {
		out.Price.CacheRead = public.Optional(dollars(m.Price.CacheRead))
	}
	if m.Price.CacheWrite != 0 {
		out.Price.CacheWrite = public.Optional(dollars(m.Price.CacheWrite))
	}
	return out
}

// choose marks the default. One that is in no table is still a model: local
// servers take any name, and vendors bring out new ones.
func (l *ModelList) choose(ref llm.Ref) {
	l.Default = ref.String()
	for i := range l.Models {
		l.Models[i].Default = l.Models[i].Model == ref.String()
	}
}

// Text implements printer.Datum.
func (l ModelList) Text(w *printer.Writer) {
	rows := [][]string{{" ", "MODEL", "CONTEXT", "$/M IN", "$/M OUT", "EFFORT", ""}}
	for _, m := range l.Models {
		mark, note := " ", ""
		if m.Default {
			mark = "*"
		}
		if !m.Usable {
			note = "not usable"
		}
		rows = append(rows, []string{mark, m.Model, formatWindow(m.Context), formatPrice(m.knownPrice.Input), formatPrice(m.knownPrice.Output), orDash(m.Effort), note})
	}
	if len(rows) > 1 {
		w.Table(rows)
		w.Line("EFFORT is the default effort of a model; --json has the page and date of each.")
		w.Line("")
	}
	rows = [][]string{{"VENDOR", "STATE"}}
	for _, v := range l.Vendors {
		state := "usable"
		switch {
		case len(v.Found) > 0:
			state = "answers at " + v.BaseURL + "; to use it: `ramet config set model " + v.Vendor + "/" + v.Found[0] + "`"
		case v.Why != nil && v.Usable:
			state += ", but " + *v.Why
		case v.Why != nil:
			state = *v.Why
		case v.Vendor == catalog.Offline:
			state += ", built in"
		case v.KeyFrom != nil:
			state += ", key from " + *v.KeyFrom
		default:
			state += ", no key"
		}
		rows = append(rows, []string{v.Vendor, state})
	}
	w.Table(rows)
	w.Line("")
	w.Line("default: %s", l.Default)
	if strings.HasPrefix(l.Default, catalog.Offline+"/") {
		w.Line("It understands plain orders only. For another, set a key with `ramet auth set VENDOR`, or choose with `ramet config set model VENDOR/NAME`.")
	}
}

func formatWindow(n *int64) string {
	switch {
	case n == nil:
		return "?"
	case *n >= 1e6:
		return strconv.FormatFloat(float64(*n/1e4)/100, 'f', -1, 64) + "M"
	}
	return strconv.FormatInt(*n/1000, 10) + "k"
}

func formatPrice(pico int64) string { return fmt.Sprintf("%.2f", float64(pico)/1e6) }

// withoutUser takes a name and a password out of a URL.
func withoutUser(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	u.User = nil
	return strings.TrimRight(u.String(), "/")
}

// atSetting names the setting in an error about the model that it names.
func atSetting(conf *config.Config, err error) error {
	v, getErr := conf.Get("model")
	f, ok := fault.Of(err)
	if getErr != nil || !ok {
		return err
	}
	placed := *f
	placed.Message = v.Where + ": model: " + f.Message
	return &placed
}

// Vendors ask those who serve models. A function that is nil is not called.
type Vendors struct {
	// Try reports whether a vendor accepts a key, without cost: nil, PROVIDER_AUTH, or why
	// that is unknown.
	Try func(ctx context.Context, v catalog.Vendor, key, base string) error
	// Learn adds the models of a local server to the catalog.
	Learn func(ctx context.Context, v catalog.Vendor, key, base string) error
	// Find names the models of the vendors whose servers answer at their usual
	// address on this machine.
	Find func(ctx context.Context, vendors []catalog.Vendor) map[string][]string
}

// survey holds the models of local servers that answered.
type survey struct {
	silent map[string]error    // asked for their models in vain
	found  map[string][]string // the models of servers that no setting names
}

// survey asks the local servers that are named for their models, and looks for
// the others.
func (v Vendors) survey(ctx context.Context, keys *credential.Store) survey {
	out := survey{silent: map[string]error{}}
	var unnamed []catalog.Vendor
	for _, one := range catalog.Vendors() {
		a := keys.Access(one)
		ok, _ := keys.Usable(one)
		switch {
		case !one.Asks:
		case one.Added && !ok:
		case !one.Added && a.Base == "":
			unnamed = append(unnamed, one)
		case v.Learn != nil:
			if err := v.Learn(ctx, one, a.Key.Reveal(), a.Base); err != nil {
				out.silent[one.Name] = err
			}
		}
	}
	if v.Find != nil {
		out.found = v.Find(ctx, unnamed)
	}
	return out
}

// UpdateModelsInput names a table of models.
type UpdateModelsInput struct {
	From string `json:"from" arg:"FILE|URL" help:"the table"`
	Yes  bool   `json:"yes,omitempty" short:"y" help:"store it"`
}

// TableChange lists what a table of models changes.
type TableChange struct {
	Changes []string `json:"changes"`
	Stored  bool     `json:"stored"`
	File    string   `json:"file"`
}

// UpdateModels stores a new table of models.
var UpdateModels = Op[UpdateModelsInput, TableChange]{
	Doc: Doc{Name: "models update", Group: "models", Faces: CLI, OnHome: true, Summary: "Update the catalog of models, after showing the changes",
		Help: `Read a catalog of models from a file or an https address, and show how it changes prices, limits
and names. {yes} stores it as models.json in ramet's home, where it is used from then on. To
return to the built-in catalog, remove that file. The format is described in docs/models.md.`},
	Run: func(ctx context.Context, e *Env, in UpdateModelsInput) (out TableChange, err error) {
		home, err := e.Session.HomeDir()
		if err != nil {
			return out, err
		}
		catalog.UseFile(catalog.Path(home))
		text, err := readTable(ctx, in.From)
		if err != nil {
			return out, err
		}
		u, err := catalog.ParseUpdate(text)
		if err != nil {
			return out, err
		}
		out = TableChange{Changes: append([]string{}, u.Changes()...), Stored: in.Yes, File: catalog.Path(home)}
		if !in.Yes {
			return out, nil
		}
		if err := durable.MakeFolder(home, 0o700); err != nil {
			return out, err
		}
		return out, durable.WriteFile(out.File, text, 0o644)
	},
	Text: func(w *printer.Writer, _ UpdateModelsInput, out TableChange) {
		for _, line := range out.Changes {
			w.Line("%s", line)
		}
		switch {
		case len(out.Changes) == 0 && !out.Stored:
			w.Line("nothing would change")
		case out.Stored:
			w.Line("stored as %s", out.File)
		default:
			w.Line("nothing is stored yet: --yes takes it")
		}
	},
}

// maxTable limits the size of a table.
const maxTable = 8 << 20

// readTable reads a file, or what an address gives.
func readTable(ctx context.Context, from string) ([]byte, error) {
	u, err := url.Parse(from)
	if err != nil || u.Scheme == "" || !strings.Contains(from, "://") {
		text, err := os.ReadFile(from)
		if err != nil {
			return nil, fault.New(fault.NotFound, "read the table: %w", err)
		}
		return text, nil
	}
	local := u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1"
	if u.Scheme != "https" && !(u.Scheme == "http" && local) {
		return nil, fault.New(fault.Usage, "%s:// is no way to read a table", u.Scheme).WithHint("give a file or an https address")
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, fault.New(fault.Usage, "read the table: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fault.New(fault.ProviderUnreachable, "read the table: %w", err).WithHint("check the network, or give a file")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fault.New(fault.NotFound, "read the table: %s answers with status %d", u.Host, resp.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxTable))
	if err != nil {
		return nil, fault.New(fault.ProviderUnreachable, "read the table: %w", err)
	}
	return text, nil
}

// KeyOwner names a vendor that has a key.
type KeyOwner string

// SetKeyInput names the vendor whose key is stored.
type SetKeyInput struct {
	Vendor  KeyOwner `json:"vendor" arg:"VENDOR" help:"the vendor"`
	Untried bool     `json:"untried,omitempty" help:"store it without asking the vendor"`
}

// SetKey stores the key of a vendor.
var SetKey = Op[SetKeyInput, KeyChange]{
	Doc: Doc{Name: "auth set", Group: "models", Faces: CLI, OnHome: true, Persons: true, Summary: "Store a key from standard input",
		Help: `Store the API key of a vendor. It is read from standard input, never from the command line,
where other users could see it:

    ramet auth set anthropic < key.txt

On a terminal, ramet asks for the key and doesn't show what you type.

The key is tried with a request that costs nothing, and is not stored if the vendor refuses it.
If the vendor can't be reached, the key is stored anyway. {untried} skips the check.`},
	Run: func(ctx context.Context, e *Env, in SetKeyInput) (out KeyChange, err error) {
		v, err := findKeyOwner(e, in.Vendor)
		if err != nil {
			return out, err
		}
		key, err := e.Secret("key of " + v.Title + " (not shown): ")
		if err != nil {
			return out, fault.New(fault.InvalidText, "read the key: %w", err)
		}
		key = strings.TrimSpace(key)
		if err := credential.CheckKey(key); err != nil {
			return out, err
		}
		done, note, err := e.tryKey(ctx, v, key, in.Untried)
		if err != nil {
			return out, err
		}
		home, err := e.Session.HomeDir()
		if err == nil {
			err = credential.Set(ctx, home, v.Name, key)
		}
		if err != nil {
			return out, err
		}
		return e.showChange(v, done+" the key for "+v.Name+note)
	},
}

// tryKey asks a vendor whether it accepts a key, and returns what to tell about that before and after its name.
func (e *Env) tryKey(ctx context.Context, v catalog.Vendor, key string, untried bool) (done, note string, err error) {
	if e.Vendors.Try == nil || untried {
		return "saved", "", nil
	}
	keys, err := e.Session.Keys()
	if err != nil {
		return "", "", err
	}
	err = e.Vendors.Try(ctx, v, key, keys.Access(v).Base)
	switch {
	case err == nil:
		return "checked and saved", "", nil
	case fault.Is(err, fault.ProviderAuth):
		return "", "", fault.New(fault.ProviderAuth, "nothing was stored: %w", err).
			WithHint("check the key; --untried stores it all the same")
	}
	return "saved", ", but couldn't check it: " + text.Line(err.Error(), 200), nil
}

// RemoveKeyInput names the vendor whose key is removed.
type RemoveKeyInput struct {
	Vendor KeyOwner `json:"vendor" arg:"VENDOR" help:"the vendor"`
}

// RemoveKey removes a stored key.
var RemoveKey = Op[RemoveKeyInput, KeyChange]{
	Doc: Doc{Name: "auth rm", Group: "models", Faces: CLI, OnHome: true, Persons: true, Summary: "Remove a stored key"},
	Run: func(ctx context.Context, e *Env, in RemoveKeyInput) (out KeyChange, err error) {
		v, err := findKeyOwner(e, in.Vendor)
		if err != nil {
			return out, err
		}
		home, err := e.Session.HomeDir()
		if err == nil {
			err = credential.Remove(ctx, home, v.Name)
		}
		if err != nil {
			return out, err
		}
		return e.showChange(v, "the stored key of "+v.Name+" is removed")
	},
}

// ListKeys lists the vendors with their keys.
var ListKeys = Op[NoInput, KeyList]{
	Doc: Doc{Name: "auth list", Group: "models", Faces: CLI, Effect: Reads, OnHome: true, Summary: "Show which vendors have a key, and from where"},
	Run: func(_ context.Context, e *Env, _ NoInput) (KeyList, error) {
		out := KeyList{Vendors: []VendorKey{}}
		keys, err := e.Session.Keys()
		if err != nil {
			return out, err
		}
		for _, v := range catalog.Vendors() {
			if v.KeyOwner() == v.Name {
				out.Vendors = append(out.Vendors, showKey(v, keys))
			}
		}
		return out, nil
	},
}

func findKeyOwner(e *Env, name KeyOwner) (catalog.Vendor, error) {
	if _, err := e.Session.Config(); err != nil { // it may be a vendor of the user's
		return catalog.Vendor{}, err
	}
	v, err := catalog.Find(strings.ToLower(string(name)))
	if err != nil {
		return v, err
	}
	if v.BuiltIn {
		return v, fault.New(fault.NotFound, "%s takes no key: it is built in", v.Name).WithHint("just use it: --model %s/%s", v.Name, v.Table().Default)
	}
	if owner := v.KeyOwner(); owner != v.Name {
		return v, fault.New(fault.NotFound, "%s has no key of its own", v.Name).WithHint("it takes that of %s", owner)
	}
	return v, nil
}

// VendorKey describes a key without showing it.
type VendorKey struct {
	Vendor   string  `json:"vendor"`
	HasKey   bool    `json:"has_key"`
	From     *string `json:"from"`     // the variable, or the file
	Variable string  `json:"variable"` // that would set it
	Stored   bool    `json:"stored"`   // the file has one, even if the variable wins
}

func showKey(v catalog.Vendor, keys *credential.Store) VendorKey {
	a := keys.Access(v)
	return VendorKey{v.Name, !a.Key.IsZero(), public.Optional(a.KeyFrom), v.KeyVariable(), keys.Stored(v.Name)}
}

// KeyChange describes a vendor's key after a change.
type KeyChange struct {
	VendorKey
	done string
}

// showChange reads the keys after one was changed.
func (e *Env) showChange(v catalog.Vendor, done string) (out KeyChange, err error) {
	keys, err := e.Session.ReadKeys()
	if err != nil {
		return out, err
	}
	return KeyChange{showKey(v, keys), done}, nil
}

// Text implements printer.Datum.
func (c KeyChange) Text(w *printer.Writer) {
	w.Line("%s", c.done)
	if c.From != nil && *c.From == c.Variable {
		w.Line("%s is set and is used instead", c.Variable)
	}
}

// KeyList lists vendors with their keys.
type KeyList struct {
	Vendors []VendorKey `json:"vendors"`
}

// Text implements printer.Datum.
func (l KeyList) Text(w *printer.Writer) {
	writeTable(w, "", []string{"VENDOR", "KEY", "FROM"}, l.Vendors, func(d VendorKey) []string {
		state, from := "-", ""
		if d.HasKey {
			state, from = "yes", *d.From
		}
		if d.Stored && from == d.Variable {
			from += " (another one is stored)"
		}
		return []string{d.Vendor, state, from}
	})
}
