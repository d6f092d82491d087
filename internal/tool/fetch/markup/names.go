package markup

// trait is what is known of elements by their names.
type trait uint16

const (
	special   trait = 1 << iota // an end of something else does not close it
	void                        // it has no content
	scope                       // what stands around it is not closed from within
	format                      // it goes on in the next paragraph when it was not closed
	implied                     // its end need not be written
	heading                     // h1 to h6
	grid                        // parts of tables in which no text may stand
	cell                        // parts of tables that begin anew
	foreign                     // of a drawing or a formula
	formula                     // of those, a formula
	point                       // what holds HTML again
	paragraph                   // begins a block, which ends a paragraph
)

func traitOf(name string) trait {
	switch name {
	case "address", "article", "aside", "blockquote", "center", "details", "dir", "div", "dl", "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup",
		"listing", "main", "menu", "nav", "ol", "pre", "section", "summary", "ul":
		return special | paragraph
	case "dialog", "search":
		return paragraph
	case "p":
		return special | implied | paragraph
	case "h1", "h2", "h3", "h4", "h5", "h6":
		return special | heading
	case "li", "dd", "dt":
		return special | implied
	case "option", "optgroup", "rb", "rp", "rt", "rtc":
		return implied
	case "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u":
		return format
	case "area", "br", "embed", "hr", "img", "input", "keygen", "param", "source", "track", "wbr":
		return special | void
	case "html", "template":
		return special | scope
	case "applet", "marquee", "object", "select":
		return special | scope
	case "table":
		return special | scope | grid
	case "tbody", "thead", "tfoot", "tr":
		return special | grid
	case "td", "th", "caption":
		return special | scope | cell
	case "body", "button", "noframes":
		return special
	}
	return 0
}

// foreignTrait is that of elements in drawings and formulas.
func foreignTrait(name string, around trait) trait {
	switch name {
	case "foreignobject", "desc", "title":
		if around&formula == 0 {
			return special | scope | foreign | point
		}
	case "mi", "mo", "mn", "ms", "mtext":
		if around&formula != 0 {
			return special | scope | foreign | formula | point
		}
	case "annotation-xml":
		if around&formula != 0 {
			return special | scope | foreign | formula
		}
	}
	return foreign | around&formula
}

// breaksOut are the elements of HTML that end a drawing or a formula: somebody forgot to.
func breaksOut(t Token) bool {
	switch t.Name {
	case "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed", "h1", "h2", "h3", "h4", "h5", "h6", "head", "hr", "i", "img", "li",
		"listing", "menu", "meta", "nobr", "ol", "p", "pre", "ruby", "s", "small", "span", "strong", "strike", "sub", "sup", "table", "tt", "u", "ul", "var":
		return true
	case "font":
		return t.has("color") || t.has("face") || t.has("size")
	}
	return false
}
