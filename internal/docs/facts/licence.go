package facts

import (
	"path"
	"strings"

	"ramet/internal/docs"
)

// licenceTexts tells licences by phrases that all must be there, in the order of trial: the
// special before the general.
var licenceTexts = []struct{ spdx, phrases string }{
	{"AGPL-3.0", "gnu affero general public license|version 3"},
	{"LGPL-3.0", "gnu lesser general public license|version 3"},
	{"LGPL-2.1", "gnu lesser general public license|version 2.1"},
	{"LGPL-2.0", "gnu library general public license|version 2"},
	{"GPL-3.0", "gnu general public license|version 3"},
	{"GPL-2.0", "gnu general public license|version 2"},
	{"MPL-2.0", "mozilla public license|2.0"},
	{"Apache-2.0", "apache license|version 2.0"},
	{"Unlicense", "free and unencumbered software released into the public domain"},
	{"BSD-3-Clause", "redistribution and use in source and binary forms|redistributions of source code must retain|redistributions in binary form must reproduce|endorse or promote"},
	{"BSD-2-Clause", "redistribution and use in source and binary forms|redistributions of source code must retain|redistributions in binary form must reproduce"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose|the above copyright notice and this permission notice appear"},
	{"ISC", "permission to use, copy, modify, and distribute this software for any purpose|the above copyright notice and this permission notice appear"},
	{"0BSD", "permission to use, copy, modify, and/or distribute this software for any purpose"},
	{"MIT", "permission is hereby granted, free of charge|the software is provided \"as is\""},
	{"CC0-1.0", "cc0 1.0 universal"},
	{"BSL-1.0", "boost software license - version 1.0"},
	{"Zlib", "this software is provided 'as-is'|altered source versions must be plainly marked"},
}

// licenceOf names the licence of a text, or nothing.
func licenceOf(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	text = strings.NewReplacer("“", `"`, "”", `"`, "’", "'", "``", `"`, "''", `"`).Replace(text)
	for _, l := range licenceTexts {
		all := true
		for phrase := range strings.SplitSeq(l.phrases, "|") {
			all = all && strings.Contains(text, phrase)
		}
		// A text that quotes the GPL is not the GPL: its title stands at the beginning.
		if all && strings.Contains(l.spdx, "GPL") {
			title, _, _ := strings.Cut(l.phrases, "|")
			all = strings.Index(text, title) < 600
		}
		if all {
			return l.spdx
		}
	}
	return ""
}

// licences claims the licence files of the root and of each project.
func (t *tree) licences(projects []*project) []*claim {
	dirs := map[string]*project{".": nil}
	for _, p := range projects {
		if dirs[p.dir] == nil {
			dirs[p.dir] = p
		}
	}
	var out []*claim
	for _, f := range t.inv.Files {
		dir := path.Dir(f.Path)
		p, ours := dirs[dir]
		if f.Role != "licence" || !ours {
			continue
		}
		s := t.read(f.Path)
		if s == nil {
			continue
		}
		if spdx := licenceOf(s.text()); spdx != "" {
			place, module := "", ""
			if dir != "." {
				place = dir
			}
			if p != nil {
				module = p.name
			}
			out = append(out, newClaim("", docs.Licence, place, spdx).in(module).
				says(licenceSentence(spdx)).at(s, 1, s.count()))
		}
	}
	return out
}

func licenceSentence(spdx string) string { return "Licensed under " + spdx + "." }

// licensed claims what a manifest says about the licence. Its key is that of the licence
// file, so that both are evidence of one claim when they agree.
func (p *project) licensed(name string, s *source, from, to int) {
	name = oneLine(name, 80)
	if p.licence != "" || name == "" || strings.HasPrefix(strings.ToUpper(name), "SEE ") || name == "UNLICENSED" {
		return
	}
	p.licence = name
	c := newClaim("", docs.Licence, p.place(), name).in(p.name).says(licenceSentence(name)).at(s, from, to)
	p.claims = append(p.claims, c)
}
