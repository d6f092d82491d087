package offline

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"ramet/internal/base/text"
)

// rule is one way to say something. steps returns nil if that is not meant after all.
type rule struct {
	pattern func() *regexp.Regexp // of what follows the verb
	steps   func(p parser, m []string) []step
}

// ruleSet has the rules of each verb, the narrower ones first.
type ruleSet map[string][]rule

var rules = sync.OnceValue(buildRules)

// add adds a rule for some verbs. In its pattern, a space is any white space, and capitals stand for:
//
//	ANY    anything, the shortest that fits
//	PATH   one word, or something quoted
//	AGENT  the name of an agent
//	LIT    something quoted
//	THE    an article or the like, or nothing
//	FILE   such, and "file", or nothing
func (s ruleSet) add(verbs, pattern string, steps func(p parser, m []string) []step) {
	const mark = `[\x{E000}-\x{F8FF}]`
	expr := strings.NewReplacer(
		"ANY", `(\S.*?)`, "PATH", `([^\s"`+"`"+`]+)`, "AGENT", `(?:the |my )?(?:agent |child )?([A-Za-z0-9][A-Za-z0-9._-]*)`, "LIT", `(`+mark+`)`,
		"THE", `(?:(?:the|a|an|all|my|your|any|every|new|next|unread|this|our) )*`,
		"FILE", `(?:(?:the|a|an|new|text|empty) )*(?:file )?(?:(?:called|named) )?`,
	).Replace(pattern)
	one := rule{text.Regexp(`(?is)^(?:` + strings.ReplaceAll(expr, " ", `\s+`) + `)$`), steps}
	for _, verb := range strings.Fields(verbs) {
		s[verb] = append(s[verb], one)
	}
}

