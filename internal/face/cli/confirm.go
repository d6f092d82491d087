package cli

import (
	"bufio"
	"io"
	"strings"
)

// Yes asks on the terminal; everything but yes is no.
func (l *Line) Yes(question string) bool {
	io.WriteString(l.Stderr, question)
	said, _ := bufio.NewReader(io.LimitReader(l.Stdin, 1<<10)).ReadString('\n')
	said = strings.ToLower(strings.TrimSpace(said))
	return said == "y" || said == "yes"
}
