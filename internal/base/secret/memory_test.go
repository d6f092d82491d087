package secret

import (
	"testing"
)

func TestAMemoryHidesWhatTheRedactorHides(t *testing.T) {
	m := Remember(New(map[string]string{"KEY": "correct-horse-battery"}))
	for range 2 {
		if out, replaced := m.All("the key is correct-horse-battery"); !replaced || out == "the key is correct-horse-battery" {
			t.Errorf("%q %t", out, replaced)
		}
		if out, replaced := m.All("nothing here"); replaced || out != "nothing here" {
			t.Errorf("%q %t", out, replaced)
		}
	}
	for i := range remembered + 10 {
		m.mu.Lock()
		m.clean[[32]byte{byte(i), byte(i >> 8)}] = struct{}{}
		m.mu.Unlock()
	}
	m.All("one more")
	if len(m.clean) > remembered {
		t.Error(len(m.clean))
	}
}
