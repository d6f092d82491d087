package operation

import (
	"context"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/model/catalog"
	"ramet/internal/model/credential"
	"ramet/internal/operation/public"
)

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
	rows := [][]string{{"VENDOR", "KEY", "FROM"}}
	for _, d := range l.Vendors {
		state, from := "-", ""
		if d.HasKey {
			state, from = "yes", *d.From
		}
		if d.Stored && from == d.Variable {
			from += " (another one is stored)"
		}
		rows = append(rows, []string{d.Vendor, state, from})
	}
	w.Table(rows)
}
