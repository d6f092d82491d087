package offline

import (
	"strconv"
	"strings"
)

func nothingMore([]string) []step { return []step{} }

func listAgents([]string) []step {
	return one("ps", "list the agents", map[string]any{})
}

func killAgent(m []string) []step {
	if pronoun[strings.ToLower(m[1])] {
		return nil
	}
	args := map[string]any{"agent": m[1]}
	act := "kill " + name(m[1])
	if m[2] != "" {
		args["cascade"] = true
		act += " and its descendants"
	}
	if m[3] != "" {
		args["reason"] = plain(m[3])
	}
	return one("kill", act, args)
}

func checkMail([]string) []step {
	return one("check_mail", "look for mail", map[string]any{})
}

func readMail(m []string) []step {
	args := map[string]any{}
	if n, err := strconv.Atoi(m[1]); err == nil {
		args["number"] = n
	}
	out := one("read_mail", "read a letter", args)
	out[0].anyMail = len(args) == 0
	return out
}

// wait makes a rule of the groups that hold the seconds and the sender.
func wait(seconds, from int) func([]string) []step {
	return func(m []string) []step {
		args := map[string]any{}
		if seconds > 0 && m[seconds] != "" {
			args["timeout"], _ = strconv.Atoi(m[seconds])
		}
		if from > 0 && m[from] != "" {
			if pronoun[strings.ToLower(m[from])] {
				return nil
			}
			args["agents"] = []string{m[from]}
		}
		return []step{{kind: waiting, calls: []call{{"wait", args, "wait for mail"}}, anyMail: len(args) == 0}}
	}
}

// pronoun are words that name no agent.
var pronoun = map[string]bool{"me": true, "us": true, "you": true, "him": true, "her": true, "them": true, "it": true, "a": true, "an": true, "the": true,
	"my": true, "all": true, "everybody": true, "everyone": true, "to": true, "that": true, "this": true, "mail": true, "yourself": true}

func sendTo(to, body int) func([]string) []step {
	return func(m []string) []step {
		if pronoun[strings.ToLower(m[to])] {
			return nil
		}
		return one("send", "send a letter to "+name(m[to]), map[string]any{"to": m[to], "text": plain(m[body])})
	}
}
