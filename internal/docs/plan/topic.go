package plan

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"ramet/internal/docs"
)

// topic is what a part of a README is about.
type topic string

const (
	about   topic = "about"   // what the project is
	using   topic = "using"   // how it is got and used
	working topic = "working" // how it is worked on
	nowhere topic = "nowhere" // badges, thanks, a table of contents: for the README alone
)

// topics are tried in order.
var topics = []struct {
	topic   topic
	pattern *regexp.Regexp
}{
	{nowhere, regexp.MustCompile(`(?i)^(?:table of )?contents?$|^toc$|badges?|sponsor|backers?|donat|^thanks|acknowledge?ments?|^credits?|^authors?$|^contributors?$|stargazer|star history|change ?log|release notes|^releases?$|^news$|licen[cs]e|copyright|^support$|who uses|users?$|^links?$|^contact|community|^see also$|^community|^related`)},
	{working, regexp.MustCompile(`(?i)contribut|develop|^build|compil|^tests?$|testing|running (?:the )?tests|hacking|code of conduct|releas(?:e|ing) process|pull requests?|bug reports?|reporting`)},
	{using, regexp.MustCompile(`(?i)install|download|requirement|prerequisite|depend|usage|^us(?:e|ing)\b|quick ?start|getting started|start|examples?|tutorial|how to|config|faq|troubleshoot`)},
	{about, regexp.MustCompile(`(?i)^$|overview|about|feature|what |what's|why|introduc|motivation|goals?$|status|compatib|description|background|summary|highlights|at a glance|support`)},
}

// topLines is where the title of a README stands at the latest.
const topLines = 20

// topicOf tells from the heading; the part without one, with the project's name or under
// the title is what the README begins with.
func topicOf(c docs.Claim, project string) topic {
	heading := strings.TrimSpace(c.Name)
	if strings.EqualFold(heading, project) || strings.EqualFold(heading, "readme") {
		return about
	}
	for _, t := range topics {
		if t.pattern.MatchString(heading) {
			return t.topic
		}
	}
	if at := place(c); at.From > 0 && at.From <= topLines {
		return about
	}
	if words := strings.TrimSpace(linked.ReplaceAllString(c.Text, "")); len(words) < 20 {
		return nowhere // a link and nothing else
	}
	return using // a part of its own making tells how something is done
}

var linked = regexp.MustCompile(`!?\[[^\]]*\]\([^)]*\)|<?https?://\S+`)

// inOrder sorts claims as they stand in their files.
func inOrder(claims []docs.Claim) []docs.Claim {
	out := slices.Clone(claims)
	slices.SortStableFunc(out, func(a, b docs.Claim) int {
		x, y := place(a), place(b)
		return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.From, y.From), cmp.Compare(a.ID, b.ID))
	})
	return out
}

func place(c docs.Claim) docs.Evidence {
	if len(c.Evidence) == 0 {
		return docs.Evidence{}
	}
	return c.Evidence[0]
}

// quick is a heading under which the first use stands.
var quick = regexp.MustCompile(`(?i)usage|^us(?:e|ing)\b|quick ?start|getting started|^examples?$|tutorial`)
