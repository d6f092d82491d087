package facts

import (
	"path"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"ramet/internal/docs"
)

var (
	makeTarget = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_./-]*)\s*:(?:[^=]|$)`)
	})
	justTarget = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^@?([A-Za-z_][A-Za-z0-9_-]*)((?:\s+[^:]*)?):(?:[^=]|$)`)
	})
	toxEnv = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[testenv:([A-Za-z0-9_.{},-]+)\]`) })
)

// conventions claims how the project is worked on: targets, sessions, workflows, and whether
// there are rules for contributors. Scripts of package.json are claimed with their manifest.
func (t *tree) conventions(projects []*project) []*claim {
	dirs := map[string]bool{".": true}
	for _, p := range projects {
		dirs[p.dir] = true
	}
	var out []*claim
	for _, f := range t.inv.Files {
		dir, low := path.Dir(f.Path), strings.ToLower(path.Base(f.Path))
		if f.Role == "doc" && strings.TrimSuffix(low, path.Ext(low)) == "contributing" && (dir == "." || dir == ".github" || dir == "docs") {
			if s := t.read(f.Path); s != nil && s.count() > 0 {
				out = append(out, newClaim("", docs.Convention, "", "contributing").called("Contributing").
					says("The rules for contributors are in `"+f.Path+"`.").at(s, 1, min(s.count(), 3)))
			}
			continue
		}
		if f.Role != "build" {
			continue
		}
		s := t.read(f.Path)
		if s == nil || s.text() == "" {
			continue
		}
		switch workflow := strings.HasSuffix(dir, "/workflows"); {
		case workflow:
			out = append(out, workflowClaims(s)...)
		case !dirs[dir]:
		case low == "makefile" || low == "gnumakefile":
			out = append(out, targets(s, "make", makeTarget())...)
		case low == "justfile" || low == ".justfile":
			out = append(out, targets(s, "just", justTarget())...)
		case low == "tox.ini":
			out = append(out, toxClaims(s)...)
		case low == "noxfile.py":
			out = append(out, noxClaims(s)...)
		}
	}
	return out
}

func convention(s *source, command, text string, from, to int) *claim {
	place := path.Dir(s.path)
	if place == "." || strings.HasPrefix(place, ".") {
		place = ""
	}
	return newClaim("", docs.Convention, place, command).signed(command).says(text).at(s, from, to)
}

// targets reads a Makefile or justfile: the help behind ##, or the comment above a target.
func targets(s *source, tool string, pattern *regexp.Regexp) []*claim {
	var out []*claim
	seen := map[string]bool{}
	var above []string
	aboveFrom := 0
	for l := 1; l <= s.count(); l++ {
		line := strings.TrimRight(tidy(string(s.lines(l, l))), "\n ")
		if comment, ok := strings.CutPrefix(line, "#"); ok {
			if len(above) == 0 {
				aboveFrom = l
			}
			above = append(above, strings.TrimSpace(strings.TrimLeft(comment, "#")))
			continue
		}
		m := pattern.FindStringSubmatch(line)
		if m != nil && !seen[m[1]] && !strings.Contains(line, ":=") && len(out) < 200 {
			seen[m[1]] = true
			from, text := l, ""
			if _, help, ok := strings.Cut(line, "##"); ok {
				text = strings.TrimSpace(help)
			} else if joined := oneLine(strings.Join(above, " "), 400); len(above) > 0 && len(above) <= 4 && strings.Trim(joined, "-=* ") != "" {
				from, text = aboveFrom, joined
			}
			out = append(out, convention(s, tool+" "+m[1], text, from, l))
		}
		if !strings.HasPrefix(line, ".PHONY") && !strings.HasPrefix(line, "[") {
			above = nil
		}
	}
	return out
}

func toxClaims(s *source) []*claim {
	var out []*claim
	for l := 1; l <= s.count(); l++ {
		m := toxEnv().FindStringSubmatch(string(s.lines(l, l)))
		if m == nil {
			continue
		}
		text, to := "", l
		for n := l + 1; n <= s.count() && n < l+30; n++ {
			line := string(s.lines(n, n))
			if strings.HasPrefix(line, "[") {
				break
			}
			if key, v, ok := strings.Cut(line, "="); ok && strings.TrimSpace(key) == "description" {
				text, to = strings.TrimSpace(tidy(v)), n
			}
		}
		out = append(out, convention(s, "tox -e "+m[1], text, l, to))
	}
	return out
}

func noxClaims(s *source) []*claim {
	lines := pyLines(s.text())
	var out []*claim
	session := -1
	for i, l := range lines {
		if l.is(0, "@") {
			if strings.Contains(pySpell("", l.toks), "session") {
				session = i
			}
			continue
		}
		if session >= 0 && l.is(0, "def") && len(l.toks) > 1 {
			name := l.toks[1].text
			if at := 1; true {
				for ; at < len(lines[session].toks) && !lines[session].is(at, "("); at++ {
				}
				if n := pyKeyword(pyArgs(lines[session].toks, at), "name"); n != "" {
					name = n
				}
			}
			head := pySplit(l.toks, ":")[0]
			doc, end := pyDoc(lines, i, len(head))
			out = append(out, convention(s, "nox -s "+name, doc, s.lineAt(lines[session].toks[0].from), s.lineAt(max(head[len(head)-1].to, end)-1)))
		}
		session = -1
	}
	return out
}

// workflowClaims names a workflow of the forge's CI. Only two keys are looked at.
func workflowClaims(s *source) []*claim {
	if len(s.data) > 256<<10 {
		return nil
	}
	var doc yaml.Node
	if yaml.Unmarshal(s.data, &doc) != nil || len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil
	}
	root := doc.Content[0].Content
	file := path.Base(s.path)
	name, from, events := file, 1, ""
	to := 1
	for i := 0; i+1 < len(root); i += 2 {
		key, v := root[i], root[i+1]
		switch {
		case key.Value == "name" && v.Kind == yaml.ScalarNode && oneLine(v.Value, 100) != "":
			name = v.Value
			from, to = key.Line, max(to, v.Line)
		case key.Value == "on":
			var words []string
			switch v.Kind {
			case yaml.ScalarNode:
				words = append(words, v.Value)
			case yaml.SequenceNode:
				for _, w := range v.Content {
					words = append(words, w.Value)
				}
			case yaml.MappingNode:
				for n := 0; n < len(v.Content); n += 2 {
					words = append(words, v.Content[n].Value)
				}
			}
			if len(words) <= 12 {
				events = strings.Join(words, ", ")
				to = max(to, key.Line)
				for _, w := range v.Content {
					to = max(to, w.Line)
				}
			}
		}
	}
	if to < from {
		to = from
	}
	text := "The workflow `" + oneLine(name, 100) + "` runs in CI."
	if events != "" {
		text = "The workflow `" + oneLine(name, 100) + "` runs in CI on: " + oneLine(events, 200) + "."
	}
	return []*claim{newClaim("", docs.Convention, "ci", file).called(name).says(text).at(s, from, to)}
}
