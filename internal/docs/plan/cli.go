package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"ramet/internal/docs"
)

// large is how many claims the page of a command line has before each command gets its
// own.
const large = 80

// cli has one page, or one for each command.
func (m *maker) cli(all []docs.Claim, title, brief string) []docs.Page {
	if len(pick(all, docs.Command, docs.Flag)) == 0 {
		return nil
	}
	use := pick(all, docs.Entry, docs.Command, docs.Flag)
	if len(use) <= large {
		return []docs.Page{m.page(title, brief, use, "cli")}
	}
	// Flags belong to the command that their module names; commands to themselves.
	by := map[string][]docs.Claim{}
	var index []docs.Claim
	for _, c := range use {
		switch c.Kind {
		case docs.Entry:
			index = append(index, c)
		case docs.Command:
			index = append(index, c)
			by[full(c)] = append(by[full(c)], c)
		default:
			by[c.Module] = append(by[c.Module], c)
		}
	}
	out := []docs.Page{}
	var lost []docs.Claim // flags of no command
	for _, name := range slices.Sorted(maps.Keys(by)) {
		claims := by[name]
		if !slices.ContainsFunc(claims, func(c docs.Claim) bool { return c.Kind == docs.Flag }) {
			continue // all that can be said stands in the list
		}
		if name == "" {
			lost = pick(claims, docs.Flag)
			continue
		}
		for chunk := range slices.Chunk(claims, most) {
			out = append(out, m.page(name, "The command "+name+" with its flags.", chunk, "cli", name))
		}
	}
	index = append(index, lost...)
	if len(index) == 0 {
		return out
	}
	top := m.page(title, brief, first(index, most), "cli")
	for i := range out {
		top.Related = append(top.Related, out[i].Path)
		out[i].Related = append(out[i].Related, top.Path)
	}
	return append([]docs.Page{top}, out...)
}

// full is the name of a command with those that it stands under.
func full(c docs.Claim) string {
	if c.Module == "" || strings.HasPrefix(c.Name, c.Module+" ") || c.Name == c.Module {
		return cmp.Or(c.Name, c.Module)
	}
	return c.Module + " " + c.Name
}

// relate points pages at others: the overview at all sections, each section back.
func (m *maker) relate(sections []docs.Section) {
	for i := range sections {
		first := &sections[i].Pages[0]
		for j := range sections {
			if i == j {
				continue
			}
			switch {
			case sections[i].Name == "overview": // it is where all are found
				for _, p := range sections[j].Pages {
					first.Related = append(first.Related, p.Path)
				}
			case sections[j].Name != "contributing":
				first.Related = append(first.Related, sections[j].Pages[0].Path)
			}
		}
	}
}
