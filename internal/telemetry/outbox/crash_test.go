package outbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/telemetry"
	"ramet/internal/testkit"
)

// The process or the machine dies while the file is written: whatever its length, the
// outbox opens, sends the whole deliveries that are not known to be sent, and goes on.
func TestACrashAtEveryByte(t *testing.T) {
	var all []telemetry.Delivery
	for i, method := range []string{"POST", "POST", "PATCH", "PATCH"} {
		id := fmt.Sprintf("00000000-0000-4000-8000-00000000000%d", i%2)
		all = append(all, telemetry.Delivery{Method: method, EventID: id, Body: []byte(`{"event_id":"` + id + `","n":` + strconv.Itoa(i) + `}`)})
	}
	var text []byte
	sent, at := 2, int64(5)
	for i, d := range all {
		text = formatDelivery(text, d)
		switch i {
		case 1:
			text = formatLine(text, line{Sent: &sent})
		case 2:
			text = formatLine(text, line{Mark: "run", At: &at})
		}
	}
	extra := turns(1)
	dir := t.TempDir()
	s := newService(t)
	for n := range len(text) + 1 {
		path := filepath.Join(dir, strconv.Itoa(n)+".jsonl")
		testkit.OK(t, os.WriteFile(path, text[:n], 0o600))
		whole := text[:bytes.LastIndexByte(text[:n], '\n')+1]
		lines := strings.Count(string(whole), `"method"`)
		done := 0
		if bytes.Contains(whole, []byte(`{"sent":2}`)) {
			done = 2
		}
		s.mu.Lock()
		clear(s.taken)
		clear(s.order)
		s.mu.Unlock()
		b, err := Open(path, s.quick())
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if marked := b.Marked("run") == 5; marked != bytes.Contains(whole, []byte(`"mark"`)) {
			t.Errorf("cut at %d: marked is %v", n, marked)
		}
		b.Put(extra...)
		flush(t, b)
		s.check(t, append(all[done:lines:lines], extra...))
		if t.Failed() {
			t.Fatalf("cut at %d of %d", n, len(text))
		}
		if err := b.Close(); err != nil || b.Dead() != 0 {
			t.Fatal(err, b.Dead())
		}
		for _, name := range []string{path, path + ".lock"} {
			os.Remove(name)
		}
	}
}

// Lines that somebody damaged are kept aside; the others are sent.
func TestDamagedLinesAreKeptAside(t *testing.T) {
	all := turns(2)
	var text []byte
	text = formatDelivery(text, all[0])
	text = append(text, "\x00\x00garbage\n{\"method\":\"DELETE\",\"path\":\"/\",\"body\":{}}\n"...)
	for _, d := range all[1:] {
		text = formatDelivery(text, d)
	}
	path := at(t)
	testkit.OK(t, os.WriteFile(path, append(text, 0, 0, 0), 0o600))
	s := newService(t)
	b := open(t, path, s.quick())
	flush(t, b)
	s.check(t, all)
	testkit.OK(t, b.Close())
	letters, err := os.ReadFile(deadPath(path))
	if err != nil || strings.Count(string(letters), "\n") != 2 || !strings.Contains(string(letters), "garbage") {
		t.Errorf("%s %v", letters, err)
	}
}

func FuzzRead(f *testing.F) {
	var text []byte
	for _, d := range turns(1) {
		text = formatDelivery(text, d)
	}
	sent, at := 1, int64(3)
	text = formatLine(text, line{Sent: &sent})
	text = formatLine(text, line{Mark: "m", At: &at})
	f.Add(text)
	f.Add(text[:len(text)-1])
	f.Add([]byte("{}\n{\"sent\":-1}\n{\"sent\":99999999999999999999}\n{\"open\":{}}\n\n"))
	f.Add([]byte("{\"method\":\"PATCH\",\"path\":\"/api/v1/runs/../x\",\"body\":{}}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := testkit.Must(readFile(bytes.NewReader(text)))(t)
		if c.size > int64(len(text)) || c.size > 0 && text[c.size-1] != '\n' || bytes.IndexByte(text[c.size:], '\n') >= 0 {
			t.Fatalf("%d whole bytes of %d", c.size, len(text))
		}
		if len(c.waiting)+c.sent != c.total {
			t.Fatalf("%d wait, %d sent, %d in all", len(c.waiting), c.sent, c.total)
		}
		for _, p := range c.waiting {
			if strings.Contains(p.Path(), "..") || !fitLine(&p.Delivery) {
				t.Fatalf("%q is a delivery to %s", p.Body, p.Path())
			}
		}
		again, err := readFile(bytes.NewReader(text[:c.size]))
		if err != nil || len(again.waiting) != len(c.waiting) || len(again.bad) != len(c.bad) {
			t.Fatalf("read again: %v", err)
		}
	})
}

// What waits for one destination is given to no other, by nobody.
func TestAnOutboxGoesToOneDestination(t *testing.T) {
	s, other := newService(t), newService(t)
	path := at(t)
	o := s.quick()
	o.URL = strings.Replace(o.URL, "http://", "http://ada:opensesame@", 1)
	b := open(t, path, Options{Name: Address(o.URL), Nowhere: true, Pauses: o.Pauses})
	all := turns(3)
	b.Put(all...)
	if err := b.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "kept for http://127.0.0.1") {
		t.Errorf("there is no way: %v", err)
	}
	testkit.OK(t, b.Close())
	if _, err := Open(path, other.quick()); !fault.Is(err, fault.Conflict) {
		t.Errorf("another destination: %v", err)
	}
	if to, err := Destination(path); err != nil || to != (To{Name: Address(o.URL)}) || !to.Service() {
		t.Errorf("%+v %v", to, err)
	}
	b = open(t, path, o)
	flush(t, b)
	s.check(t, all)
	testkit.OK(t, b.Close())
	text, _ := os.ReadFile(path)
	if strings.Contains(string(text), "opensesame") || strings.Contains(string(text), o.Token) && o.Token != "" {
		t.Errorf("a secret is in the file: %s", text)
	}
	if to, _ := Destination(path); to.Token != (o.Token != "") {
		t.Errorf("%+v", to)
	}
}
