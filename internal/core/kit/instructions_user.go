package kit

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/trust"
)

// UserInstructions describes where a user's own instructions are.
type UserInstructions struct {
	Dir  string // the folder of the configuration; empty: there are none
	Home string // what ~ stands for; empty: nothing
}

// File returns the user's own instructions.
func (u UserInstructions) File() string { return filepath.Join(u.Dir, "AGENTS.md") }

// instructMostFile bounds what is read of one file.
const instructMostFile = 1 << 20

// user adds the user's own instructions. No person has to accept them.
func (b *builder) user(u UserInstructions) error {
	if u.Dir == "" {
		return nil
	}
	return b.own(u, u.File(), "", 0)
}

func (b *builder) own(u UserInstructions, file, by string, depth int) error {
	if b.seen[file] {
		return nil
	}
	b.seen[file] = true
	body, err := readPlain(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || by != "" && errors.Is(err, syscall.EISDIR):
		return nil
	case err != nil && by == "":
		return fault.New(fault.InvalidConfig, "read your instructions: %w", err)
	case err != nil:
		b.words.note("%s imports %s: %v", by, file, err)
		return nil
	}
	b.words.put(InstructionText{From: file, By: by, User: true, Body: body}, b.room)
	if depth == trust.ImportDepth {
		return nil
	}
	for _, m := range text.Mentions(body) {
		next := m.Path
		if rest, short := strings.CutPrefix(next, "~/"); short {
			if u.Home == "" {
				continue
			}
			next = filepath.Join(u.Home, rest)
		}
		if !filepath.IsAbs(next) {
			next = filepath.Join(filepath.Dir(file), next)
		}
		if err := b.own(u, next, file, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// readPlain reads a plain file.
func readPlain(file string) (string, error) {
	data, err := durable.ReadPlain(file, instructMostFile, func(info fs.FileInfo) error {
		if info.IsDir() {
			return syscall.EISDIR
		}
		return nil
	})
	return string(data), err
}
