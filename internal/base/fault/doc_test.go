package fault

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The table in docs/json.md is this package's table, word for word.
func TestTheDocumentedTableIsThisOne(t *testing.T) {
	text, err := os.ReadFile("../../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| exit | code | meaning |\n|---|---|---|\n")
	for _, row := range Table() {
		fmt.Fprintf(&want, "| %d | `%s` | %s |\n", row.Exit, row.Code, row.Meaning)
	}
	if !strings.Contains(string(text), want.String()) {
		t.Errorf("docs/json.md wants this table:\n%s", want.String())
	}
}
