package sandbox

import (
	"bufio"
	"os"
	"testing"
)

// A command that stays is spoken with over its own pipes; what it complains goes elsewhere.
func TestACommandIsSpokenWith(t *testing.T) {
	for _, confine := range []*Box{nil, {Network: true}} {
		if confine != nil && Available() != nil {
			continue
		}
		inR, inW, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		outR, outW, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		errs := newScreen()
		cmd := sh(t.TempDir(), `echo ready >&2; while read -r line; do echo "heard $line"; done; echo bye >&2; exit 3`)
		cmd.Speaks, cmd.Output, cmd.Confine = &Speech{In: inR, Out: outW}, errs, confine
		p, err := Start(t.Context(), cmd)
		if err != nil {
			t.Fatal(err)
		}
		answers := bufio.NewReader(outR)
		for _, word := range []string{"one", "two"} {
			if _, err := inW.WriteString(word + "\n"); err != nil {
				t.Fatal(err)
			}
			if line, err := answers.ReadString('\n'); line != "heard "+word+"\n" {
				t.Errorf("%q, %v", line, err)
			}
		}
		inW.Close()
		if r, err := p.Wait(); err != nil || r.ExitCode != 3 {
			t.Errorf("%+v, %v", r, err)
		}
		if errs.String() != "ready\nbye\n" {
			t.Errorf("complained %q", errs)
		}
		if _, err := answers.ReadByte(); err == nil {
			t.Error("its end is still open")
		}
		outR.Close()
	}
}
