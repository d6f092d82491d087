package mcp

import (
	"fmt"
	"maps"
	"slices"

	"ramet/internal/core/trust"
	"ramet/internal/launch"
)

// Source finds, for trust, the files of a project that its MCP servers run.
func Source() trust.Source {
	return trust.Source{Kind: trust.Servers, Find: func(g *trust.Ground) ([]trust.Thing, error) {
		data, err := g.Read(ProjectFile, mostMessage)
		if err != nil {
			return nil, nil // the source of the file itself reports it
		}
		named, err := ParseProject(data)
		if err != nil {
			return nil, nil // nothing of it is used
		}
		var out []trust.Thing
		seen := map[string]bool{ProjectFile: true}
		for _, n := range named {
			for _, p := range launch.ProjectFiles(g.Dir(), n.Line()) {
				if seen[p] {
					continue
				}
				seen[p] = true
				found, err := trust.Programs(trust.Servers, fmt.Sprintf("is run by the MCP server %s", n.Name), p).Find(g)
				if err != nil {
					return nil, err
				}
				out = append(out, found...)
			}
		}
		return out, nil
	}}
}

// Line returns the command line of a server as it is written, and its variables, which may name files
// to be loaded (NODE_OPTIONS=--require ./x.js); nil if it is reached over HTTP.
func (n Named) Line() []string {
	if n.Command == "" {
		return nil
	}
	out := append([]string{n.Command}, n.Args...)
	for _, name := range slices.Sorted(maps.Keys(n.Env)) {
		out = append(out, name+"="+n.Env[name])
	}
	return out
}
