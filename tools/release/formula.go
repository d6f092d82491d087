package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// formula fills Homebrew's, with the archives that were made.
func (r *Release) formula(made string) error {
	text, err := files.ReadFile("files/ramet.rb.tmpl")
	if err != nil {
		return err
	}
	t, err := template.New("ramet.rb").Parse(string(text))
	if err != nil {
		return err
	}
	type archive struct{ Name, Sum string }
	archives := map[string]*archive{}
	for _, platform := range r.Platforms {
		if strings.HasPrefix(platform, "windows/") {
			continue
		}
		name := r.name(platform) + ".tar.gz"
		data, err := os.ReadFile(filepath.Join(made, name))
		if err != nil {
			return err
		}
		archives[strings.ReplaceAll(platform, "/", "_")] = &archive{name, fmt.Sprintf("%x", sha256.Sum256(data))}
	}
	return create(filepath.Join(made, "ramet.rb"), func(w io.Writer) error {
		return t.Execute(w, map[string]any{"Version": r.Version, "Home": r.Home, "Archives": archives,
			"Systems": map[string]string{"darwin": "macos", "linux": "linux"}, "Processors": map[string]string{"amd64": "intel", "arm64": "arm"}})
	})
}
