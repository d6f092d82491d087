package control

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/step"
)

// Death describes a kernel that ended without Lived, however it died.
type Death struct {
	Noticed    time.Time `json:"noticed,omitzero"`     // by the next kernel
	Workspaces []string  `json:"workspaces,omitempty"` // that it was opening
}

const (
	maxDeaths   = 3
	deathWindow = time.Minute
)

// readKernels returns the kernels that began and did not end in good order. The last one may be alive.
func (p Place) readKernels() (out []Death) {
	text, err := os.ReadFile(p.folder.kernels())
	if err != nil || json.Unmarshal(text, &out) != nil {
		return nil
	}
	return out
}

// writeKernels replaces the list of kernels, or removes it if it is empty. The caller holds the lock. If it
// fails, deaths are not counted.
func (p Place) writeKernels(kernels []Death) {
	if len(kernels) == 0 {
		step.Remove(p.folder.kernels())
		return
	}
	text, err := json.Marshal(kernels)
	if err == nil && step.WriteFile(p.folder.kernels()+".new", text, 0o600) == nil {
		step.Rename(p.folder.kernels()+".new", p.folder.kernels())
	}
}

// recordBegin adds the kernel that has just taken the lock.
func (p Place) recordBegin() { p.writeKernels(append(recentDeaths(p.readKernels()), Death{})) }

// recentDeaths returns the deaths of the last minute. The last kernel, if no one has noticed its death yet,
// died now.
func recentDeaths(kernels []Death) []Death {
	now := time.Now()
	for i, d := range kernels {
		if d.Noticed.IsZero() {
			kernels[i].Noticed = now
		}
	}
	return slices.DeleteFunc(kernels, func(d Death) bool { return now.Sub(d.Noticed).Abs() > deathWindow })
}

// updateOwn changes the record of this kernel, which is the last one; nil removes it.
func (l *Listener) updateOwn(own []Death) {
	if kernels := l.place.readKernels(); len(kernels) > 0 && !l.lived {
		l.place.writeKernels(append(kernels[:len(kernels)-1], own...))
	}
}

// Working notes that the kernel opens a workspace, until done is called: if the kernel dies meanwhile, the
// message about a crash loop names the workspace.
func (l *Listener) Working(workspace string) (done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opening = append(l.opening, workspace)
	l.updateOwn([]Death{{Workspaces: l.opening}})
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if i := slices.Index(l.opening, workspace); i >= 0 {
			l.opening = slices.Delete(l.opening, i, i+1)
		}
		l.updateOwn([]Death{{Workspaces: l.opening}})
	}
}

// Lived records an orderly end. The kernel calls it before Close.
func (l *Listener) Lived() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.updateOwn(nil)
	l.lived = true
}

// Died returns the deaths of the last minute, oldest first.
func (p Place) Died() []Death {
	if p.chooseFolder() != nil {
		return nil
	}
	kernels := p.readKernels()
	if len(kernels) > 0 && isLocked(p.folder.lock()) {
		kernels = kernels[:len(kernels)-1]
	}
	return recentDeaths(kernels)
}

// ForgetDeaths lets Ensure start a kernel again after a crash loop.
func (p Place) ForgetDeaths() {
	if !p.Alive() {
		step.Remove(p.folder.kernels())
	}
}

var errCrashLoop = errors.New("the background kernel keeps dying")

// IsCrashLoop reports whether Ensure refused to start a kernel because the last ones died. A client that
// reconnects by itself stops then.
func IsCrashLoop(err error) bool { return errors.Is(err, errCrashLoop) }

func (p Place) refuseCrashLoop() error {
	deaths := p.Died()
	if len(deaths) < maxDeaths {
		return nil
	}
	while := ""
	if last := deaths[len(deaths)-1]; len(last.Workspaces) > 0 {
		while = " while it opened " + strings.Join(last.Workspaces, " or ")
	}
	return fault.New(fault.Failed, "%w: it died %d times within a minute%s", errCrashLoop, len(deaths), while).
		WithHint("read %s, then run `ramet server restart`", p.Log())
}
