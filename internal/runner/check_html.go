package runner

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"ramet/internal/base/markdown"
	"ramet/internal/base/text"
)

// tags are those that GitHub shows and pages may need.
var tags = strings.Fields(`a abbr b blockquote br cite code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img ins kbd
	li mark ol p picture pre q s samp small source span strong sub summary sup table tbody td tfoot th thead tr u ul var wbr`)

// harmful are those that run, load or ask for something.
var harmful = strings.Fields(`script iframe object embed applet frame frameset form input button select textarea base link meta style
	svg math video audio track template slot portal noscript xml title body head html plaintext xmp marquee isindex import`)

var (
	handler  = text.Regexp(`(?i)[\s"'/]on[a-z]+\s*=`)
	address  = text.Regexp(`(?i)[\s"'/](?:href|src|srcset|action|formaction|xlink:href|background|poster|cite|longdesc)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)
	styling  = text.Regexp(`(?i)[\s"'/]style\s*=`)
	quoted   = text.Regexp(`=\s*(?:"[^"]*"|'[^']*')`)
	wordLike = text.Regexp(`^</?[A-Za-z][\w.:-]*\s*/?>$`)
)

// tag looks at one tag of HTML.
func (l pageChecker) tag(t markdown.Tag) {
	switch {
	case slices.Contains(harmful, t.Name):
		l.add(Error, "MD_HTML_HARMFUL", t.Line, fmt.Sprintf("<%s> does not belong in a page: leave it out", t.Name), "")
		return
	case !slices.Contains(tags, t.Name):
		fix := ""
		if wordLike().MatchString(t.Text) {
			fix = fmt.Sprintf("write `%s` with backticks", t.Text)
		}
		l.add(Error, "MD_HTML", t.Line, fmt.Sprintf("%.100s is read as HTML and not shown: put it in backticks, or write &lt; for its <", t.Text), fix)
		return
	}
	if handler().MatchString(quoted().ReplaceAllString(t.Text, `="" `)) {
		l.add(Error, "MD_HTML_HARMFUL", t.Line, fmt.Sprintf("<%s> has a handler of events: leave the on… attribute out", t.Name), "")
	}
	if styling().MatchString(quoted().ReplaceAllString(t.Text, `="" `)) {
		l.add(Warn, "MD_HTML_STYLE", t.Line, fmt.Sprintf("<%s> has a style, which is not shown: leave it out", t.Name), "")
	}
	for _, m := range address().FindAllStringSubmatch(t.Text, -1) {
		to := html.UnescapeString(m[1] + m[2] + m[3])
		if s, ok := schemeOf(to); ok && (s == "javascript" || s == "vbscript" || s == "data") {
			l.add(Error, "MD_HTML_HARMFUL", t.Line, fmt.Sprintf("<%s> has a %s: address: leave it out", t.Name, s), "")
		}
	}
}
