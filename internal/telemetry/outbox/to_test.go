package outbox

import (
	"os"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

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
