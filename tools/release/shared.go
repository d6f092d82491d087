package main

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ramet/internal/face/cli"
)

//go:embed files
var files embed.FS

const (
	docs  = "share/doc/ramet/"
	pages = "share/man/man1/"
)

// shared is what every platform gets: man pages and completions, made of the commands
// themselves, and the texts of the project.
func (r *Release) shared() (Tree, error) {
	root := cli.Tree()
	tree := manual(root, r.Version, r.Stamp.Date)
	for _, c := range []struct {
		path  string
		write func(io.Writer) error
	}{
		{"share/bash-completion/completions/ramet", func(w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
		{"share/zsh/site-functions/_ramet", root.GenZshCompletion},
		{"share/fish/vendor_completions.d/ramet.fish", func(w io.Writer) error { return root.GenFishCompletion(w, true) }},
	} {
		var b bytes.Buffer
		if err := c.write(&b); err != nil {
			return nil, fmt.Errorf("make %s: %w", c.path, err)
		}
		tree = append(tree, File{Path: c.path, Mode: 0o644, Data: b.Bytes()})
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		text, err := os.ReadFile(filepath.Join(r.Source, name))
		if err != nil {
			return nil, err
		}
		tree = append(tree, File{Path: docs + name, Mode: 0o644, Data: text})
	}
	return tree, nil
}

// units are those of systemd for a user's own manager.
func units() (tree Tree, err error) {
	worker, err := files.ReadFile("files/ramet-worker.service")
	if err != nil {
		return nil, err
	}
	const folder = "lib/systemd/user/"
	return Tree{{Path: folder + "ramet.service", Mode: 0o644, Data: cli.SystemdUnit("/usr/bin/ramet", "")},
		{Path: folder + "ramet-worker.service", Mode: 0o644, Data: worker}}, nil
}

// every visits a command and those below it that a person may use.
func every(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			every(sub, visit)
		}
	}
}
