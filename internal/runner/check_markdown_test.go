package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// treeCheck makes a site of files; all of them are changed.
func treeCheck(files ...string) *CheckSite {
	fsys := fstest.MapFS{}
	s := &CheckSite{Tree: fsys, Allowed: []string{"**"}}
	for i := 0; i < len(files); i += 2 {
		fsys[files[i]] = &fstest.MapFile{Data: []byte(files[i+1]), Mode: 0o644}
		s.Changes = append(s.Changes, FileChange{Path: files[i], NewMode: "100644"})
	}
	return s
}

// toldCheck is a finding in short.
func toldCheck(f []Finding) []string {
	out := []string{}
	for _, one := range f {
		out = append(out, fmt.Sprintf("%s %s:%d", one.Code, one.File, one.Line))
	}
	return out
}

// sound is what every finding must be.
func sound(t *testing.T, found []Finding) {
	t.Helper()
	for _, f := range found {
		if f.Code == "" || strings.ToUpper(f.Code) != f.Code || !strings.ContainsAny(f.Message, ":") || f.Severity == "" {
			t.Errorf("%+v", f)
		}
	}
}

func TestMarkdown(t *testing.T) {
	page := func(body string) string { return "# T\n\n" + body + "\n" }
	for name, c := range map[string]struct{ in, want string }{
		"clean": {"# Title\n\nText with `<code>`, a [link](x.md), ![image](y.png) and <kbd>Ctrl</kbd>.\n\n## Two\n\n### Three\n\n## Two\n\n" +
			"| a | b |\n|---|:-:|\n| `x\\|y` | z |\n\n```go\nfunc f() {} // <script> <<<<<<< TODO\n```\n\n~~~\n```\n~~~\n\n- [x] done\n- [ ] open\n\n  ```sh\n  ls\n  ```\n\n<!-- note -->\n\n<details>\n<summary>More</summary>\n\nHidden.\n\n</details>\n\nA[^1].\n\n[^1]: Note.\n", ""},
		"front matter":      {"---\ntitle: x\ntags:\n  - y\n---\n\n# Title\n\nText.\n", ""},
		"badge first":       {"<p align=\"center\"><img src=\"x.png\" alt=\"x\"></p>\n\n# Title\n", ""},
		"DOS":               {"# T\r\n\r\nText.\r\n", ""},
		"emoji, joined":     {page("\U0001F469\u200d\U0001F4BB नमस्ते می\u200cخواهم"), ""},
		"not UTF-8":         {"# T\n\xff\n", "MD_NOT_UTF8:0"},
		"empty":             {" \n\n", "MD_EMPTY:0"},
		"no last feed":      {"# T\n\nx", "MD_NO_FINAL_NEWLINE:0"},
		"blank at the end":  {"# T\n\n\n", "MD_BLANK_EDGE:0"},
		"blank at the top":  {"\n# T\n", "MD_BLANK_EDGE:0"},
		"mixed":             {"# T\r\n\nx\n", "MD_MIXED_LINE_ENDS:0"},
		"mark":              {"\ufeff# T\n", "MD_BYTE_ORDER_MARK:1 MD_NO_TITLE:0"},
		"control":           {page("a\x1b[31mb"), "MD_CONTROL_CHARACTER:3"},
		"NUL":               {page("a\x00b"), "MD_CONTROL_CHARACTER:3"},
		"lone return":       {page("a\rb"), "MD_CONTROL_CHARACTER:3"},
		"turned around":     {page("a\u202eb"), "MD_CONTROL_CHARACTER:3"},
		"hidden tags":       {page("a\U000e0041b"), "MD_CONTROL_CHARACTER:3"},
		"no title":          {"## T\n\nx\n", "MD_NO_TITLE:0"},
		"no heading":        {"text\n", "MD_NO_TITLE:0"},
		"wrapped":           {"```markdown\n# T\n```\n", "MD_NO_TITLE:0 MD_WRAPPED:1"},
		"two titles":        {"# T\n\n# U\n\n# V\n", "MD_MANY_TITLES:3"},
		"title underlined":  {"T\n=\n\nU\n===\n", "MD_MANY_TITLES:4"},
		"chatter":           {"Here is the page:\n\n# T\n", "MD_TEXT_BEFORE_TITLE:1"},
		"jump":              {"# T\n\n### U\n\n## V\n\n#### W\n", "MD_HEADING_JUMP:3 MD_HEADING_JUMP:7"},
		"empty heading":     {"# T\n\n##\n\nx\n", "MD_HEADING_EMPTY:3"},
		"link nowhere":      {page("[x]() and [y](#) and [z](<>)"), "MD_LINK_EMPTY:3 MD_LINK_EMPTY:3 MD_LINK_EMPTY:3"},
		"link without text": {page("a\n\nb [](x.md)"), "MD_LINK_EMPTY:5"},
		"image link":        {page("[![x](y.png)](z.md)"), ""},
		"image nowhere":     {page("![x]()"), "MD_IMAGE_EMPTY:3"},
		"image, no words":   {page("![](y.png)"), "MD_IMAGE_TEXT:3"},
		"open fence":        {page("```go\nx"), "MD_FENCE_OPEN:3"},
		"empty open fence":  {"# T\n\n```\n", "MD_FENCE_OPEN:3"},
		"closed by another": {page("```\nx\n~~~"), "MD_FENCE_OPEN:3"},
		"shorter fence":     {page("````\nx\n```"), "MD_FENCE_OPEN:3"},
		"fence of an item":  {page("- a\n  ```\n  x\n\nb"), "MD_FENCE_OPEN:4"},
		"script":            {page("a <script>x</script>"), "MD_HTML_HARMFUL:3"},
		"script block":      {page("<script>\nx\n</script>"), "MD_HTML_HARMFUL:3 MD_HTML_HARMFUL:5"},
		"script in capital": {page("<ScRiPt src=x>"), "MD_HTML_HARMFUL:3"},
		"frame":             {page("<iframe src=\"x\"></iframe>"), "MD_HTML_HARMFUL:3"},
		"svg":               {page("<div>\n<svg/onload=alert(1)></div>"), "MD_HTML_HARMFUL:4"},
		"no tag":            {page("<svg/onload=alert(1)>"), ""}, // it is shown as it is
		"handler":           {page("<img src=\"x\" onerror=\"y\">"), "MD_HTML_HARMFUL:3"},
		"handler, slash":    {page("<div>\n<img/src=\"x\"/onerror=y></div>"), "MD_HTML_HARMFUL:4"},
		"handler, lines":    {page("<div>\n<a\n ONCLICK = x>y</a></div>"), "MD_HTML_HARMFUL:4"},
		"no handler":        {page("<img src=\"x\" alt=\"a onclick=b\">"), ""},
		"javascript":        {page("<a href=\"java&#115;cript:x\">y</a>"), "MD_HTML_HARMFUL:3"},
		"javascript, tab":   {page("<a href='java\tscript:x'>y</a>"), "MD_HTML_HARMFUL:3"},
		"data":              {page("<img src=data:text/html,x>"), "MD_HTML_HARMFUL:3"},
		"style":             {page("<div style=\"x\">y</div>"), "MD_HTML_STYLE:3"},
		"placeholder tag":   {page("Run `x` <name> now."), "MD_HTML:3"},
		"generic":           {page("A List<T> here."), "MD_HTML:3"},
		"processing":        {page("a <?php x ?> b"), "MD_HTML:3"},
		"in a comment":      {page("<!-- <script>x</script> -->"), ""},
		"after a comment":   {page("<!-- a --><script>x</script>"), "MD_HTML_HARMFUL:3"},
		"short comment":     {page("<!--><script>x</script> -->"), "MD_HTML_HARMFUL:3"},
		"open comment":      {page("<!-- a\n\nb"), "MD_COMMENT_OPEN:3"},
		"more cells":        {page("| a | b |\n|---|---|\n| c | d | e |\n| f | g |"), "MD_TABLE_COLUMNS:5"},
		"fewer cells":       {page("| a | b |\n|---|---|\n| c |"), "MD_TABLE_COLUMNS:5"},
		"bar in code":       {page("| a | b |\n|---|---|\n| `x|y` | d |"), "MD_TABLE_COLUMNS:5"},
		"no bars around":    {page("a | b\n---|---\nc | d"), ""},
		"one column":        {page("| a |\n|---|\n| b |"), ""},
		"head differs":      {page("| a | b | c |\n|---|---|\n| d | e | f |"), "MD_TABLE_COLUMNS:4"},
		"table in a list":   {page("- x\n\n  | a | b |\n  |---|---|\n  | c | d |"), ""},
		"table in a quote":  {page("> | a | b |\n> |---|---|\n> | c |"), "MD_TABLE_COLUMNS:5"},
		"empty cells":       {page("| a | b |\n|---|---|\n|   |   |"), ""},
		"conflict":          {page("<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x"), "MD_CONFLICT:3 MD_CONFLICT:7 MD_MANY_TITLES:3"},
		"to do":             {page("Use it. TODO: say how."), "MD_PLACEHOLDER:3"},
		"deep":              {page(strings.Repeat("> ", 400) + "x"), ""},
		"very deep":         {page(strings.Repeat("> ", 200_000) + "x"), "MD_UNREADABLE:0"},
		"very deep list":    {page(strings.Repeat("1. ", 150_000)), "MD_UNREADABLE:0"},
		"a long rule":       {page(strings.Repeat("-", 2000)), ""},
		"tangled":           {page(strings.Repeat("_a*", 100_000)), "MD_UNREADABLE:0"},
		"tangled brackets":  {page(strings.Repeat("[a](", 100_000)), "MD_UNREADABLE:0"},
		"too large":         {page(strings.Repeat("word ", 200_000)), "MD_UNREADABLE:0"},
	} {
		t.Run(name, func(t *testing.T) {
			s := treeCheck("docs/a.md", c.in)
			found := CheckMarkdown(s)
			sound(t, found)
			var codes []string
			for _, f := range found {
				codes = append(codes, fmt.Sprintf("%s:%d", f.Code, f.Line))
			}
			want := strings.Fields(c.want)
			slices.Sort(codes)
			slices.Sort(want)
			if !slices.Equal(slices.Compact(codes), slices.Compact(want)) {
				t.Errorf("got %v, want %v", codes, want)
			}
		})
	}
}

