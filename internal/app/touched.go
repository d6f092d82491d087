package app

import (
	"encoding/json"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/core/toolinfo"
	"ramet/internal/turn/tool"
)

// mostWords limits the words of a command line that are examined.
const mostWords = 200

// touched are the files that calls read or changed, relative to the agent's folder: those that are
// named, those below folders that are searched, and what command lines name. known are the memos of
// the conversation, of which the newest says in which folder commands run.
func touched(root string, calls []tool.Call, known iter.Seq[json.RawMessage]) []string {
	var out []string
	add := func(p string) {
		if p != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	for _, c := range calls {
		var args struct{ Path, Command string }
		if json.Unmarshal(c.Args, &args) != nil {
			continue
		}
		info := toolinfo.Find(c.Name)
		if info == nil {
			continue
		}
		switch info.Subject {
		case toolinfo.File:
			add(args.Path)
		case toolinfo.Folder:
			add(lies(root, ".", args.Path))
		case toolinfo.Command:
			dir := commandsRunIn(known)
			if dir != "." {
				add(lies(root, ".", dir))
			}
			for _, word := range pathWords(args.Command) {
				add(lies(root, dir, word))
				add(lies(root, ".", word)) // it ran where commands ran before it
			}
		}
	}
	return out
}

// lies returns the path, relative to root, of a name used in a folder below root. If the name is a pattern, it returns
// the folder that may have been touched. It returns "" if there is no such file below root.
func lies(root, from, name string) string {
	if name == "" {
		return ""
	}
	if filepath.IsAbs(name) {
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return ""
		}
		from, name = ".", rel
	}
	p := path.Join(filepath.ToSlash(from), filepath.ToSlash(name))
	if p == "." || !filepath.IsLocal(p) {
		return ""
	}
	info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(p)))
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		return p + "/_"
	}
	return p
}

// commandsRunIn is the folder of the next command, as the newest memo has it.
func commandsRunIn(known iter.Seq[json.RawMessage]) string {
	dir := "."
	for raw := range known {
		var m struct {
			Dir string `json:"dir"`
		}
		if json.Unmarshal(raw, &m) == nil && m.Dir != "" {
			dir = m.Dir
		}
	}
	return dir
}

// pathWords are the words of a command line that may name files.
func pathWords(command string) []string {
	command = strings.NewReplacer(`"`, " ", `'`, " ").Replace(command)
	words := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;|&()<>=`{},", r) })
	words = slices.DeleteFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") || strings.ContainsAny(w, "$*?") })
	return words[:min(len(words), mostWords)]
}
