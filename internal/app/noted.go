package app

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"ramet/internal/base/durable"
	"ramet/internal/base/step"
	"ramet/internal/telemetry/outbox"
)

// noteOf is the record in ramet's home of an outbox that is open or still has records.
type noteOf struct {
	Path string `json:"path"`
	To   string `json:"to"`
}

func notesDir(home string) string { return filepath.Join(home, "telemetry", "waiting") }

func (n noteOf) file(home string) string {
	sum := sha256.Sum256([]byte(n.Path))
	return filepath.Join(notesDir(home), fmt.Sprintf("%x.json", sum[:8]))
}

// keep remembers it. Without that it is delivered by whoever goes on with the run.
func (n noteOf) keep(home string) {
	text, err := json.Marshal(n)
	if err != nil || durable.MakeFolder(notesDir(home), 0o700) != nil {
		return
	}
	_ = durable.WriteFile(n.file(home), append(text, '\n'), 0o600)
}

func (n noteOf) forget(home string) { step.Remove(n.file(home)) }

// noted are all that are remembered.
func noted(home string) []noteOf {
	entries, _ := os.ReadDir(notesDir(home)) // none yet is no error
	var out []noteOf
	for _, e := range entries {
		var n noteOf
		text, err := os.ReadFile(filepath.Join(notesDir(home), e.Name()))
		if err == nil && json.Unmarshal(text, &n) == nil && filepath.Base(n.file(home)) == e.Name() {
			out = append(out, n)
		}
	}
	return out
}

// closeBox closes an outbox, and forgets it if nothing waits in it.
func closeBox(box *outbox.Outbox, n noteOf, home string) func() error {
	return func() error {
		empty := box.Unsent() == 0
		err := box.Close()
		if empty && err == nil {
			n.forget(home)
		}
		return err
	}
}
