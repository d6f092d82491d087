package cli

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/core/config"
	"ramet/internal/model/catalog"
	"ramet/internal/model/credential"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
)

func modelsCommand(l *Line, p ModelsPorts) *cobra.Command {
	var all bool
	c := l.command("models", "List usable models, and why others are not usable", `List the models of all vendors that have a key or a base URL, with their prices per
million tokens; below them the other vendors, and what is missing. With --all their
models too. The default is marked with *: the setting "model", else the first usable
vendor's best known one, else the first model of a local server whose base URL is set,
else the offline model, which is built in: it needs no network, and understands plain
orders only. The table of vendors is built in (see ramet models update); local servers
are asked for their models, and those at their usual address on this machine are shown
when they answer: they are used when you choose one of their models.`, 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		keys, err := l.Keys()
		if err != nil {
			return nil, err
		}
		conf, err := l.Config()
		if err != nil {
			return nil, err
		}
		out := listModels(keys, all, p.survey(ctx, keys))
		usable := func(v catalog.Vendor) bool { ok, _ := keys.Usable(v); return ok }
		chosen, err := catalog.Choose(conf.Model, usable)
		if err != nil {
			return nil, ofSetting(conf, err)
		}
		out.choose(chosen)
		return out, nil
	})
	c.Flags().BoolVarP(&all, "all", "a", false, "also models that are not usable")
	c.AddCommand(updateCommand(l))
	return c
}

// modelList is the datum of models.
type modelList struct {
	Default string        `json:"default"`
	Models  []modelShape  `json:"models"`
	Vendors []vendorShape `json:"vendors"`
}

type modelShape struct {
	Model      string      `json:"model"` // vendor/name
	Title      string      `json:"title"`
	Vendor     string      `json:"vendor"`
	Default    bool        `json:"default"`
	Usable     bool        `json:"usable"`
	Context    *int64      `json:"context_tokens"`
	Output     *int64      `json:"output_tokens"`
	Thinks     bool        `json:"thinks"`
	Images     bool        `json:"images"`
	Effort     *string     `json:"effort"` // how hard it is to think where nobody says
	EffortFrom *effortRule `json:"effort_from"`
	Price      *priceShape `json:"usd_per_million_tokens"`
	knownPrice llm.Price
}

// effortRule names the source and date of a default effort for a family of models.
type effortRule struct {
	Families []string `json:"families"`
	Source   string   `json:"source"`
	Date     string   `json:"date"`
}

type priceShape struct {
	Input      float64  `json:"input"`
	Output     float64  `json:"output"`
	CacheRead  *float64 `json:"cache_read"`
	CacheWrite *float64 `json:"cache_write"`
}

type vendorShape struct {
	Vendor  string  `json:"vendor"`
	Title   string  `json:"title"`
	Usable  bool    `json:"usable"`
	Why     *string `json:"why"` // why it is not
	KeyFrom *string `json:"key_from"`
	BaseURL string  `json:"base_url"`
	// Found are the models of a local server that answers although nobody named it.
	Found []string `json:"found"`
}

func listModels(keys *credential.Store, all bool, seen survey) modelList {
	out := modelList{Models: []modelShape{}}
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
		out.Vendors = append(out.Vendors, vendorShape{v.Name, v.Title, ok, public.Optional(why), public.Optional(access.KeyFrom), withoutUser(base), found})
		if !ok && !all {
			continue
		}
		for _, m := range v.Table().Models {
			out.Models = append(out.Models, shapeModel(v, m, ok))
		}
	}
	return out
}

func shapeModel(v catalog.Vendor, m llm.Model, usable bool) modelShape {
	dollars := func(pico int64) float64 { return float64(pico) / 1e6 }
	out := modelShape{Model: v.Name + "/" + m.Name, Title: m.Title, Vendor: v.Name, Usable: usable, Context: public.Optional(m.Context),
		Output: public.Optional(m.Output), Thinks: m.Thinks, Images: m.Images, Effort: public.Optional(string(m.Effort)), knownPrice: m.Price,
		Price: &priceShape{Input: dollars(m.Price.Input), Output: dollars(m.Price.Output)}}
	if r, ok := v.EffortRule(m); ok {
		out.EffortFrom = &effortRule{r.Families, r.Source, r.Date}
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
func (l *modelList) choose(ref llm.Ref) {
	l.Default = ref.String()
	for i := range l.Models {
		l.Models[i].Default = l.Models[i].Model == ref.String()
	}
}

func (l modelList) Text(w *printer.Writer) {
	rows := [][]string{{" ", "MODEL", "CONTEXT", "$/M IN", "$/M OUT", "EFFORT", ""}}
	for _, m := range l.Models {
		mark, note := " ", ""
		if m.Default {
			mark = "*"
		}
		if !m.Usable {
			note = "not usable"
		}
		rows = append(rows, []string{mark, m.Model, formatTokens(m.Context), formatPrice(m.knownPrice.Input), formatPrice(m.knownPrice.Output), formatEffort(m.Effort), note})
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

func formatTokens(n *int64) string {
	switch {
	case n == nil:
		return "?"
	case *n >= 1e6:
		return strconv.FormatFloat(float64(*n/1e4)/100, 'f', -1, 64) + "M"
	}
	return strconv.FormatInt(*n/1000, 10) + "k"
}

// formatEffort returns the word, or a dash for a model that decides itself or does not think.
func formatEffort(word *string) string {
	if word == nil {
		return "-"
	}
	return *word
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

// ofSetting says which setting named a model that does not exist.
func ofSetting(conf *config.Config, err error) error {
	v, getErr := conf.Get("model")
	f, ok := fault.Of(err)
	if getErr != nil || !ok {
		return err
	}
	placed := *f
	placed.Message = v.Where + ": model: " + f.Message
	return &placed
}

// ModelsPorts ask those who run models. A function that is nil is not asked.
type ModelsPorts struct {
	// Try sees whether a vendor takes a key, without cost: nil, PROVIDER_AUTH, or why
	// that is unknown.
	Try func(ctx context.Context, v catalog.Vendor, key, base string) error
	// Learn takes the models of a local server into the catalog.
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
func (p ModelsPorts) survey(ctx context.Context, keys *credential.Store) survey {
	out := survey{silent: map[string]error{}}
	var unnamed []catalog.Vendor
	for _, v := range catalog.Vendors() {
		a := keys.Access(v)
		ok, _ := keys.Usable(v)
		switch {
		case !v.Asks:
		case v.Added && !ok:
		case !v.Added && a.Base == "":
			unnamed = append(unnamed, v)
		case p.Learn != nil:
			if err := p.Learn(ctx, v, a.Key.Reveal(), a.Base); err != nil {
				out.silent[v.Name] = err
			}
		}
	}
	if p.Find != nil {
		out.found = p.Find(ctx, unnamed)
	}
	return out
}
