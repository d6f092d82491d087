package cli

import (
	"context"

	"ramet/internal/model/catalog"
	"ramet/internal/model/credential"
)

// ModelsPorts ask those who run models. A function that is nil is not asked.
type ModelsPorts struct {
	// Try sees whether a vendor takes a key, without cost: nil, PROVIDER_AUTH, or why
	// nobody knows.
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
	found  map[string][]string // the models of those that nobody named
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
