package catalog

import (
	"cmp"
	"slices"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

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
