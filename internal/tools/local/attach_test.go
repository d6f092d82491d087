package local

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

func TestReadShowsImagesAndDocuments(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	var small, large bytes.Buffer
	for out, size := range map[*bytes.Buffer]int{&small: 20, &large: 3000} {
		if err := png.Encode(out, image.NewGray(image.Rect(0, 0, size, size/2))); err != nil {
			t.Fatal(err)
		}
	}
	for name, body := range map[string][]byte{
		"a.png": small.Bytes(), "big.png": large.Bytes(), "cut.png": small.Bytes()[:40], "odd.txt": small.Bytes(),
		"a.pdf": []byte("%PDF-1.7\n1 0 obj\n%%EOF\n"), "locked.pdf": []byte("%PDF-1.7\n/Encrypt 2 0 R\n%%EOF\n"), "cut.pdf": []byte("%PDF-1.7\n1 0 obj\n"),
	} {
		if err := os.WriteFile(filepath.Join(root, name), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sees, blind, stranger := llm.Model{Known: true, Images: true, PDF: true}, llm.Model{Known: true}, llm.Model{}
	for _, c := range []struct {
		path  string
		to    llm.Model
		want  string
		shown string // the media type
	}{
		{"a.png", sees, "a.png: PNG, 20×10 pixels. It is shown below.", "image/png"},
		{"a.png", stranger, "a.png: PNG, 20×10 pixels", "image/png"},
		{"odd.txt", sees, "PNG, 20×10", "image/png"},
		{"big.png", sees, "2000×1000 pixels, made smaller from 3000×1500", "image/png"},
		{"a.png", blind, "cannot see images", ""},
		{"cut.png", sees, "cut.png is damaged", ""},
		{"a.pdf", sees, "a.pdf: PDF, 23 bytes. It is shown below.", "application/pdf"},
		{"a.pdf", blind, "which the model that you are cannot be given", ""},
		{"locked.pdf", sees, "password", ""},
		{"cut.pdf", sees, "end is missing", ""},
	} {
		args, err := json.Marshal(map[string]any{"path": c.path})
		if err != nil {
			t.Fatal(err)
		}
		a, err := l.read().Run(t.Context(), tool.Call{Args: args, Model: c.to, Output: func([]byte) {}})
		if err != nil || !strings.Contains(a.Text, c.want) || a.IsError != (c.shown == "") || (a.File != nil) != (c.shown != "") {
			t.Errorf("%s: %+v %v", c.path, a, err)
			continue
		}
		if a.File != nil && (a.File.MediaType != c.shown || a.File.Name != c.path || len(a.File.Data) == 0) {
			t.Errorf("%s: %s %s", c.path, a.File.MediaType, a.File.Name)
		}
		if a.Memo != "" {
			t.Errorf("%s: what was only looked at may not be edited: %s", c.path, a.Memo)
		}
	}
}
