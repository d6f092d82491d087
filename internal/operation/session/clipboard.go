package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os/exec"
	"path/filepath"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/model/llm"
)

// clipboards are the programs that print the image on the clipboard, on the systems that
// have them.
var clipboards = [][]string{
	{"wl-paste", "--no-newline", "--type", "image/png"},
	{"xclip", "-selection", "clipboard", "-target", "image/png", "-out"},
	{"pngpaste", "-"},
}

// Clipboard keeps the image on the clipboard in a file, and gives its path.
func (w Prompts) Clipboard(ctx context.Context) (string, error) {
	return PasteImage(ctx, w.ws.Place.Project, w.ws.Home)
}

// PasteImage keeps the image on the clipboard in a file of ramet's home, and returns its path.
func PasteImage(ctx context.Context, project, home string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	found := false
	for _, args := range clipboards {
		program, err := exec.LookPath(args[0])
		if err != nil {
			continue
		}
		found = true
		var out bytes.Buffer
		cmd, err := launch.Command(ctx, launch.Program{Purpose: launch.Clipboard, Project: project,
			Command: sandbox.Command{Args: append([]string{program}, args[1:]...)}})
		if err != nil {
			return "", err
		}
		cmd.Stdout = &limited{Buffer: &out}
		if cmd.Run() != nil || !llm.IsImage(llm.PictureType(out.Bytes())) {
			continue
		}
		return keepPasted(home, out.Bytes())
	}
	if !found {
		return "", fault.New(fault.NotFound, "there is no program here that reads images from the clipboard").WithHint("install wl-clipboard or xclip (pngpaste on macOS), or name a file with @")
	}
	return "", fault.New(fault.NotFound, "there is no image on the clipboard")
}

// keepPasted writes an image into the home, once.
func keepPasted(home string, data []byte) (string, error) {
	dir := filepath.Join(home, "pasted")
	if err := durable.MakeFolder(dir, 0o700); err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	path := filepath.Join(dir, hex.EncodeToString(sum[:8])+".png")
	if err := step.WriteFile(path, data, 0o600); err != nil {
		return "", fault.New(fault.StorageIO, "keep the image: %w", err)
	}
	return path, nil
}

// limited takes no more than an image may have.
type limited struct{ *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > llm.MostFile {
		return 0, fault.New(fault.InvalidText, "it is too large")
	}
	return l.Buffer.Write(p)
}
