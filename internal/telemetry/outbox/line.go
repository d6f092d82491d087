package outbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"ramet/internal/telemetry"
)

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

// delivery returns the delivery of a line.
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

// noteRunning keeps the records that are running.
func noteRunning(open map[string]openRecord, d telemetry.Delivery) {
	s := readSeen(d.Body)
	switch {
	case d.Method == http.MethodPost && (s.Status == "" || s.Status == string(telemetry.Running)):
		open[d.EventID] = openRecord{d.EventID, s.RunID, s.StartTime}
	case d.Method == http.MethodPatch && s.Status != "" && s.Status != string(telemetry.Running):
		delete(open, d.EventID)
	}
}
