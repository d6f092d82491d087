package prose

import (
	"strings"
	"testing"
)

// However its marks are nested and repeated, a text is read in bounded time and depth.
func TestHostileTextsAreBounded(t *testing.T) {
	for _, unit := range []string{"[", "[a](", "[a][", "`", "` `` ", "<a href=''>", "<", "*", "**a", ":a:`", "- ", "- a\n", "| a |\n", "|-|\n", "> ", "#", "\n\n\t",
		"```\n", ".. note:: .. note:: ", "Args:\n  ", "Note:\n ", "a::\n\n    ", "@param {", "{@link a", "\\", "![", ":a b: c\n", "a : b\n", "Notes\n---\n", "\x01", "<!--", "http://"} {
		for _, l := range []string{"go", "python", "typescript", "rust", ""} {
			for _, b := range Blocks(strings.Repeat(unit, 3000/len(unit)), l, 3) {
				if strings.TrimSpace(b.String()) == "" {
					t.Errorf("%q in %s: an empty block", unit, l)
				}
			}
		}
	}
}
