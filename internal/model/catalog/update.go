package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/model/llm"
)

// Update is a table of models that takes the place of the built-in ones of the
// vendors that it names.
type Update struct {
	Format  int              `json:"format"` // 1
	Vendors map[string]Table `json:"vendors"`
}

// Path returns the file of a home folder that holds an update.
func Path(home string) string { return filepath.Join(home, "models.json") }

// file is the path of an update; empty: there is none. mu guards it.
var file string

// UseFile names the file of an update. One that is not there, or not whole, changes
// nothing: ramet models says so.
func UseFile(path string) {
	mu.Lock()
	defer mu.Unlock()
	if file != path {
		file = path
		clear(tables)
	}
}

// updatedTable returns the table that the file has for a vendor.
func updatedTable(name string) (Table, bool) {
	if file == "" {
		return Table{}, false
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return Table{}, false
	}
	u, err := ParseUpdate(text)
	if err != nil {
		return Table{}, false
	}
	t, ok := u.Vendors[name]
	return t, ok
}

// ParseUpdate reads an update and refuses one that could not be used.
func ParseUpdate(text []byte) (Update, error) {
	bad := func(format string, args ...any) error {
		return fault.New(fault.InvalidConfig, "this is not a table of models: "+format, args...).
			WithHint(`it is {"format": 1, "vendors": {"anthropic": {"default": NAME, "models": [MODEL, …]}}}; see docs/models.md`)
	}
	var u Update
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&u); err != nil {
		return Update{}, bad("%v", err)
	}
	if u.Format != 1 || len(u.Vendors) == 0 {
		return Update{}, bad("its format is %d, and it names %d vendors", u.Format, len(u.Vendors))
	}
	for name, t := range u.Vendors {
		v, err := Find(name)
		if err != nil {
			return Update{}, err
		}
		if v.Local || v.Asks || v.BuiltIn || v.Models != "" {
			return Update{}, bad("%s has no models of its own that could be listed", name)
		}
		seen := map[string]bool{}
		for _, m := range t.Models {
			if _, err := llm.ParseRef(name + "/" + m.Name); err != nil || seen[m.Name] {
				return Update{}, bad("%s: %.40q is not a name, or appears twice", name, m.Name)
			}
			p := m.Price
			if min(p.Input, p.Output, p.CacheRead, p.CacheWrite, p.CacheHour, m.Context, m.Output) < 0 {
				return Update{}, bad("%s/%s: a number is below 0", name, m.Name)
			}
			seen[m.Name] = true
		}
		if !seen[t.Default] {
			return Update{}, bad("%s: its default %.40q is not among its models", name, t.Default)
		}
	}
	return u, nil
}

// Changes are lines that say what an update changes, sorted by vendor in the
// order of the catalog.
func (u Update) Changes() []string {
	var out []string
	for _, v := range Vendors() {
		t, ok := u.Vendors[v.Name]
		if !ok {
			continue
		}
		old := v.Table()
		if old.Default != t.Default {
			out = append(out, fmt.Sprintf("%s: the default is %s, not %s", v.Name, t.Default, old.Default))
		}
		for _, m := range t.Models {
			if was, known := v.Model(m.Name); !known {
				out = append(out, fmt.Sprintf("+ %s/%s", v.Name, m.Name))
			} else if change := describeDifference(was, m); change != "" {
				out = append(out, fmt.Sprintf("~ %s/%s: %s", v.Name, m.Name, change))
			}
		}
		for _, m := range old.Models {
			if !slices.ContainsFunc(t.Models, func(o llm.Model) bool { return o.Name == m.Name }) {
				out = append(out, fmt.Sprintf("- %s/%s", v.Name, m.Name))
			}
		}
	}
	return out
}

// describeDifference describes in what two entries of a model differ, in a few words.
func describeDifference(a, b llm.Model) string {
	dollars := func(p llm.Price) string {
		return fmt.Sprintf("$%.2f in, $%.2f out", float64(p.Input)/1e6, float64(p.Output)/1e6)
	}
	b.Price.Long, a.Price.Long = llm.Long{}, llm.Long{} // the rules say it of both
	b.Price.Search, a.Price.Search = 0, 0
	switch {
	case a.Price != b.Price:
		return dollars(a.Price) + " → " + dollars(b.Price)
	case a.Context != b.Context || a.Output != b.Output:
		return fmt.Sprintf("%d and %d tokens → %d and %d", a.Context, a.Output, b.Context, b.Output)
	case a.Thinks != b.Thinks || fmt.Sprint(a.Efforts) != fmt.Sprint(b.Efforts):
		return fmt.Sprintf("efforts %v → %v", a.Efforts, b.Efforts)
	case a.Title != b.Title || a.Images != b.Images:
		return "its description"
	}
	return ""
}

// users are the vendors that the user added, changes what he says of the built-in
// ones, by name.
var (
	usersMu sync.Mutex // guards both
	users   []Vendor
	changes map[string]Vendor
)

// userVendors returns what the user said. Neither is changed once it is there.
func userVendors() ([]Vendor, map[string]Vendor) {
	usersMu.Lock()
	defer usersMu.Unlock()
	return users, changes
}

var vendorName = text.Regexp(`^[a-z][a-z0-9-]{0,31}$`)

// CheckUser refuses a vendor of the user's that could not be asked. One that is
// built in can be told where it is, which token it takes and, in Google's cloud,
// the project and its location.
func CheckUser(v Vendor) error {
	bad := func(format string, args ...any) error {
		return fault.New(fault.InvalidConfig, "vendor %.40s: "+format, append([]any{v.Name}, args...)...).
			WithHint("docs/models.md shows an entry")
	}
	at := slices.IndexFunc(vendors, func(one Vendor) bool { return one.Name == v.Name })
	switch {
	case !vendorName().MatchString(v.Name):
		return bad("its name must be of a-z, 0-9 and -, and begin with a letter")
	case at >= 0 && vendors[at].BuiltIn, v.Name == "script":
		return bad("this name is taken")
	case at >= 0 && v.Protocol+Protocol(v.Title)+Protocol(v.Thoughts)+Protocol(v.Forms)+Protocol(v.Header) != "":
		return bad("it is built in: only base, token_command, project and location can be changed")
	case (v.Project != "" || v.Location != "") && (at < 0 || !vendors[at].Google):
		return bad("only vertex has a project and a location")
	case at < 0 && v.Base == "":
		return bad("it has no base: say where it is asked")
	}
	if v.Base != "" {
		if _, err := v.URL(""); err != nil {
			return bad("base is not a URL with http or https and a host")
		}
	}
	return nil
}

// Use takes the vendors of the user, in place of those that were taken before.
func Use(list []Vendor) {
	usersMu.Lock()
	defer usersMu.Unlock()
	users, changes = nil, map[string]Vendor{}
	for _, v := range list {
		if slices.ContainsFunc(vendors, func(one Vendor) bool { return one.Name == v.Name }) {
			changes[v.Name] = v
			continue
		}
		v.Added = true
		v.Protocol = cmp.Or(v.Protocol, Chat)
		v.Title = cmp.Or(v.Title, v.Name)
		if v.Protocol == Chat {
			v.Asks = true
			v.Forms = cmp.Or(v.Forms, "schema")
		}
		users = append(users, v)
	}
}

// with returns the vendor as the user changed it.
func (v Vendor) with(c Vendor) Vendor {
	if c.Base != "" {
		v.Base, v.Moved = c.Base, true
	}
	v.TokenCommand, v.Project, v.Location = c.TokenCommand, c.Project, c.Location
	return v
}
