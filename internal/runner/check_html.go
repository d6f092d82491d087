package runner

import (
	"fmt"
	"html"
	"slices"

	"ramet/internal/base/late"
	"ramet/internal/base/markdown"
)

// tags are those that GitHub shows and pages may need.
var tags = late.Words(`a abbr b blockquote br cite code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img ins kbd
	li mark ol p picture pre q s samp small source span strong sub summary sup table tbody td tfoot th thead tr u ul var wbr`)

// harmful are those that run, load or ask for something.
var harmful = late.Words(`script iframe object embed applet frame frameset form input button select textarea base link meta style
	svg math video audio track template slot portal noscript xml title body head html plaintext xmp marquee isindex import`)

var (
	handler  = late.Regexp(`(?i)[\s"'/]on[a-z]+\s*=`)
	address  = late.Regexp(`(?i)[\s"'/](?:href|src|srcset|action|formaction|xlink:href|background|poster|cite|longdesc)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)
	styling  = late.Regexp(`(?i)[\s"'/]style\s*=`)
	quoted   = late.Regexp(`=\s*(?:"[^"]*"|'[^']*')`)
	wordLike = late.Regexp(`^</?[A-Za-z][\w.:-]*\s*/?>$`)
)

// tag looks at one tag of HTML.
func (l looker) tag(t markdown.Tag) {
	switch {
	case slices.Contains(harmful.Get(), t.Name):
		l.add(CheckError, "MD_HTML_HARMFUL", t.Line, fmt.Sprintf("<%s> does not belong in a page: leave it out", t.Name), "")
		return
	case !slices.Contains(tags.Get(), t.Name):
		fix := ""
		if wordLike.Get().MatchString(t.Text) {
			fix = fmt.Sprintf("write `%s` with backticks", t.Text)
		}
		l.add(CheckError, "MD_HTML", t.Line, fmt.Sprintf("%.100s is read as HTML and not shown: put it in backticks, or write &lt; for its <", t.Text), fix)
		return
	}
	if handler.Get().MatchString(quoted.Get().ReplaceAllString(t.Text, `="" `)) {
		l.add(CheckError, "MD_HTML_HARMFUL", t.Line, fmt.Sprintf("<%s> has a handler of events: leave the on… attribute out", t.Name), "")
	}
	if styling.Get().MatchString(quoted.Get().ReplaceAllString(t.Text, `="" `)) {
		l.add(CheckWarn, "MD_HTML_STYLE", t.Line, fmt.Sprintf("<%s> has a style, which is not shown: leave it out", t.Name), "")
	}
	for _, m := range address.Get().FindAllStringSubmatch(t.Text, -1) {
		to := html.UnescapeString(m[1] + m[2] + m[3])
		if s, ok := schemeOf(to); ok && (s == "javascript" || s == "vbscript" || s == "data") {
			l.add(CheckError, "MD_HTML_HARMFUL", t.Line, fmt.Sprintf("<%s> has a %s: address: leave it out", t.Name, s), "")
		}
	}
}
