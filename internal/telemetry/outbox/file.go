package outbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

// maxDone limits the bytes of finished deliveries in the file before it is written anew.
const maxDone = 1 << 20

// removeDone takes finished deliveries from the head of the queue, and writes that down.
func (b *Outbox) removeDone() {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for n < len(b.queue) && b.queue[n].done {
		b.waste += int64(len(b.queue[n].Body))
		n++
	}
	if n == 0 {
		return
	}
	clear(b.queue[:n])
	b.queue = b.queue[n:]
	b.done += int64(n)
	b.sent += n
	b.write(formatLine(nil, line{Sent: &b.sent}))
	if b.torn || b.waste > maxDone && b.waste > b.size/2 {
		b.rewrite()
	}
	b.notify()
}

// notify wakes the goroutines in Flush; the caller holds mu.
func (b *Outbox) notify() {
	close(b.moved)
	b.moved = make(chan struct{})
}

// rewrite writes the file anew, without finished deliveries. The caller holds mu. If that fails, the old file stays
// in use.
func (b *Outbox) rewrite() {
	var text []byte
	if b.to.Name != "" {
		text = formatLine(text, line{To: b.to.Name, Token: b.to.Token})
	}
	for _, name := range slices.Sorted(maps.Keys(b.marks)) {
		at := b.marks[name]
		text = formatLine(text, line{Mark: name, At: &at})
	}
	for _, id := range slices.Sorted(maps.Keys(b.open)) {
		text = formatLine(text, line{Open: new(b.open[id])})
	}
	b.done += int64(len(b.queue))
	b.queue = slices.DeleteFunc(b.queue, func(p *parcel) bool { return p.done })
	b.done -= int64(len(b.queue))
	for _, p := range b.queue {
		text = formatDelivery(text, p.Delivery)
	}
	if err := durable.WriteFile(b.path, text, 0o600); err != nil {
		b.trouble(err)
		return
	}
	file, err := durable.OpenFile(b.path, os.O_RDWR, 0o600)
	if err != nil {
		b.trouble(err)
		b.torn = true // the old one is open, and has no name any more
		return
	}
	b.file.Close()
	b.file, b.size, b.sent, b.waste, b.torn = file, int64(len(text)), 0, 0, false
}

// deadDelivery is a line of the dead letters.
type deadDelivery struct {
	At     string          `json:"at"`
	Method string          `json:"method,omitempty"`
	Path   string          `json:"path,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
	Line   string          `json:"line,omitempty"` // that cannot be read
	Status int             `json:"status,omitempty"`
	Answer string          `json:"answer"`
}

// setAside writes a dead letter. l is nil for a line that cannot be read.
func (b *Outbox) setAside(l *line, raw []byte, status int, answer string) error {
	dead := deadDelivery{At: time.Now().UTC().Format(time.RFC3339Nano), Status: status, Answer: b.hide(answer)}
	if l != nil {
		dead.Method, dead.Path, dead.Body = l.Method, l.Path, l.Body
	} else {
		dead.Line = string(raw)
	}
	text, err := json.Marshal(dead)
	if err != nil {
		return fault.New(fault.Failed, "keep dead letter: %w", err)
	}
	path := deadPath(b.path)
	f, err := durable.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return durable.Failure("write", path, err)
}

// disowned reads from the dead letters which records belong to another run.
func (b *Outbox) disowned() (map[string]bool, error) {
	out := map[string]bool{}
	text, err := os.ReadFile(deadPath(b.path))
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, durable.Failure("read", deadPath(b.path), err)
	}
	for row := range bytes.Lines(text) {
		var l deadDelivery
		if json.Unmarshal(row, &l) != nil || l.Answer != anotherRun || l.Method != http.MethodPost {
			continue // one that was cut off, too
		}
		var made struct {
			EventID string `json:"event_id"`
		}
		if json.Unmarshal(l.Body, &made) == nil {
			out[made.EventID] = true
		}
	}
	return out, nil
}

func deadPath(path string) string { return strings.TrimSuffix(path, ".jsonl") + ".dead.jsonl" }

// hide takes the token out of a text.
func (o *Options) hide(s string) string {
	if o.Token == "" {
		return s
	}
	return strings.ReplaceAll(s, o.Token, "[token]")
}
