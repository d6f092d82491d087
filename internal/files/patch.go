package files

import (
	"slices"
	"strings"

	"ramet/internal/chain"
)

// Patch is a state with another node at one path, whose folders are there; keep takes each
// folder that is new, with what it was before.
func Patch(src Source, root chain.Hash, path string, n Node, keep func(f, before Folder) (chain.Hash, error)) (chain.Hash, error) {
	before, err := src.Folder(root)
	if err != nil {
		return root, err
	}
	name, rest, deeper := strings.Cut(path, "/")
	n.Name = name
	if deeper {
		dir := before.Find(name)
		if dir == nil || dir.Kind != Dir || !dir.Known() {
			return root, broken("there is no folder " + name)
		}
		inner, err := Patch(src, dir.Hash, rest, n, keep)
		if err != nil {
			return root, err
		}
		n = *dir
		n.Hash = inner
	}
	after := slices.DeleteFunc(slices.Clone(before), func(o Node) bool { return o.Name == name })
	at, _ := slices.BinarySearchFunc(after, name, func(o Node, name string) int { return strings.Compare(o.Name, name) })
	return keep(slices.Insert(after, at, n), before)
}
