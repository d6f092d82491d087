package control

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
)

// One kernel of a workspace may announce that it serves: others give it their turns,
// so that these do not end with the terminal that asked for them.
//
//	<home>/kernels/<workspace>/serve.lock   held while it serves
//	<home>/kernels/<workspace>/serve        its name
//
// The name counts only as long as the kernel of that name lives.

func (p Folder) postLock() string { return filepath.Join(p.dir, "serve.lock") }
func (p Folder) postName() string { return filepath.Join(p.dir, "serve") }

// Announce says that the kernel serves, until Close. LOCKED: another one does.
func (s *Server) Announce() error {
	post := flock.New(s.place.postLock(), flock.SetPermissions(0o600))
	free, err := post.TryLock()
	if err != nil {
		return durable.Failure("lock", s.place.postLock(), err)
	}
	if !free {
		post.Close()
		by := "another process"
		if owner, err := os.ReadFile(s.place.postName()); err == nil {
			by = s.place.describe(string(owner))
		}
		return fault.New(fault.Locked, "%s serves this workspace already", by).
			WithHint("use that one, or end it first")
	}
	// By a new name, so that nobody reads half of it.
	temp := s.place.postName() + "." + s.instance
	err = step.WriteFile(temp, []byte(s.Owner), 0o600)
	if err == nil {
		err = step.Rename(temp, s.place.postName())
	}
	if err != nil {
		step.Remove(temp)
		post.Close()
		return durable.Failure("write", s.place.postName(), err)
	}
	s.post = post
	return nil
}

// withdraw takes the announcement back.
func (s *Server) withdraw() {
	if s.post == nil {
		return
	}
	step.Remove(s.place.postName())
	s.post.Close()
	s.post = nil
}

// A kernel with a person before it stays until the person leaves; there may be several.
//
//	<home>/kernels/<workspace>/<instance>.stays

func (p Folder) stays(instance string) string { return filepath.Join(p.dir, instance+".stays") }

// Stay says that the kernel stays, until Close: letters that others write may begin turns here.
func (s *Server) Stay() error {
	path := s.place.stays(s.instance)
	if err := step.WriteFile(path, nil, 0o600); err != nil {
		return durable.Failure("write", path, err)
	}
	return nil
}

// Staying reaches a kernel that can begin a turn for a letter: the one that serves, else one
// that stays; nil: there is none that answers.
func (p Folder) Staying(ctx context.Context) *Client {
	if server, err := p.Serving(ctx); err == nil && server != nil {
		return server
	}
	living, err := p.instances()
	if err != nil {
		return nil
	}
	for _, instance := range living {
		if _, err := os.Stat(p.stays(instance)); err != nil {
			continue
		}
		if c, err := p.Dial(ctx, p.owner(instance)); err == nil {
			return c
		}
	}
	return nil
}

// describe names a kernel for people.
func (p Folder) describe(owner string) string {
	if _, ok := p.instance(owner); !ok {
		return "another process"
	}
	return "process " + strings.Split(owner, ":")[1]
}

// Serving reaches the kernel that serves the workspace on this machine; nil without
// an error if none does. What a dead one left is removed. CONFLICT: it is of another
// version; LEASED: it lives and does not answer.
func (p Folder) Serving(ctx context.Context) (*Client, error) {
	owner, err := os.ReadFile(p.postName())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, durable.Failure("read", p.postName(), err)
	}
	name := string(owner)
	instance, ours := p.instance(name)
	if !ours {
		return nil, nil // of another machine that shares the folder, or nobody's
	}
	if _, err := os.Stat(p.lock(instance)); err != nil || p.gone(instance) {
		p.sweep(instance)
		p.clearPost(name)
		return nil, nil
	}
	c, err := p.Dial(ctx, name)
	switch {
	case err == nil:
		return c, nil
	case ctx.Err() != nil:
		return nil, err
	case fault.Is(err, fault.Conflict):
		return nil, fault.New(fault.Conflict, "%s, which serves this workspace, is another version of ramet", p.describe(name)).
			WithHint("end it and start it again")
	case p.Gone(name): // it died while it was asked
		return nil, nil
	}
	return nil, fault.New(fault.Leased, "%s serves this workspace and does not answer: %w", p.describe(name), err).
		WithHint("let it go on, or end it")
}

// clearPost removes the name of a dead kernel, unless another one has announced
// itself meanwhile.
func (p Folder) clearPost(dead string) {
	post := flock.New(p.postLock(), flock.SetPermissions(0o600))
	defer post.Close()
	if free, err := post.TryLock(); err != nil || !free {
		return
	}
	if now, err := os.ReadFile(p.postName()); err == nil && string(now) == dead {
		step.Remove(p.postName())
	}
}
