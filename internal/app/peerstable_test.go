package app_test

import (
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// peersTable is what `make peers` saw, as docs/drivers.md tells it: the table and the lines between two marks are made by
// one run, and by nothing else.
type peersTable struct {
	mu      sync.Mutex
	columns []string // drivers
	rows    []string // what was tried
	cells   map[[2]string]string
	lines   []string // what was seen besides
}

var peersSeen peersTable

// The marks.
const (
	peersBegin = "<!-- make peers writes what follows -->"
	peersEnd   = "<!-- make peers wrote what precedes -->"
)

// tell puts what was seen into its cell.
func (p *peersTable) tell(row, column, cell string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cells == nil {
		p.cells = map[[2]string]string{}
	}
	if !slices.Contains(p.rows, row) {
		p.rows = append(p.rows, row)
	}
	if !slices.Contains(p.columns, column) {
		p.columns = append(p.columns, column)
	}
	p.cells[[2]string{row, column}] = cell
}

// tellAfter adds a line when a test is over that was tried, which says how it ended.
func (p *peersTable) tellAfter(t *testing.T, what string) {
	t.Helper()
	t.Cleanup(func() {
		how := "yes"
		switch {
		case t.Skipped():
			return
		case t.Failed():
			how = "**no**"
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.lines = append(p.lines, "- "+what+": "+how+".")
	})
}

// text is the table, as markdown.
func (p *peersTable) text(now time.Time, system string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "On %s, %s:\n\n|", now.UTC().Format(time.DateOnly), system)
	for _, c := range p.columns {
		fmt.Fprintf(&b, " | %s", c)
	}
	b.WriteString(" |\n|---" + strings.Repeat("|---", len(p.columns)) + "|\n")
	for _, r := range p.rows {
		b.WriteString("| " + r)
		for _, c := range p.columns {
			cell := p.cells[[2]string{r, c}]
			if cell == "" {
				cell = "not tried"
			}
			b.WriteString(" | " + strings.NewReplacer("|", "\\|", "\n", " ").Replace(cell))
		}
		b.WriteString(" |\n")
	}
	if len(p.lines) > 0 {
		b.WriteString("\n" + strings.Join(p.lines, "\n") + "\n")
	}
	return b.String()
}

// into puts the table between the marks of a document.
func (p *peersTable) into(doc, table string) (string, error) {
	head, rest, ok := strings.Cut(doc, peersBegin)
	_, tail, also := strings.Cut(rest, peersEnd)
	if !ok || !also {
		return "", fmt.Errorf("the document has no marks")
	}
	return head + peersBegin + "\n\n" + table + "\n" + peersEnd + tail, nil
}

// write is called when all tests are over. RAMET_TEST_PEERS_TABLE names the document; empty: none is written.
func (p *peersTable) write(system string) {
	file := os.Getenv("RAMET_TEST_PEERS_TABLE")
	if file == "" || len(p.rows) == 0 {
		return
	}
	doc, err := os.ReadFile(file)
	if err == nil {
		var text string
		if text, err = p.into(string(doc), p.text(time.Now(), system)); err == nil {
			err = os.WriteFile(file, []byte(text), 0o644)
		}
	}
	if err != nil {
		log.Printf("what was seen is not in %s: %v", file, err)
	}
}

// What was seen replaces what was seen before, and nothing else.
func TestTheTableOfPeers(t *testing.T) {
	var p peersTable
	p.tell("a turn", "Claude", "yes")
	p.tell("a fork", "Codex", "in|words")
	got, err := p.into("before\n"+peersBegin+"\nold\n"+peersEnd+"\nafter\n", p.text(time.Unix(0, 0), "here"))
	want := "before\n" + peersBegin + "\n\nOn 1970-01-01, here:\n\n| | Claude | Codex |\n|---|---|---|\n| a turn | yes | not tried |\n| a fork | not tried | in\\|words |\n\n" + peersEnd + "\nafter\n"
	if err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
	if _, err := p.into("no marks", ""); err == nil {
		t.Error("a document without marks was written")
	}
	doc, err := os.ReadFile("../../docs/drivers.md")
	if err == nil {
		_, err = p.into(string(doc), "")
	}
	if err != nil {
		t.Error(err)
	}
}
