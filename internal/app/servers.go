package app

import (
	"context"

	commands "ramet/internal/cli/models"
	"ramet/internal/llm/catalog"
	"ramet/internal/llm/roster"
)

// modelServers asks those who run models.
func modelServers() commands.Ports {
	if switches().Alone {
		return commands.Ports{}
	}
	return commands.Ports{
		Try: func(ctx context.Context, v catalog.Vendor, key, base string) error {
			return roster.Try(ctx, v, roster.Access{Key: key, Base: base}, nil)
		},
		Learn: func(ctx context.Context, v catalog.Vendor, key, base string) error {
			return roster.Learn(ctx, v, roster.Access{Key: key, Base: base}, nil)
		},
		Find: func(ctx context.Context, vendors []catalog.Vendor) map[string][]string {
			out := map[string][]string{}
			for _, f := range roster.Find(ctx, vendors, nil) {
				for _, m := range f.Models {
					out[f.Vendor.Name] = append(out[f.Vendor.Name], m.Name)
				}
			}
			return out
		},
	}
}
