// Command rename-module gives ramet's modules another path: in the go.mod files, in imports
// and wherever else Go code names a package of ours.
//
//	go run -C tools ./rename-module -root .. example.com/you/ramet
//
// It promises that what only looks like a path stays: the words in hashed bytes ("ramet/1"),
// the program's name, comments and texts.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

func main() {
	root := flag.String("root", ".", "the checkout")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: rename-module [-root FOLDER] PATH")
		os.Exit(2)
	}
	n, err := rename(*root, flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, "rename-module:", err)
		os.Exit(1)
	}
	fmt.Printf("%d files changed; see them with git diff, then run gofmt -w . and .ci/run\n", n)
}

// rename changes every file that names the old path, and says how many. All are read and
// judged before the first is written.
func rename(root, to string) (int, error) {
	if err := module.CheckImportPath(to); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return 0, err
	}
	from := modfile.ModulePath(text)
	if from == "" {
		return 0, fmt.Errorf("%s names no module", filepath.Join(root, "go.mod"))
	}
	changed, err := rewrite(root, from, to)
	if err != nil {
		return 0, err
	}
	for path, text := range changed {
		if err := os.WriteFile(path, text, 0o644); err != nil { // the mode of a file that is there stays
			return 0, err
		}
	}
	return len(changed), nil
}
