package cli

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/model/catalog"
	"ramet/internal/model/credential"
	"ramet/internal/operation/public"
)

func authCommand(l *Line, p ModelsPorts) *cobra.Command {
	return parent("auth", "Store, list and remove API keys", `Keys come from the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, …), else from
credentials.toml in ramet's home, which only you can read. A key is never printed,
never part of a history, and never in the environment of a tool.`, authSetCommand(l, p), authListCommand(l), authRemoveCommand(l))
}

func authSetCommand(l *Line, p ModelsPorts) *cobra.Command {
	var untried bool
	c := l.command("set VENDOR", "Store a key, read from standard input", `Store the key of a vendor. It is read from standard input, never from the command
line, which others could see:

    ramet auth set anthropic < key.txt

On a terminal ramet asks for it and does not show what is typed.

The vendor is asked whether it accepts the key, which costs nothing; one that it refuses is
not stored. If it cannot be reached, the key is stored all the same. --untried asks no vendor.`, 1, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		v, home, err := keyOwner(l, args[0])
		if err != nil {
			return nil, err
		}
		key, err := readKey(l, v)
		if err != nil {
			return nil, err
		}
		if untried {
			p.Try = nil
		}
		done, err := p.try(ctx, l, v, key)
		if err != nil {
			return nil, err
		}
		if err := credential.Set(ctx, home, v.Name, key); err != nil {
			return nil, err
		}
		return changedKey(l, v, done)
	})
	c.ValidArgsFunction = completeKeyOwners
	c.Flags().BoolVar(&untried, "untried", false, "store it without asking the vendor")
	return c
}

// try asks the vendor whether it takes a key, and gives the words that tell how
// that went.
func (p ModelsPorts) try(ctx context.Context, l *Line, v catalog.Vendor, key string) (string, error) {
	const stored = "saved the key for %s"
	if p.Try == nil {
		return stored, nil
	}
	keys, err := l.Keys()
	if err != nil {
		return "", err
	}
	err = p.Try(ctx, v, key, keys.Access(v).Base)
	switch {
	case err == nil:
		return "checked and saved the key for %s", nil
	case fault.Is(err, fault.ProviderAuth):
		return "", fault.New(fault.ProviderAuth, "nothing was stored: %w", err).
			WithHint("check the key; --untried stores it all the same")
	}
	return stored + ", but couldn't check it: " + strings.ReplaceAll(text.Line(err.Error(), 200), "%", "%%"), nil
}

func authRemoveCommand(l *Line) *cobra.Command {
	c := l.command("rm VENDOR", "Remove a stored key", "", 1, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		v, home, err := keyOwner(l, args[0])
		if err != nil {
			return nil, err
		}
		if err := credential.Remove(ctx, home, v.Name); err != nil {
			return nil, err
		}
		return changedKey(l, v, "the stored key of %s is removed")
	})
	c.ValidArgsFunction = completeKeyOwners
	return c
}

func authListCommand(l *Line) *cobra.Command {
	return l.command("list", "Show which vendors have a key, and from where", "", 0, 0, func(context.Context, []string) (printer.Datum, error) {
		keys, err := l.Keys()
		if err != nil {
			return nil, err
		}
		out := keyList{Vendors: []keyShape{}}
		for _, v := range catalog.Vendors() {
			if v.KeyOwner() == v.Name {
				out.Vendors = append(out.Vendors, shapeKey(v, keys))
			}
		}
		return out, nil
	})
}

// keyOwner finds the vendor whose key is meant.
func keyOwner(l *Line, name string) (catalog.Vendor, string, error) {
	if err := l.Person("auth"); err != nil {
		return catalog.Vendor{}, "", err
	}
	if _, err := l.Config(); err != nil { // it may be a vendor of the user's
		return catalog.Vendor{}, "", err
	}
	v, err := catalog.Find(strings.ToLower(name))
	if err != nil {
		return v, "", err
	}
	if v.BuiltIn {
		return v, "", fault.New(fault.NotFound, "%s takes no key: it is built in", v.Name).WithHint("just use it: --model %s/%s", v.Name, v.Table().Default)
	}
	if owner := v.KeyOwner(); owner != v.Name {
		return v, "", fault.New(fault.NotFound, "%s has no key of its own", v.Name).WithHint("it takes that of %s", owner)
	}
	home, err := l.HomeDir()
	return v, home, err
}

func readKey(l *Line, v catalog.Vendor) (string, error) {
	const most = 64 << 10
	var given string
	var err error
	if l.Password != nil {
		given, err = l.Password("key of " + v.Title + " (not shown): ")
	} else {
		var b []byte
		b, err = io.ReadAll(io.LimitReader(l.Stdin, most))
		given = string(b)
	}
	if err != nil {
		return "", fault.New(fault.InvalidText, "read the key: %w", err)
	}
	given = strings.TrimSpace(given)
	return given, credential.CheckKey(given)
}

// changedKey returns what a vendor's key is after a change.
func changedKey(l *Line, v catalog.Vendor, done string) (printer.Datum, error) {
	keys, err := l.ReadKeys()
	if err != nil {
		return nil, err
	}
	return keyChange{shapeKey(v, keys), done}, nil
}

// keyShape describes a key without showing it. It is the output of auth set and auth rm.
type keyShape struct {
	Vendor   string  `json:"vendor"`
	HasKey   bool    `json:"has_key"`
	From     *string `json:"from"`     // the variable, or the file
	Variable string  `json:"variable"` // that would set it
	Stored   bool    `json:"stored"`   // the file has one, even if the variable wins
}

func shapeKey(v catalog.Vendor, keys *credential.Store) keyShape {
	a := keys.Access(v)
	return keyShape{v.Name, !a.Key.IsZero(), public.Optional(a.KeyFrom), v.KeyVariable(), keys.Stored(v.Name)}
}

type keyChange struct {
	keyShape
	done string
}

func (d keyChange) Text(w *printer.Writer) {
	w.Line(d.done, d.Vendor)
	if d.From != nil && *d.From == d.Variable {
		w.Line("%s is set and is used instead", d.Variable)
	}
}

// keyList is the datum of auth list.
type keyList struct {
	Vendors []keyShape `json:"vendors"`
}

func (l keyList) Text(w *printer.Writer) {
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

func completeKeyOwners(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, v := range catalog.Vendors() {
		if len(args) == 0 && v.KeyOwner() == v.Name {
			out = append(out, v.Name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
