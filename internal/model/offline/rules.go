package offline

import (
	"strconv"
	"strings"

	"ramet/internal/base/text"
)

// rules are tried in order; the narrower ones stand first.
func rules() []rule {
	return []rule{
		// What the report does anyway.
		{words(`(?:tell|show|give|report)(?: to)?(?: (?:me|us))? (?:what|how|whether|if|the (?:results?|outputs?|answers?)|about it)(?: .*)?`), nothingMore},
		{words(`(?:say|answer|reply|respond)s?(?: with)?:? ANY`), func(m []string) []step { return []step{{kind: saying, text: text.Safe(plain(m[1]))}} }},

		{words(`(?:exit|quit|terminate yourself|end yourself)s?`), func([]string) []step { return one("exit", "end myself", map[string]any{}) }},
		{words(`(?:exit|quit)s?(?: with| saying| and say):? (?:THEresult )?ANY`), func(m []string) []step {
			return one("exit", "end myself", map[string]any{"result": plain(m[1])})
		}},

		{words(`(?:who|which agents?|what agents?)(?: else)?(?: is| are)?(?: (?:there|here|running|alive|around))*`), listAgents},
		{words(`(?:list|show)s?(?: me)? THE(?:running |living )?(?:agents|children|processes|child agents)`), listAgents},
		{words(`ps`), listAgents},
		{words(`(?:kill|terminate)s? AGENT((?:,)? (?:and|with) (?:all )?(?:its|his|her|their|the) (?:children|subtree|descendants|whole subtree)| --cascade)?(?: because(?: of)? ANY)?`), killAgent},

		{words(`(?:check|look (?:at|into|for)|show|list|count)s?(?: me)?(?: for| in)? THE(?:mail|mailbox|inbox|letters?)`), checkMail},
		{words(`(?:do i have|have i got|is there) THE(?:mail|letters?)`), checkMail},
		{words(`THE(?:mail|letters?)`), checkMail},
		{words(`(?:read|open)s? THE(?:mail|letters?|message|messages|inbox)(?: (?:number )?#?(\d{1,9}))?`), readMail},
		{words(`waits?`), wait(0, 0)},
		{words(`waits?(?: (?:for )?(?:up to |at most )?(\d{1,5})\s*(?:s|sec|secs|seconds?))?(?: (?:for|until)(?: there is)? THE(?:mail|letters?|answers?|reply|replies|message|messages|results?)(?: (?:comes|arrives|to come|to arrive))?)?(?: (?:from|of) AGENT)?`), wait(1, 2)},
		{words(`waits? for (?:(?:both|all)(?: of them)?|them|it|(?:THE(?:two |three )?(?:child|children)))`), wait(0, 0)},
		{words(`waits? for AGENT`), wait(0, 1)},

		{words(`(?:send|mail|message)s? AGENT:? LIT`), sendTo(1, 2)},
		{words(`(?:send|mail)s? LIT to AGENT`), sendTo(2, 1)},
		{words(`(?:send|write)s? THE(?:message|letter|mail) to AGENT(?:,|:)?(?: saying| that says| with| that)?:? ANY`), sendTo(1, 2)},
		{words(`(?:send|mail)s? AGENT THE(?:message|letter|mail)(?:,|:)?(?: saying| that says| with| that)?:? ANY`), sendTo(1, 2)},
		{words(`sends? ANY to AGENT`), sendTo(2, 1)},
		{words(`(?:send|mail|tell|message)s? AGENT(?: that)?[:,]? ANY`), sendTo(1, 2)},

		{words(`(?:replace|change|substitute)s?( all| every)?(?: the)?(?: (?:words?|texts?|occurrences? of))? ANY (?:with|by|to|for) ANY( everywhere)? in FILEPATH( everywhere)?`), replace},
		{words(`in FILEPATH,? (?:replace|change)s?( all| every)? ANY (?:with|by|to) ANY( everywhere)?`), func(m []string) []step {
			return replace([]string{"", m[2], m[3], m[4], m[5], strings.TrimRight(m[1], ","), ""})
		}},
		{words(`writes? (?:to|into) FILEPATH:\s*ANY`), func(m []string) []step { return write(m[1], m[2]) }},
		{words(`(?:write|save|put|store)s? ANY (?:to|into|in) FILEPATH`), func(m []string) []step { return write(m[2], m[1]) }},
		{words(`(?:create|make|write)s? FILEPATH,? (?:containing|with|saying|that says|that contains|which says)(?: the)?(?: (?:text|contents?|words?))?:? ANY`), func(m []string) []step { return write(m[1], m[2]) }},
		{words(`(?:create|make|touch)(?:e?s)? FILEPATH`), createEmpty},

		{words(`(?:search|grep|scan)(?:es|s)? (?:in )?(?:the )?PATH for ANY`), func(m []string) []step { return search(m[2], m[1]) }},
		{words(`(?:(?:search|grep|scan)(?:es|s)?(?: for)?|looks? for)(?: the)?(?: (?:words?|text|pattern))? ANY(?: in(?: THE(?:file|files|folder|directory))? PATH)?`), func(m []string) []step { return search(m[1], m[2]) }},
		{words(`finds? ANY in PATH`), findIn},
		{words(`finds? THE(?:files? )?(?:(?:named|called|matching|like) )?PATH(?: files?)?`), func(m []string) []step { return find(m[1], "") }},

		{words(`(?:(?:list|show)s?(?: me)?|what(?: is| are)?) THE(?:files?(?: and folders)?|folder|directory|contents?|there)(?: (?:are )?(?:there|here))?(?: (?:in|of|under) (?:THE(?:folder|directory) )?PATH)?`), list},
		{words(`(?:list|show)s?(?: me)? THE(?:files|contents?) (?:in|of) THE(?:current |working )?(?:folder|directory|project)`), list},
		{words(`(?:lists?|ls)(?: (?:files in )?PATH)?`), list},

		{words("`([^`]+)`"), func(m []string) []step { return run(m[1], false) }},
		{words(`\$ ANY`), func(m []string) []step { return run(m[1], true) }},
		{words(`(?:run|execute|exec)s?(?: (?:the )?(?:shell )?command)?:? ANY`), command},

		{words(`(?:read|show|open|cat|print|display|view)s?(?: me)? the first (\d{1,6}) lines of FILEPATH`), func(m []string) []step {
			n, _ := strconv.Atoi(m[1])
			p := plain(m[2])
			return one("read", "read "+name(p), map[string]any{"path": p, "limit": n})
		}},
		{words(`(?:read|show|open|cat|print|display|view|look at)s?(?: me)?(?: the contents? of)? (?:the )?(?:files? )?ANY`), read},
	}
}
