package toolinfo

import (
	"slices"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

func TestADescriptionHasEveryField(t *testing.T) {
	good := testkit.Must(files.ReadFile("edit.md"))(t)
	text := string(good)
	testkit.Must(parseInfo("edit", text))(t)
	header, _, _ := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	for line := range strings.SplitSeq(header, "\n") {
		key, _, _ := strings.Cut(line, ":")
		for _, bad := range []string{"", key + ":\n", "un" + line + "\n"} {
			if _, err := parseInfo("edit", strings.Replace(text, line+"\n", bad, 1)); err == nil {
				t.Errorf("%q instead of %q is accepted", bad, line)
			}
		}
	}
	for _, line := range []string{"access: wrong", "kind: wrong", "subject: wrong", "recipes: no", "alone: 1", "removable: 1"} {
		key, _, _ := strings.Cut(line, ":")
		changed := strings.Replace(text, key+": ", line+"\nold"+key+": ", 1)
		if _, err := parseInfo("edit", changed); err == nil {
			t.Errorf("%s is accepted", line)
		}
	}
	if _, err := parseInfo("edit", "---\n"+header+"\n---\n"); err == nil {
		t.Error("a tool without a description is accepted")
	}
}

func TestToolsAreFoundByAllTheirNames(t *testing.T) {
	for _, info := range All() {
		if Find(info.Name) != info {
			t.Errorf("%s is not found", info.Name)
		}
		for _, name := range append(slices.Clip(info.Names), info.Aliases...) {
			if FindForeign(name) != info || FindForeign(strings.ToUpper(name)) != info || Find(name) != nil {
				t.Errorf("%s is not %s of other programs only", name, info.Name)
			}
		}
	}
	if len(All()) == 0 || Find("") != nil || FindForeign("no such tool") != nil {
		t.Error("what is not a tool is found")
	}
}
