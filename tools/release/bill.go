package main

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// component is one of a CycloneDX document, version 1.6.
type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
}

// bill writes what is linked on any of the platforms, and what is in the page, as CycloneDX
// reads it.
func (r *Release) bill(made string, linked []module, page []library) error {
	seen := map[string]component{}
	for _, l := range page {
		url := "pkg:npm/" + strings.Replace(l.Name, "@", "%40", 1) + "@" + l.Version
		seen[url] = component{Type: "library", Ref: url, Name: l.Name, Version: l.Version, PURL: url}
	}
	for _, m := range linked {
		url := "pkg:golang/" + m.Path + "@" + m.Version
		seen[url] = component{Type: "library", Ref: url, Name: m.Path, Version: m.Version, PURL: url}
	}
	components := make([]component, 0, len(seen))
	refs := make([]string, 0, len(seen))
	for _, c := range seen {
		components = append(components, c)
	}
	slices.SortFunc(components, func(a, b component) int { return cmp.Compare(a.Ref, b.Ref) })
	for _, c := range components {
		refs = append(refs, c.Ref)
	}
	own := "pkg:golang/" + r.module() + "@" + r.Version
	text, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata": map[string]any{
			"timestamp": r.Stamp.Date.Format(time.RFC3339),
			"component": component{Type: "application", Ref: own, Name: "ramet", Version: r.Version, PURL: own},
		},
		"components":   components,
		"dependencies": []map[string]any{{"ref": own, "dependsOn": refs}},
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(made, "ramet-"+r.Version+".cdx.json"), append(text, '\n'), 0o644)
}
