package ledger

import (
	"strings"
	"testing"
)

func TestAnotherBootIsDeadAndAnotherNamespaceIsUnknown(t *testing.T) {
	me := SelfOwner()
	part := strings.Split(me.Start, ".")
	if len(part) != 3 || len(part[0]) != 8 {
		t.Fatalf("it began at %q", me.Start)
	}
	if !ownerDead(me.PID, "00000000."+part[1]+"."+part[2]) {
		t.Error("a process of another boot lives")
	}
	if ownerDead(me.PID, part[0]+".1.1") {
		t.Error("a number of another namespace is taken for one of this")
	}
}
