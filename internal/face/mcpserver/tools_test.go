package mcpserver

import (
	"bytes"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/operation"
)

// A tool of an operation's name is derived from it.
func TestNoToolDescribesAnOperationAgain(t *testing.T) {
	for _, c := range []Caller{"", id.NewAgent()} {
		for _, one := range tools(c) {
			o := operation.Named(one.name)
			if o != nil && !bytes.Equal(one.args.Brief(), operation.Shape(o, operation.MCP).Brief()) {
				t.Errorf("the tool %s is made by hand, and there is an operation of that name", one.name)
			}
			if o != nil && o.Describe().Faces&operation.MCP == 0 {
				t.Errorf("the operation %s does not have MCP among its faces", one.name)
			}
		}
	}
}
