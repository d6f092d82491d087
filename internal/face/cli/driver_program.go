package cli

import (
	"strings"

	"ramet/internal/base/printer"
	"ramet/internal/operation/public"
)

// programText tells what the program that drives an agent offers.
func programText(w *printer.Writer, p *public.Program) {
	mode := "its own choice"
	if p.Mode != nil {
		mode = *p.Mode
	}
	if p.Boxed != nil && *p.Boxed {
		mode += " (confined)"
	}
	if words := chosenFrom(p.Modes); words != "" {
		mode += " of " + words
	}
	w.Line("%s: mode %s", p.Driver, mode)
}

// chosenFrom are the words of choices.
func chosenFrom(all []public.Choice) string {
	words := make([]string, len(all))
	for i, c := range all {
		words[i] = c.Word
	}
	return strings.Join(words, ", ")
}
