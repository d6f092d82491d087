package files

import (
	"path"
	"slices"

	"ramet/internal/base/chain"
)

// LeftOut says of paths that a state does not have whether its own rules left them out: then
// it is unknown whether they were there. read reads a content; nil: it cannot be had.
func (s *Scanner) LeftOut(src Source, root chain.Hash, read func(chain.Hash) []byte) func(at string, dir bool) bool {
	if s.o.Ignored {
		return func(string, bool) bool { return false }
	}
	then := &rulesThen{src: src, root: root, read: read, folders: map[string]rulesOf{}}
	then.folders["."] = rulesOf{rules: TopIgnoreWith(s.o.Root, s.o.Env, func(name string) []byte {
		if slices.Contains(IgnoreNames, name) {
			return then.file(name)
		}
		return ReadIgnore(s.o.Root)(name)
	})}
	return then.leftOut
}

// rulesThen are the rules that held in a state.
type rulesThen struct {
	src     Source
	root    chain.Hash
	read    func(chain.Hash) []byte
	folders map[string]rulesOf
}

// rulesOf are those of a folder; out: it was left out itself.
type rulesOf struct {
	rules IgnoreFolder
	out   bool
}

func (t *rulesThen) leftOut(at string, dir bool) bool {
	in := t.folder(path.Dir(at))
	return in.out || in.rules.Ignores(path.Base(at), dir)
}

func (t *rulesThen) folder(at string) rulesOf {
	if known, ok := t.folders[at]; ok {
		return known
	}
	name, up := path.Base(at), t.folder(path.Dir(at))
	out := rulesOf{out: up.out || up.rules.Ignores(name, true)}
	if !out.out {
		in := func(file string) string { return path.Join(at, file) }
		out.rules = up.rules.Enter(name,
			func(file string) bool { return t.file(in(file)) != nil }, // never .git: it would be another repository
			func(file string) []byte { return t.file(in(file)) })
	}
	t.folders[at] = out
	return out
}

// file returns a file of rules as it was; nil: there was none, or it cannot be had.
func (t *rulesThen) file(at string) []byte {
	n, err := Find(t.src, t.root, at)
	if err != nil || n == nil || n.Kind != File || !n.Known() || n.Size > mostRules {
		return nil
	}
	return t.read(n.Hash)
}
