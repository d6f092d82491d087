package local

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"ramet/internal/shape"
	"ramet/internal/text"
	"ramet/internal/tool"
)

//go:embed glob.md
var globDoc string

const (
	mostPaths   = 1000
	mostVisited = 1_000_000 // names that are looked at
)

type globArgs struct{ Pattern, Path string }

func (l *Local) glob() tool.Tool {
	return &one{run: l.runGlob, spec: tool.Spec{
		Name: "glob", Description: globDoc, Access: tool.Reads,
		Args: shape.Object(
			shape.Must("pattern", shape.Text(1).With("which files, such as **/*.go")),
			shape.May("path", shape.Text(1).With("the folder to begin in; the workspace if left out")),
		),
		Subject: l.subject,
		Summary: func(args json.RawMessage) string {
			a, _ := parse[globArgs](args)
			return fmt.Sprintf("find %s in %s", text.Line(a.Pattern, 100), show(l.subject(args)))
		},
	}}
}

func (l *Local) runGlob(ctx context.Context, c tool.Call) (tool.Answer, error) {
	args, err := parse[globArgs](c.Args)
	if err != nil {
		return tool.Answer{}, err
	}
	pattern, err := l.pattern(args.Pattern)
	if err != nil {
		return tool.Answer{}, err
	}
	var found []string
	note, err := l.walk(ctx, args.Path, func(rel, inside string, _ *spot) error {
		if doublestar.MatchUnvalidated(pattern, inside) {
			found = append(found, rel)
		}
		return nil
	})
	if err != nil {
		return tool.Answer{}, err
	}
	if len(found) == 0 {
		return tool.Answer{Text: "No file fits." + note}, nil
	}
	slices.Sort(found)
	if n := len(found); n > mostPaths {
		found = found[:mostPaths]
		note += fmt.Sprintf("\n[%d more are left out: use a narrower pattern]", n-mostPaths)
	}
	for i := range found {
		found[i] = oneLine(found[i])
	}
	return tool.Answer{Text: strings.Join(found, "\n") + note, Show: fmt.Sprintf("%d files", len(found))}, nil
}

// mostChoices is how many patterns without braces one pattern may stand for: each
// is tried for each name.
const mostChoices = 1000

// pattern checks a pattern, and takes away what a model may put in front: the root
// itself, or ./
func (l *Local) pattern(p string) (string, error) {
	clean := filepath.ToSlash(p)
	clean = strings.TrimPrefix(clean, strings.TrimSuffix(filepath.ToSlash(l.o.Root), "/")+"/")
	clean = strings.TrimPrefix(clean, "./")
	switch {
	case !doublestar.ValidatePattern(clean):
		return "", complain("%q is no valid pattern: look at its brackets and braces.", text.Line(p, 100))
	case choices(clean) > mostChoices:
		return "", complain("%q has too many braces.", text.Line(p, 100))
	}
	return clean, nil
}

// choices counts, or overstates, what the braces of a pattern stand for.
func choices(pattern string) int {
	all := 1
	var open []int // the alternatives in each brace that is open
	for _, c := range pattern {
		switch n := len(open); {
		case c == '{':
			open = append(open, 1)
		case c == ',' && n > 0:
			open[n-1]++
		case c == '}' && n > 0:
			if all *= open[n-1]; all > mostChoices {
				return all
			}
			open = open[:n-1]
		}
	}
	return all
}

// oneLine is a path that takes up one line, whatever is in it.
func oneLine(p string) string {
	if strings.ContainsAny(p, "\n\t") {
		return fmt.Sprintf("%q", p)
	}
	return text.Safe(p)
}

// walk visits the files below a folder, or one file: with its path in the root, its
// path below the folder, and the spot of the folder. Links are not followed, but
// for the first.
func (l *Local) walk(ctx context.Context, start string, visit func(rel, inside string, top *spot) error) (note string, err error) {
	s, err := l.find(start, toRead)
	if err != nil {
		return "", err
	}
	defer s.close()
	if s.info == nil {
		return "", explain(start, fs.ErrNotExist)
	}
	if !s.info.IsDir() {
		return "", visit(s.rel, path.Base(s.rel), s)
	}
	top := *s
	if s.name != "." {
		dir, err := s.dir.OpenRoot(s.name)
		if err != nil {
			return "", explain(start, err)
		}
		defer dir.Close()
		now, err := dir.Stat(".")
		if err != nil {
			return "", explain(start, err)
		}
		if !os.SameFile(s.info, now) {
			return "", complain("%s changed while it was opened.", show(start))
		}
		top.dir, top.name = dir, "."
	}
	visited, closed := 0, 0
	err = fs.WalkDir(top.dir.FS(), ".", func(inside string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if visited++; visited > mostVisited {
			return fs.SkipAll
		}
		if err != nil {
			closed++ // a folder that may not be read, or that went away
			return nil
		}
		switch {
		case inside != "." && isGit(plainName(entry.Name())):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case inside != "." && l.owns(entry):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		}
		return visit(path.Join(s.rel, inside), inside, &top)
	})
	if visited > mostVisited {
		note += fmt.Sprintf("\n[stopped after %d names: begin in a smaller folder]", mostVisited)
	}
	if closed > 0 {
		note += fmt.Sprintf("\n[%d folders could not be read]", closed)
	}
	return note, err
}
