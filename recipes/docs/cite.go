package docs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"ramet/internal/base/text"
)

// Most of what one statement may cite.
const (
	maxLines = 150 // of one citation
	maxCites = 8   // of one statement
)

// Cite is one citation.
type Cite struct {
	File     string
	From, To int
	Hash     string // SHA-256 of the lines with their ends, in hex; empty: not pinned yet
}

// String is the citation as it is written.
func (c Cite) String() string {
	s := fmt.Sprintf("%s:%d-%d", c.File, c.From, c.To)
	if c.Hash != "" {
		s += "@" + c.Hash
	}
	return s
}

// MarkStatements is the comment that holds citations.
func MarkStatements(cites ...Cite) string {
	var all []string
	for _, c := range cites {
		all = append(all, c.String())
	}
	return "<!-- cite: " + strings.Join(all, "; ") + " -->"
}

var (
	evidenceComment = text.Regexp(`(?s)<!--(.*?)-->`)
	citeForm        = text.Regexp(`^([^\s:;][^:;]*):([0-9]{1,7})(?:-([0-9]{1,7}))?(?:@([0-9a-f]{8,64}))?$`)
)

// readCites reads the citations in a comment.
func readCites(inside string) ([]Cite, error) {
	list, ok := strings.CutPrefix(strings.TrimSpace(inside), "cite:")
	if !ok {
		return nil, fmt.Errorf("a comment is not a citation: take it out, or write <!-- cite: FILE:FROM-TO -->")
	}
	var out []Cite
	for part := range strings.SplitSeq(list, ";") {
		m := citeForm().FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return nil, fmt.Errorf("%.100q is not a citation: write <!-- cite: FILE:FROM-TO -->, several with ; between them", strings.TrimSpace(part))
		}
		c := Cite{File: m[1], Hash: m[4]}
		c.From, _ = strconv.Atoi(m[2])
		c.To = c.From
		if m[3] != "" {
			c.To, _ = strconv.Atoi(m[3])
		}
		out = append(out, c)
	}
	return out, nil
}

// hashOf is the hash of lines.
func hashOf(lines []string) string {
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:])
}

// PinCites gives every citation of a draft the hash of its lines. A hash that a writer gave stays,
// and Check holds it against the lines. What cannot be read stays as it is.
func PinCites(draft string, r *Repository) string {
	return evidenceComment().ReplaceAllStringFunc(draft, func(whole string) string {
		cites, err := readCites(evidenceComment().FindStringSubmatch(whole)[1])
		if err != nil {
			return whole
		}
		for i, c := range cites {
			if lines, ok := r.lines(c); ok && c.Hash == "" {
				cites[i].Hash = hashOf(lines)
			}
		}
		return MarkStatements(cites...)
	})
}

// FindCites are all citations of a draft.
func FindCites(draft string) []Cite {
	var out []Cite
	for _, m := range evidenceComment().FindAllStringSubmatch(draft, -1) {
		cites, _ := readCites(m[1])
		out = append(out, cites...)
	}
	return out
}

// StripMarks is a draft as it is published: without its citations.
func StripMarks(draft string) string {
	var out []string
	for _, line := range strings.Split(draft, "\n") {
		bare := strings.TrimRight(evidenceComment().ReplaceAllString(line, ""), " \t")
		if bare == "" && strings.TrimSpace(line) != "" {
			continue // nothing but citations
		}
		if bare == "" && (len(out) == 0 || out[len(out)-1] == "") {
			continue
		}
		out = append(out, bare)
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n") + "\n"
}
