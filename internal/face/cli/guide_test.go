package cli

import (
	"regexp"
	"strings"
	"testing"

	"ramet/internal/model/offline"
	"ramet/internal/operation/session"
)

// What newcomers are told to type exists: commands of the shell with their options, and those of
// the terminal.
func TestTheGuideNamesCommandsThatExist(t *testing.T) {
	root := Tree()
	for _, topic := range offline.GuideTopics() {
		lines := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(topic.Type, -1)
		if len(lines) == 0 {
			t.Errorf("%s: nothing to type", topic.Title)
		}
		for _, m := range lines {
			words := strings.Fields(m[1])
			switch {
			case words[0] == "ramet" && len(words) > 1 && words[1] != "--help":
				c, rest, err := root.Find(words[1:])
				if err != nil || c == root {
					t.Errorf("%s: no command %q", topic.Title, m[1])
					continue
				}
				for _, w := range rest {
					if w == "--" {
						break
					}
					if name, ok := strings.CutPrefix(w, "--"); ok && c.Flags().Lookup(name) == nil && root.PersistentFlags().Lookup(name) == nil {
						t.Errorf("%s: %s has no %s", topic.Title, c.CommandPath(), w)
					}
				}
			case strings.HasPrefix(words[0], "/"):
				if _, ok := session.FindCommand(words[0][1:]); !ok {
					t.Errorf("%s: no command %s", topic.Title, words[0])
				}
			}
		}
	}
}