func TestMarkdownLooksAtChangedPagesOnly(t *testing.T) {
	s := treeCheck("docs/a.md", "<script>\n", "b.txt", "<script>", "C.MD", "x")
	s.Changes = s.Changes[1:]
	if got := toldCheck(CheckMarkdown(s)); !slices.Equal(got, []string{"MD_NO_FINAL_NEWLINE C.MD:0", "MD_NO_TITLE C.MD:0"}) {
		t.Error(got)
	}
}

// Of a page that was there before, only what was added is looked at.
func TestWhatOthersWroteIsTheirs(t *testing.T) {
	s := treeCheck("a.md", "Text.\n\n# A\n\n# B\n\n[x](gone.md)\n\n[y](gone.md)\n\n#\n\n#\n")
	s.Changes[0].OldMode, s.Changes[0].Added = "100644", map[int]bool{9: true, 13: true}
	if got := toldCheck(slices.Concat(CheckMarkdown(s), CheckLinks(s))); !slices.Equal(got, []string{"MD_HEADING_EMPTY a.md:13", "LINK_MISSING a.md:9"}) {
		t.Error(got)
	}
	changes, err := CheckChanges([]byte("diff --git a/a.md b/a.md\n--- a/a.md\n+++ b/a.md\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n@@ -10,1 +11,2 @@\n+e\n f\n"))
	if err != nil || len(changes) != 1 || !maps.Equal(changes[0].Added, map[int]bool{2: true, 3: true, 11: true}) {
		t.Errorf("%+v %v", changes, err)
	}
}

// harmless pages of any kind do not bring a gate down.
func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{"# T\n", "| a |\n|-|\n|`\\|`|\n", "<!-- \n<script", "> ```\n", "- [x](y)\n\t\t<a\n", "[^1]: x\n\n[^1]", "\x00\r\v", "***a**b*c***", "a\n-\n|-\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if len(in) > 1<<13 {
			return
		}
		s := treeCheck("a.md", in)
		found := CheckMarkdown(s)
		lines := strings.Count(in, "\n") + 1
		for _, f := range found {
			if f.Line < 0 || f.Line > lines || f.Code == "" || f.Message == "" {
				t.Fatalf("%q: %+v", in, f)
			}
		}
		if again := CheckMarkdown(treeCheck("a.md", in)); len(again) > len(found) {
			t.Fatalf("%q: %v, then %v", in, found, again)
		}
	})
}
