package facts

import (
	"strings"

	"ramet/internal/docs"
)

// cliItem is a command, or a flag or argument of one, as found in a source.
type cliItem struct {
	flag      bool
	command   string // words after the program's name; empty for the program itself
	name      string // of the flag
	signature string
	args      string // of a command whose signature is not known
	text      string
	from, to  int // offsets
}

// cliClaims names the finds of one file for a program.
func cliClaims(language, place, program string, s *source, items []*cliItem) []*claim {
	var out []*claim
	for _, it := range items {
		command := strings.TrimSpace(program + " " + it.command)
		from, to := s.lineAt(it.from), s.lineAt(max(it.from, it.to-1))
		if it.flag {
			out = append(out, newClaim(language, docs.Flag, joinPlace(place, command), it.name).
				in(command).signed(it.signature).says(it.text).at(s, from, to))
			continue
		}
		usage := it.signature
		if usage == "" {
			usage = strings.TrimSpace(command + " " + it.args)
		}
		out = append(out, newClaim(language, docs.Command, place, command).
			in(program).signed(usage).says(it.text).at(s, from, to))
	}
	return out
}

func joinPlace(place, name string) string {
	if place == "" {
		return name
	}
	return place + "/" + name
}

// flagSignature spells a flag: "-o, --output VALUE (default x)".
func flagSignature(names []string, value, def string) string {
	s := strings.Join(names, ", ")
	if value != "" {
		s += " " + value
	}
	if def != "" {
		s += " (default " + def + ")"
	}
	return s
}

// longest is the flag's full name: what a user looks for.
func longest(names []string) string {
	best := ""
	for _, n := range names {
		if len(n) > len(best) {
			best = n
		}
	}
	return best
}
