package outbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/telemetry"
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

// line is a line of the file; exactly one group of fields is set.
type line struct {
	Method string          `json:"method,omitempty"`
	Path   string          `json:"path,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`

	Sent *int `json:"sent,omitempty"`

	Mark string `json:"mark,omitempty"`
	At   *int64 `json:"at,omitempty"`

	Open *openRecord `json:"open,omitempty"`

	To    string `json:"to,omitempty"`
	Token bool   `json:"token,omitempty"`
}

// openRecord is a record that was created running and whose end was not put.
type openRecord struct {
	EventID   string    `json:"event_id"`
	RunID     string    `json:"run_id"`
	StartTime time.Time `json:"start_time"`
}

var errLine = errors.New("no line of an outbox")

// parseLine reads a line without its line feed.
func parseLine(text []byte) (line, error) {
	var l line
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return l, errLine
	}
	if _, err := dec.Token(); err != io.EOF {
		return l, errLine
	}
	n := 0
	for _, set := range []bool{l.Method != "" || l.Path != "" || l.Body != nil, l.Sent != nil, l.Mark != "" || l.At != nil, l.Open != nil, l.To != "" || l.Token} {
		if set {
			n++
		}
	}
	switch {
	case n != 1, l.Token && l.To == "", l.Sent != nil && *l.Sent < 0, (l.Mark == "") != (l.At == nil):
		return l, errLine
	case l.Open != nil:
		if _, err := telemetry.ParseEventID(l.Open.EventID); err != nil {
			return l, errLine
		}
	case l.Method != "" || l.Path != "" || l.Body != nil:
		if _, ok := l.delivery(); !ok {
			return l, errLine
		}
	}
	return l, nil
}

func (l line) delivery() (telemetry.Delivery, bool) {
	d := telemetry.Delivery{Method: l.Method, Body: l.Body}
	if len(l.Body) == 0 || l.Body[0] != '{' {
		return d, false
	}
	switch l.Method {
	case http.MethodPost:
		d.EventID = readSeen(l.Body).EventID
	case http.MethodPatch:
		d.EventID = strings.TrimPrefix(l.Path, telemetry.Collection+"/")
	}
	id, err := telemetry.ParseEventID(d.EventID)
	return d, err == nil && id == d.EventID && l.Path == d.Path()
}

// seen holds the fields of a body that the outbox reads.
type seen struct {
	EventID   string    `json:"event_id"`
	RunID     string    `json:"run_id"`
	Status    string    `json:"status"`
	StartTime time.Time `json:"start_time"`
}

func readSeen(body []byte) (s seen) {
	json.Unmarshal(body, &s) // the service reports errors in it
	return s
}

func formatDelivery(b []byte, d telemetry.Delivery) []byte {
	b = append(b, `{"method":"`...)
	b = append(b, d.Method...)
	b = append(b, `","path":"`...)
	b = append(b, d.Path()...)
	b = append(b, `","body":`...)
	b = append(b, d.Body...)
	return append(b, "}\n"...)
}

func formatLine(b []byte, l line) []byte {
	text, err := json.Marshal(l)
	if err != nil {
		panic(err) // it is all ours
	}
	return append(append(b, text...), '\n')
}

// contents is the state that the lines of a file give.
type contents struct {
	waiting []*parcel
	marks   map[string]int64
	open    map[string]openRecord
	to      To
	bad     [][]byte // lines that cannot be read
	total   int      // deliveries in the file
	sent    int      // of these, how many are done
	size    int64    // of all whole lines
}

// readFile reads a file, up to its last whole line.
func readFile(r io.Reader) (contents, error) {
	c := contents{marks: map[string]int64{}, open: map[string]openRecord{}}
	in := bufio.NewReaderSize(r, 1<<16)
	for {
		text, err := in.ReadBytes('\n')
		if err == io.EOF {
			break // what is left is unfinished
		}
		if err != nil {
			return c, err
		}
		c.take(text)
		c.size += int64(len(text))
	}
	c.waiting = c.waiting[c.sent:]
	return c, nil
}

func (c *contents) take(text []byte) {
	l, err := parseLine(bytes.TrimSuffix(text, []byte("\n")))
	switch {
	case err != nil:
		c.bad = append(c.bad, text)
	case l.Sent != nil:
		c.sent = min(max(c.sent, *l.Sent), c.total)
	case l.Mark != "":
		c.marks[l.Mark] = *l.At
	case l.To != "":
		c.to = To{l.To, l.Token}
	case l.Open != nil:
		c.open[l.Open.EventID] = *l.Open
	default:
		d, _ := l.delivery()
		noteRunning(c.open, d)
		c.waiting = append(c.waiting, &parcel{Delivery: d})
		c.total++
	}
}

func noteRunning(open map[string]openRecord, d telemetry.Delivery) {
	s := readSeen(d.Body)
	switch {
	case d.Method == http.MethodPost && (s.Status == "" || s.Status == string(telemetry.Running)):
		open[d.EventID] = openRecord{d.EventID, s.RunID, s.StartTime}
	case d.Method == http.MethodPatch && s.Status != "" && s.Status != string(telemetry.Running):
		delete(open, d.EventID)
	}
}