func buildRules() ruleSet {
	s := ruleSet{}
	const shows = "read show open cat print display view"
	// What the report does anyway.
	s.add("tell show give report", `(?:to )?(?:(?:me|us) )?(?:what|how|whether|if|the (?:results?|outputs?|answers?)|about it)(?: .*)?`,
		func(parser, []string) []step { return []step{} })
	s.add("say answer reply respond", `(?:with )?ANY`, func(p parser, m []string) []step {
		return []step{{kind: saying, text: text.Safe(p.plain(m[1]))}}
	})
	s.add("exit quit", ``, func(parser, []string) []step { return oneCall("exit", "end myself", map[string]any{}) })
	s.add("exit quit", `(?:with|saying):? (?:THEresult )?ANY`, func(p parser, m []string) []step {
		return oneCall("exit", "end myself", map[string]any{"result": p.plain(m[1])})
	})

	listAgents := func(parser, []string) []step { return oneCall("ps", "list the agents", map[string]any{}) }
	s.add("ps", ``, listAgents)
	s.add("who", `(?:else )?is (?:there|here|running|alive)`, listAgents)
	s.add("list show", `(?:me )?THE(?:running |living )?(?:agents|children|processes)`, listAgents)
	s.add("kill terminate", `AGENT((?:,)? (?:and|with) (?:all )?(?:its|the) (?:children|subtree|descendants)| --cascade)?(?: because(?: of)? ANY)?`, killAgent)

	checkMail := func(parser, []string) []step { return oneCall("check_mail", "look for mail", map[string]any{}) }
	s.add("check", `(?:for )?THE(?:mail|mailbox|inbox|letters?)`, checkMail)
	s.add("do", `i have THE(?:mail|letters?)`, checkMail)
	s.add("read open", `THE(?:mail|letters?|messages?|inbox)(?: (?:number )?#?(\d{1,9}))?`, readMail)
	s.add("wait", `for (?:(?:both|all)(?: of them)?|them|it|(?:THE(?:two |three )?(?:child|children)))`, func(p parser, _ []string) []step {
		return p.wait("", "")
	})
	s.add("wait", `(?:(?:for )?(?:up to )?(\d{1,5})\s*(?:s|seconds?)(?: |$))?(?:(?:for|until) (?:there is )?THE(?:mail|letters?|answers?|reply|replies|messages?|results?)(?: (?:comes|arrives))?(?: |$))?(?:(?:from|of) AGENT)?`,
		func(p parser, m []string) []step { return p.wait(m[1], m[2]) })
	s.add("wait", `for AGENT`, func(p parser, m []string) []step { return p.wait("", m[1]) })
	send := func(to, body int) func(parser, []string) []step {
		return func(p parser, m []string) []step {
			if pronoun[strings.ToLower(m[to])] {
				return nil
			}
			return oneCall("send", "send mail to "+showName(m[to]), map[string]any{"to": m[to], "text": p.plain(m[body])})
		}
	}
	s.add("send mail message", `AGENT:? LIT`, send(1, 2))
	s.add("send write", `THE(?:message|letter|mail) to AGENT(?:,|:)?(?: saying| that says| with| that)?:? ANY`, send(1, 2))
	s.add("send mail", `ANY to AGENT`, send(2, 1))
	s.add("send mail tell message", `AGENT(?: that)?[:,]? ANY`, send(1, 2))

	s.add("replace change substitute", `(all |every )?(?:the )?(?:(?:words?|texts?|occurrences? of) )?ANY (?:with|by|to|for) ANY( everywhere)? in FILEPATH( everywhere)?`, replaceText)
	s.add("in", `FILEPATH,? (?:replace|change) ANY (?:with|by|to) ANY`, func(p parser, m []string) []step {
		return replaceText(p, []string{"", "", m[2], m[3], "", strings.TrimRight(m[1], ","), ""})
	})
	s.add("write", `(?:to|into) FILEPATH:\s*ANY`, func(p parser, m []string) []step { return p.write(m[1], m[2]) })
	s.add("write save put store", `ANY (?:to|into|in) FILEPATH`, func(p parser, m []string) []step { return p.write(m[2], m[1]) })
	s.add("create make write", `FILEPATH,? (?:containing|with|saying|that says|that contains)(?: the)?(?: (?:text|contents?|words?))?:? ANY`,
		func(p parser, m []string) []step { return p.write(m[1], m[2]) })
	s.add("create make touch", `FILEPATH`, func(p parser, m []string) []step {
		if file, quoted := p.literal(m[1]); !quoted && !strings.ContainsAny(file, "./") {
			return nil
		}
		return p.write(m[1], "")
	})

	s.add("search grep scan", `(?:in )?(?:the )?PATH for ANY`, func(p parser, m []string) []step { return p.search(m[2], m[1]) })
	s.add("search grep scan look", `(?:for )?(?:the (?:words?|text|pattern) )?ANY(?: in PATH)?`, func(p parser, m []string) []step { return p.search(m[1], m[2]) })
	s.add("find", `ANY in PATH`, func(p parser, m []string) []step { // a file of that name, or the text
		what := p.plain(m[1])
		if strings.ContainsAny(what, "*?[{") || path.Ext(what) != "" && !strings.ContainsAny(what, " \t(") {
			return p.find(m[1], m[2])
		}
		return p.search(m[1], m[2])
	})
	s.add("find", `THE(?:files? )?(?:(?:named|called|matching|like) )?PATH(?: files?)?`, func(p parser, m []string) []step { return p.find(m[1], "") })
	s.add("list show", `(?:me )?THE(?:files?(?: and folders)?|folder|directory|contents?)(?: (?:here|there))?(?: (?:in|of|under) (?:THE(?:folder|directory) )?PATH)?`, listFiles)
	s.add("list show", `(?:me )?THEfiles in THE(?:folder|directory|project)()`, listFiles)
	s.add("what", `files are (?:there|here)()`, listFiles)
	s.add("list ls", `(?:PATH)?`, listFiles)

	s.add("$", `ANY`, func(p parser, m []string) []step { return runCommand(p.restore(m[1]), true) })
	s.add("run execute exec", `(?:(?:the )?(?:shell )?command )?ANY`, parseCommand)
	s.add(shows, `(?:me )?the first (\d{1,6}) lines of FILEPATH`, func(p parser, m []string) []step {
		n, _ := strconv.Atoi(m[1])
		file := p.plain(m[2])
		return oneCall("read", "read "+showName(file), map[string]any{"path": file, "limit": n})
	})
	s.add(shows, `(?:me )?(?:the contents? of )?(?:the )?(?:files? )?ANY`, readFiles)
	return s
}

// pronoun has words that name no agent.
var pronoun = map[string]bool{"me": true, "us": true, "you": true, "him": true, "her": true, "them": true, "it": true, "a": true, "an": true, "the": true,
	"my": true, "all": true, "everybody": true, "everyone": true, "to": true, "that": true, "this": true, "mail": true, "yourself": true}

func killAgent(p parser, m []string) []step {
	if pronoun[strings.ToLower(m[1])] {
		return nil
	}
	args := map[string]any{"agent": m[1]}
	act := "kill " + showName(m[1])
	if m[2] != "" {
		args["cascade"] = true
		act += " and its descendants"
	}
	if m[3] != "" {
		args["reason"] = p.plain(m[3])
	}
	return oneCall("kill", act, args)
}

func readMail(_ parser, m []string) []step {
	args := map[string]any{}
	if n, err := strconv.Atoi(m[1]); err == nil {
		args["number"] = n
	}
	out := oneCall("read_mail", "read mail", args)
	out[0].anyMail = len(args) == 0
	return out
}

func (p parser) wait(seconds, from string) []step {
	args := map[string]any{}
	if seconds != "" {
		args["timeout"], _ = strconv.Atoi(seconds)
	}
	if from != "" {
		if pronoun[strings.ToLower(from)] {
			return nil
		}
		args["agents"] = []string{from}
	}
	return []step{{kind: waiting, calls: []call{{"wait", args, "wait for mail"}}, anyMail: len(args) == 0}}
}

