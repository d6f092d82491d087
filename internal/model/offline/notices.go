package offline

import "strings"

// ordered returns what a message in the user's place asks for. Notices of the kernel stand there
// too: some ask for something, others for nothing (false).
func ordered(text string) (string, bool) {
	switch {
	case strings.HasPrefix(text, "You are the child "):
		return "", false
	case strings.HasPrefix(text, "A letter from the user, "):
		_, body, _ := strings.Cut(text, "\n\n")
		return body, strings.TrimSpace(body) != ""
	case strings.HasSuffix(text, ": read_mail."):
		return "read my mail", true
	case strings.HasPrefix(text, "Your turn is not over: ") && strings.Contains(text, " still work"):
		return "wait for all of them", true
	case strings.HasPrefix(text, "Your turn is not over: "):
		return "read my mail", true
	}
	return text, true
}