func replaceText(p parser, m []string) []step {
	old, with, file := p.plain(m[2]), p.plain(m[3]), p.plain(m[5])
	args := map[string]any{"path": file, "old_string": old, "new_string": with}
	if m[1] != "" || m[4] != "" || m[6] != "" {
		args["replace_all"] = true
	}
	// The tool demands that a file is read before it is edited.
	return []step{{kind: inTurn, calls: []call{
		{"read", map[string]any{"path": file}, "read " + showName(file)},
		{"edit", args, fmt.Sprintf("replace %s with %s in %s", showName(old), showName(with), showName(file))},
	}}}
}

func (p parser) write(file, content string) []step {
	file = p.plain(strings.TrimRight(file, ","))
	content, quoted := p.literal(content)
	if file == "" || !quoted && vague().MatchString(content) {
		return nil // "a poem about the sea" is not the text to write
	}
	return oneCall("write", fmt.Sprintf("write %d bytes to %s", len(content), showName(file)), map[string]any{"path": file, "content": content})
}

var everywhere = text.Regexp(`(?i)^(?:(?:the|all|every|this|my|files?|folders?|directory|project|here|code|source|everything|everywhere|\.)\s*)*$`)

func (p parser) search(what, where string) []step {
	pattern, quoted := p.literal(what)
	act := "search for " + showName(pattern)
	if n := len(pattern); !quoted && n > 2 && pattern[0] == '/' && pattern[n-1] == '/' {
		pattern = pattern[1 : n-1] // an expression
	} else {
		pattern = regexp.QuoteMeta(pattern)
	}
	if pattern == "" {
		return nil
	}
	args := map[string]any{"pattern": pattern}
	if where = p.plain(where); !everywhere().MatchString(where) {
		if strings.ContainsAny(where, "*?[{") {
			args["include"] = where
		} else {
			args["path"] = where
		}
	}
	return oneCall("grep", act, args)
}

func (p parser) find(what, where string) []step {
	pattern := p.plain(what)
	if pattern == "" {
		return nil
	}
	act := "look for files like " + showName(pattern)
	if !strings.ContainsAny(pattern, "*?[{.") {
		pattern = "*" + pattern + "*"
	}
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	args := map[string]any{"pattern": pattern}
	if where = p.plain(where); !everywhere().MatchString(where) {
		args["path"] = where
	}
	return oneCall("glob", act, args)
}

func listFiles(p parser, m []string) []step {
	args := map[string]any{}
	act := "list the files"
	where := p.plain(m[1])
	if strings.HasPrefix(where, "-") {
		return nil
	}
	if !everywhere().MatchString(where) {
		args["path"] = where
		act += " of " + showName(where)
	}
	return oneCall("list", act, args)
}

// mostCalls limits the calls of one answer.
const mostCalls = 16

// readFiles reads one file, or several.
func readFiles(p parser, m []string) []step {
	var calls []call
	for _, one := range joint().Split(m[1], -1) {
		file, quoted := p.literal(one)
		if file == "" || !quoted && (strings.ContainsAny(file, " \t\n`\"") || pronoun[strings.ToLower(file)]) {
			return nil
		}
		calls = append(calls, call{"read", map[string]any{"path": file}, "read " + showName(file)})
	}
	if len(calls) > mostCalls {
		return nil
	}
	return []step{{kind: together, calls: calls}}
}

var (
	// aside matches the words that may be around a quoted command.
	aside = text.Regexp(`(?i)^\s*(?:(?:in|with|the|a|shell|command|bash|now|again|once|here)\s*)*$`)
	// vague begins a description of a thing that does not name it.
	vague = text.Regexp(`(?i)^(?:the|an?|all|some|my|our|your|it|this|that|these|those)(?:\s|$)`)
)

// parseCommand accepts the quoted part, if there is one, else all of it.
func parseCommand(p parser, m []string) []step {
	if line, quoted := p.literal(m[1]); quoted {
		return runCommand(line, false)
	}
	if at := strings.IndexFunc(m[1], isMark); at >= 0 {
		around := strings.TrimFunc(m[1][at:], isMark)
		if aside().MatchString(m[1][:at] + " " + around) {
			return runCommand(p.plain(strings.TrimSuffix(m[1][at:], around)), false)
		}
		if at == 0 {
			return nil // something around it that was not understood
		}
	}
	if strings.Contains(m[1], "`") || vague().MatchString(m[1]) || strings.Contains(strings.ToLower(m[1]), " and ") {
		return nil // "the tests" is not a command, and the shell knows no "and"
	}
	return runCommand(p.restore(m[1]), true)
}

func runCommand(line string, bare bool) []step {
	line = strings.TrimSpace(line)
	if line == "" {
		return nil
	}
	out := oneCall("bash", "run "+showName(line), map[string]any{"command": line})
	out[0].shell = bare
	return out
}

// showName shows a word of the order in a report.
func showName(s string) string { return "`" + text.Line(strings.ReplaceAll(s, "`", "'"), 80) + "`" }
