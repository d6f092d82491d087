package recipe

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

// good is a small recipe; cases change lines of it. Its lines are counted from 1.
const good = `name: small
parameters:
  who: {default: world}
sections:
  one: {title: One}
  two: {title: Two}
schemas:
  names: {type: array, items: {type: string}}
workers:
  base:
    command: make base
    outputs: [work/base.bundle, artifacts/inputs.json, {path: artifacts/list.json, schema: names}]
  draft:
    each: sections
    prompt: "Write {{section.Title}} for {{param \"who\"}}."
    inputs: [work/base.bundle]
    worktree: work/base.bundle
    outputs: [{path: "drafts/{scope}/a.patch", patch: true}]
  join:
    uses: apply
    inputs: [artifacts/inputs.json, work/base.bundle, drafts/**]
    outputs: [artifacts/all.patch]
  fix:
    each: issue
    prompt: "{{issue.Message}}"
    inputs: [work/base.bundle, artifacts/all.patch]
    worktree: work/base.bundle
    outputs: [{path: "drafts/fixes/{scope}.patch", patch: true}]
  tell:
    command: tell
    effect: external
    key: "tell:{who}"
    inputs: [artifacts/all.patch]
states:
  CLONED_INPUTS: [base]
  DRAFTING: [draft]
  LINKING: [join]
  FIXING: [fix, join]
  PR_OPENED: [tell]
gates:
  links: {uses: links}
  own: {command: check, severity: warn, timeout: 10s}
limits: {parallel: 2}
`

// change replaces one occurrence, which must be there.
func change(t *testing.T, from, to string) string {
	t.Helper()
	if strings.Count(good, from) != 1 {
		t.Fatalf("%q stands %d times in the good recipe", from, strings.Count(good, from))
	}
	return strings.Replace(good, from, to, 1)
}

func TestTheGoodRecipeIsGood(t *testing.T) {
	testkit.Must(Parse([]byte(good)))(t)
}

func TestEveryMistakeIsToldWithItsLine(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		// Keys and kinds.
		{"limits: {", "limmits: {", `line 43: the recipe has no key "limmits": did you mean limits?`},
		{"name: small\n", "name: small\nname: other\n", `line 2: "name" appears twice in the recipe, first in line 1: keep one`},
		{"name: small\n", "", "line 1: the recipe has no name: add it"},
		{"name: small", "name: Small", `line 1: name is "Small": begin with a small letter`},
		{"name: small", "name: 7", "line 1: name is a number: put it in quotes"},
		{"name: small", "name: a" + strings.Repeat("b", 40), "line 1: name is"},
		{"name: small", "name: [small]", "line 1: name is a list: make it a text"},
		{"name: small", "name:", "line 1: name of the recipe is empty: give it a value"},
		{"name: small", `name: " "`, "line 1: name is empty"},
		{"name: small", `name: "a\0b"`, "line 1: the text contains NUL"},
		{"parallel: 2", "parallel: two", `line 43: parallel is "two": make it a whole number`},
		{"parallel: 2", "parallel: -1", "line 43: parallel is -1: make it a number from 1 to 1000"},
		{"parallel: 2", "parallel: 0", "line 43: parallel is 0: make it a number from 1 to 1000"},
		{"parallel: 2", "calls: -5", "line 43: calls is -5: make it a number from 0"},
		{"parallel: 2", "tokens: 1.5", `line 43: tokens is "1.5": make it a whole number`},
		{"parallel: 2", "cost_usd: -0.5", "line 43: cost_usd is -0.5: make it 0 or more"},
		{"parallel: 2", "cost_usd: .nan", `line 43: cost_usd is ".nan": make it a number`},
		{"parallel: 2", "runtime: 30", `line 43: runtime is "30": write a duration, such as 90s`},
		{"parallel: 2", "runtime: -3m", "line 43: runtime is -3m0s: make it 1ms or more"},
		{"limits: {parallel: 2}", "limits: [1]", "line 43: limits is a list: make it a mapping"},
		{"who: {default: world}", "scope: {default: world}", "line 3: a parameter cannot be called scope"},
		{"who: {default: world}", "Who: {default: world}", `line 3: "Who" is not a name for a parameter`},
		{"who: {default: world}", "who: {default: world, required: true}", "line 3: parameter who is required and has a default"},
		{"who: {default: world}", "who: {default: world, requird: true}", `line 3: parameter who has no key "requird": did you mean required?`},
		{"who: {default: world}", "who: {required: yes please}", "line 3: required of parameter who is a text: make it true or false"},
		{"one: {title: One}", "one: {title: 1}", "line 5: title of section one is a number: put it in quotes"},
		{"one: {title: One}", "One: {title: One}", `line 5: "One" is not a name for a section`},
		{"  base:\n", "  [base]:\n", "line 10: a key of workers is a list: make it a word"},
		// Workers by themselves.
		{"command: make base", "comand: make base", `line 11: worker base has no key "comand": did you mean command?`},
		{"    command: make base\n", "", "line 10: worker base does nothing: give it one of uses, prompt, command"},
		{"command: make base", "command: make base\n    uses: clone", "line 10: worker base has uses and command: keep one of them"},
		// What a built-in declares.
		{"uses: apply", "uses: apply\n    with: {fils: drafts}", `line 21: worker join gives apply a parameter "fils", which it has not: did you mean files?`},
		{"uses: apply", "uses: apply\n    with: {files: artifacts/new}", "line 21: worker join takes the files below \"artifacts/new\", which are none of its inputs: add artifacts/new/** to inputs"},
		{"inputs: [artifacts/inputs.json, work/base.bundle, drafts/**]", "inputs: [drafts/**]", "line 19: worker join has no input artifacts/inputs.json, which apply needs: add it; line 19: worker join has no input work/base.bundle"},
		{"inputs: [artifacts/inputs.json, work/base.bundle, drafts/**]", "inputs: [artifacts/inputs.json, work/base.bundle]", "line 19: worker join has no input *.patch, which apply needs: add it"},
		{"outputs: [artifacts/all.patch]", "outputs: [artifacts/all.patch, artifacts/body.md]", `line 22: output "artifacts/body.md" of worker join is nothing that apply knows: it has *.patch`},
		{"outputs: [artifacts/all.patch]", "outputs: [artifacts/all.diff]", "line 19: worker join has no output *.patch, which apply needs: add it"},
		{"uses: apply", "uses: pull-request", "line 19: worker join gives pull-request no branch: add it to with"},
		{"uses: apply", "uses: pull-request", "line 19: worker join acts outside the run: add `effect: external` and a key"},
		{"uses: apply", "uses: pull-request", "line 19: worker join has no output dir/**, which pull-request needs: add it"},
		{"uses: apply", "uses: pull-request", "line 19: worker join has no title: give it one in with, or an input title.txt"},
		{"uses: apply", "uses: pull-request", "line 19: worker join does not know the repository: add a worker that uses clone, or repo to its with"},
		{"uses: apply", "command: x", "line 41: gate links looks at what apply wrote, and no worker uses it: add one, or give the gate a command"},
		{"{uses: links}", "{uses: links, with: {allow: x}}", `line 41: gate links gives links a parameter "allow", which it has not: there is only patch`},
		{"{uses: links}", "{uses: limits, with: {files: many}}", `line 41: files of gate links is "many": make it a number, 0 for no limit`},
		{"{uses: links}", "{uses: links, inputs: [artifacts/all.patch]}", "line 41: gate links has inputs, and a built-in gate knows what it looks at: leave them out"},
		{"{command: check,", "{command: check, inputs: [artifacts/none.txt],", `line 42: input "artifacts/none.txt" of gate own is made by no worker before VALIDATING`},
		{"{command: check,", "{command: check, inputs: [/etc/passwd],", `line 42: input of gate own "/etc/passwd" is absolute`},
		{"artifacts/inputs.json, {path", "{path", "line 17: worker draft has a worktree without a known commit"},
		{"uses: apply", "uses: aply", `line 20: uses of worker join is "aply": did you mean apply?`},
		{"uses: apply", "uses: pull-request", "line 19: worker join opens a pull request and is in LINKING: put it into PR_OPENED"},
		{"uses: apply", "uses: apply\n    tools: [read]", "line 21: worker join has tools, which only agents have"},
		{"uses: apply", "uses: apply\n    model: a/b", "line 21: worker join has model, which only agents have"},
		{"uses: apply", "uses: apply\n    effort: high", "line 21: worker join has effort, which only agents have"},
		{"uses: apply", "uses: apply\n    lookup: x", "line 21: worker join has lookup, which a built-in does by itself"},
		{"uses: apply", "uses: apply\n    with: {a: \"{whom}\"}", "line 21: a in with of worker join names {whom}, which is not a parameter: did you mean who?"},
		{"uses: apply", "uses: apply\n    with: {a-b: 1}", `line 21: "a-b" in with of worker join is not a name of a variable`},
		{"uses: apply", "uses: apply\n    with: {a: [1]}", "line 21: a in with of worker join is a list: make it a text"},
		{"each: issue", "each: issue\n    with: {a: b}", "line 25: worker fix has with, which a prompt does not see"},
		{"each: issue", "each: issue\n    tools: [read, rad]", `line 25: worker fix names no tool "rad": did you mean read?`},
		{"each: issue", "each: issue\n    tools: [read, job]", `line 25: worker fix cannot use job, because commands of a run end with their call`},
		{"each: issue", "each: issue\n    tools: [ask]", `line 25: worker fix cannot use ask, because nobody watches a run`},
		{"each: issue", "each: issue\n    tools: [read, read]", `line 25: "read" appears twice in tools of worker fix`},
		{"each: issue", "each: issue\n    model: claude", `line 25: model of worker fix is "claude": write vendor/name`},
		{"each: issue", "each: issue\n    timeout: soon", `line 25: timeout of worker fix is "soon": write a duration`},
		{"each: issue", "each: issue\n    attempts: 0", "line 25: attempts of worker fix is 0: make it a number from 1 to 100"},
		{"each: issue", "each: issue\n    queue: Big One", `line 25: queue of worker fix is "Big One": begin with`},
		{"each: issue", "each: issue\n    patches: [artifacts/other.patch]", `line 25: patch "artifacts/other.patch" of worker fix is none of its inputs`},
		{"outputs: [artifacts/all.patch]", "outputs: artifacts/all.patch", "line 22: outputs of worker join is a text: make it a list"},
		{"outputs: [artifacts/all.patch]", "outputs: []", "line 22: outputs of worker join is empty: name a file"},
		{"    outputs: [artifacts/all.patch]\n", "", "line 19: worker join makes nothing: add outputs"},
		{"outputs: [artifacts/all.patch]", "outputs: [{schema: json}]", "line 22: an output of worker join has no path"},
		{"outputs: [artifacts/all.patch]", "outputs: [{path: artifacts/all.patch, answer: true}]", `line 22: output "artifacts/all.patch" of worker join is an answer, which a built-in`},
		{"schema: names}", "schema: name}", `line 12: schema of an output of worker base is "name": did you mean names?`},
		{"outputs: [work/base.bundle,", "outputs: [{path: work/base.bundle, patch: true},", `line 12: output "work/base.bundle" of worker base is a patch, but it has no worktree`},
		{"outputs: [work/base.bundle,", "outputs: [{path: work/base.bundle, answer: true}, {path: reports/x, answer: true},", "line 12: worker base gives the same patch or answer to several"},
		// Paths.
		{"outputs: [artifacts/all.patch]", "outputs: [/etc/passwd]", `line 22: output of worker join "/etc/passwd" is absolute`},
		{"outputs: [artifacts/all.patch]", "outputs: [artifacts/../x]", `line 22: output of worker join "artifacts/../x" has the part ..`},
		{"outputs: [artifacts/all.patch]", "outputs: [artifacts//x]", `line 22: output of worker join "artifacts//x" has an empty part`},
		{"outputs: [artifacts/all.patch]", "outputs: [logs/x]", `line 22: output of worker join "logs/x" is outside the run: begin with one of work, artifacts, drafts, reports`},
		{"outputs: [artifacts/all.patch]", "outputs: [artifacts]", `line 22: output of worker join "artifacts" is a folder`},
		{"outputs: [artifacts/all.patch]", `outputs: ['artifacts\x']`, `line 22: output of worker join "artifacts\\x" holds a character`},
		{"outputs: [artifacts/all.patch]", "outputs: [artifacts/*.md]", `line 22: output of worker join "artifacts/*.md" holds a character`},
		{"outputs: [artifacts/all.patch]", "outputs: [artifacts/.GIT/config]", `line 22: output of worker join "artifacts/.GIT/config" is in .git`},
		{"outputs: [artifacts/all.patch]", `outputs: ["artifacts/{x"]`, `line 22: output of worker join "artifacts/{x" has a brace`},
		{"outputs: [artifacts/all.patch]", `outputs: ["artifacts/{skope}"]`, `line 22: output of worker join names {skope}, which is not a parameter: did you mean scope?`},
		{"outputs: [artifacts/all.patch]", `outputs: ["{who}"]`, `line 22: output "{who}" of worker join can be anywhere`},
		{"outputs: [artifacts/all.patch]", "outputs: [work/tree/README.md]", `line 22: output "work/tree/README.md" of worker join is in work/tree`},
		{"[{path: \"drafts/{scope}/a.patch\", patch: true}]", "[{path: \"drafts/{scope}/**\", patch: true}]", "line 18: output \"drafts/{scope}/**\" of worker draft is one file, as a patch or an answer is"},
		{"command: make base", "command: make base\n    expect: any", "line 12: worker base says what to expect of a patch, and makes none"},
		{`path: "drafts/{scope}/a.patch"`, "path: drafts/a.patch", `line 18: output "drafts/a.patch" of worker draft is the same for all its items: put {scope} into it`},
		{"    inputs: [work/base.bundle]\n", "", `line 16: worktree "work/base.bundle" of worker draft is none of its inputs`},
		// Each.
		{"each: sections", "each: section", `line 14: each of worker draft is "section": write sections, issue, a list`},
		{"each: sections", "each: 5..1", `line 14: each of worker draft is "5..1", which counts nothing`},
		{"each: sections", "each: 1..100001", `line 14: each of worker draft is "1..100001": at most 100000`},
		{"each: sections", "each: -5..7", `line 14: each of worker draft is "-5..7": write`},
		{"each: sections", "each: [a/b]", `line 14: each of worker draft names "a/b": use 1 to 80 letters`},
		{"each: sections", "each: ['..']", `line 14: each of worker draft names "..": use 1 to 80 letters`},
		{"each: sections", "each: [a, a]", `line 14: "a" appears twice in each of worker draft`},
		{"each: sections", "each: []", "line 14: each of worker draft is an empty list"},
		{"each: sections", "each: {form: a}", `line 14: each of worker draft has no key "form": did you mean from?`},
		{"each: sections", "each: {from: artifacts/**}", `line 14: from "artifacts/**" of worker draft must be one file`},
		// Effects.
		{"    key: \"tell:{who}\"\n", "", "line 31: worker tell acts outside the run and has no key"},
		{"    effect: external\n", "", "line 31: worker tell has a key and does not act outside the run"},
		{"effect: external", "effect: outside", `line 31: effect of worker tell is "outside": there are local, external`},
		{"effect: external", "effect: external\n    each: [a, b]", "line 33: key of worker tell is the same for all its items"},
		{"tell:{who}", "tell:{bas}", "line 32: key of worker tell names {bas}, which is not a parameter: did you mean base?"},
		// Prompts.
		{"{{issue.Message}}", "{{issue.Mesage}}", "line 25: prompt of worker fix uses issue.Mesage, which is not a part: did you mean Message?"},
		{"{{issue.Message}}", "{{section.Title}}", "line 25: prompt of worker fix uses section, and the worker is not for sections"},
		{"{{issue.Message}}", "{{issue.Message", "line 25: prompt of worker fix: unclosed action"},
		{"{{issue.Message}}", "{{isue}}", "line 25: prompt of worker fix calls isue, which is not a function: did you mean issue?"},
		{"{{issue.Message}}", "{{.Message}}", "line 25: prompt of worker fix: {{.Message}} is not a placeholder: there are {{scope}}"},
		{"{{issue.Message}}", "{{.}}", "line 25: prompt of worker fix uses . where it has no meaning"},
		{"{{issue.Message}}", "{{$}}", "line 25: prompt of worker fix: {{$}} is not a placeholder"},
		{"{{issue.Message}}", "{{range scope}}{{end}}", "line 25: prompt of worker fix ranges over something else"},
		{"{{issue.Message}}", "{{define \\\"a\\\"}}{{template \\\"a\\\"}}{{end}}", "line 25: prompt of worker fix: {{end}} ends no block"},
		{"{{issue.Message}}", "{{template \\\"a\\\"}}", "line 25: prompt of worker fix calls template, which is not a function"},
		{"{{issue.Message}}", "{{printf \\\"%1000000d\\\" 1}}", `line 25: prompt of worker fix: {{printf "%1000000d" 1}} is not a placeholder`},
		{"{{issue.Message}}", "{{scope \\\"a\\\"}}", "line 25: prompt of worker fix gives scope an argument"},
		{"{{issue.Message}}", "{{\\\"who\\\" | param}}", "line 25: prompt of worker fix: {{\"who\" | param}} is not a placeholder"},
		{"{{issue.Message}}", "{{param}}", "line 25: prompt of worker fix gives param something else than one name"},
		{"{{issue.Message}}", "{{input \\\"artifacts/x\\\"}}", `line 25: prompt of worker fix uses the input "artifacts/x", which is none`},
		{`param \"who\"`, `param \"whom\"`, `line 15: prompt of worker draft names the parameter "whom", which is none: did you mean who?`},
		{`"{{issue.Message}}"`, "|\n      one\n      {{scope\n      }}{{nothing}}", "line 28: prompt of worker fix calls nothing, which is not a function"},
		// Gates.
		{"{uses: links}", "{uses: link}", `line 41: uses of gate links is "link": did you mean links?`},
		{"{uses: links}", "{timeout: 1s}", "line 41: gate links does nothing: give it one of uses, command"},
		{"{uses: links}", "{uses: links, severity: warn}", "line 41: gate links has a severity"},
		{"severity: warn", "severity: warning", `line 42: severity of gate own is "warning"`},
		{"timeout: 10s", "timeout: 10", `line 42: timeout of gate own is "10": write a duration`},
		// Schemas.
		{"items: {type: string}", "items: {type: text}", `line 8: type of schema names/items is "text"`},
		{"items: {type: string}", "items: {type: string, minItems: 2}", "line 8: minItems of schema names/items has no meaning for type string"},
		{"items: {type: string}", `items: {type: string, pattern: "("}`, "line 8: pattern of schema names/items: error parsing regexp"},
		{"  names: {", "  json: {", "line 8: there is a built-in schema json"},
		{"items: {type: string}", "items: {type: object, required: [a], additionalProperties: false}", `line 8: schema names/items requires "a"`},
		// States.
		{"DRAFTING: [draft]", "DRAFTNG: [draft]", `line 36: there is no state "DRAFTNG": did you mean DRAFTING?`},
		{"DRAFTING: [draft]", "VALIDATING: [draft]", "line 36: VALIDATING has no workers: what is checked goes under gates"},
		{"DRAFTING: [draft]", "DONE: [draft]", "line 36: DONE has no workers"},
		{"DRAFTING: [draft]", "DRAFTING: [drat]", `line 36: DRAFTING names a worker "drat" that is not defined: did you mean draft?`},
		{"DRAFTING: [draft]", "DRAFTING: [draft, draft]", `line 36: "draft" appears twice in DRAFTING`},
		{"  DRAFTING: [draft]\n", "", "line 13: worker draft is in no state"},
		{"DRAFTING: [draft]", "DRAFTING: [draft, join]", "line 37: worker join is in DRAFTING and in LINKING: workers run again only in FIXING"},
		{"PR_OPENED: [tell]", "PR_OPENED: [tell, fix]", "line 39: worker fix is in FIXING and then in PR_OPENED"},
		{"each: sections", "each: issue", "section, and the worker is not for sections"},
		{"PR_OPENED: [tell]", "PR_OPENED: [tell, fix, join, draft, base]", "line 39: worker base is in CLONED_INPUTS and in PR_OPENED"},
		// Who makes what.
		{"bundle, drafts/**]", "bundle, drafts/none/**]", `line 21: input "drafts/none/**" of worker join is made by no worker`},
		{"bundle, drafts/**]", "bundle, drafts/three/a.patch]", `line 21: input "drafts/three/a.patch" of worker join is made by no worker`},
		{"bundle, drafts/**]", "bundle, artifacts/all.patch]", `line 21: input "artifacts/all.patch" of worker join is missing: only the worker itself makes it`},
		{"bundle, drafts/**]", "bundle, drafts/fixes/x.patch]", `line 21: input "drafts/fixes/x.patch" of worker join is missing: worker fix makes it later, in FIXING`},
		{"key: \"tell:{who}\"\n    inputs: [artifacts/all.patch]", "key: \"tell:{who}\"\n    inputs: [drafts/fixes/a.patch]", "worker fix makes it only in FIXING, which may never be entered"},
		{"each: sections", "each: {from: artifacts/none.json}", "line 15: prompt of worker draft uses section"},
		{"outputs: [artifacts/all.patch]", "outputs: [artifacts/list.json, artifacts/all.patch]", `line 22: output "artifacts/list.json" of worker join can be the same file as "artifacts/list.json" of worker base, line 12`},
		{"outputs: [artifacts/all.patch]", "outputs: [artifacts/**]", `line 22: output "artifacts/**" of worker join can be the same file as "artifacts/list.json"`},
		{"outputs: [artifacts/all.patch]", "outputs: [artifacts/all.patch, drafts/one/a.patch]", `line 22: output "drafts/one/a.patch" of worker join can be the same file as "drafts/{scope}/a.patch" of worker draft, line 18`},
		{"outputs: [artifacts/all.patch]", "outputs: [artifacts/all.patch, artifacts/all.patch]", `line 22: outputs "artifacts/all.patch" and "artifacts/all.patch" of worker join can be the same file`},
		{"  two: {title: Two}\n", "  fixes: {title: Two}\n", `line 28: output "drafts/fixes/{scope}.patch" of worker fix can be the same file as "drafts/{scope}/a.patch"`},
		{"FIXING: [fix, join]", "FIXING: [join, fix]", "line 19: in FIXING workers wait for each other: join → fix → join"},
	} {
		t.Run(c.to, func(t *testing.T) {
			_, err := Parse([]byte(change(t, c.from, c.to)))
			if !fault.Is(err, fault.InvalidRecipe) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestFilesThatAreNoRecipes(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":              {"", "line 1: the file is empty"},
		"only a comment":     {"# nothing\n", "line 1: the file is empty"},
		"only a separator":   {"---\n", "line 1: the file is empty"},
		"a text":             {"hello", "line 1: the recipe is a text: make it a mapping"},
		"a list":             {"- a\n", "line 1: the recipe is a list: make it a mapping"},
		"null":               {"null", "line 1: the recipe is empty"},
		"NUL":                {"name: a\nb: \x00", "line 2: the text contains NUL"},
		"not UTF-8":          {"name: a\nb: \xff", "line 2: the text is not UTF-8"},
		"UTF-16":             {"\xff\xfen\x00a\x00", "line 1: the text is not UTF-8"},
		"too long":           {"# " + strings.Repeat("x", MaxSize), "line 1: the file has more than 1048576 bytes"},
		"two documents":      {"name: a\n---\nname: b\n", "line 2: a second document begins"},
		"a broken second":    {"name: a\n---\n[", "not YAML"},
		"not YAML":           {"name: a\nworkers: [\n", "not YAML"},
		"a tab":              {"name: a\nworkers:\n\ta: b\n", "line 3: not YAML"},
		"an anchor":          {"name: &a b\n", "line 1: &a is an anchor"},
		"an alias":           {"name: &a b\nbrief: *a\n", "line 2: *a is an alias"},
		"a tag":              {"name: !!str a\n", `line 1: "!!str" is a tag`},
		"a tag of one's own": {"name: !run a\n", `line 1: "!run" is a tag`},
		"a merge":            {"name: a\n<<: {workers: {}}\n", `line 2: the recipe has no key "<<"`},
		"a bomb":             {bomb(), "is an anchor"},
		"deep":               {strings.Repeat("[", 20000), "not YAML"},
		"deep schema":        {"name: a\nschemas:\n  s: " + strings.Repeat("{items: ", 40) + "{}" + strings.Repeat("}", 40), "line 3: schema s/items"},
		"too many scopes":    {"name: a\nworkers:\n" + manyScopes(), "scopes in all workers: at most 200000"},
		"too many workers":   {"name: a\nworkers:\n" + manyWorkers(maxWorkers+1), "line 2: workers has 101 entries"},
		"nothing in it":      {"name: a\nworkers: {}\nstates: {}\n", "line 2: workers is empty: add a worker"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.text))
			if !fault.Is(err, fault.InvalidRecipe) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %.300v, want %s", err, c.want)
			}
		})
	}
}

func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x]\n")
	for i := range 60 {
		fmt.Fprintf(&b, "a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	return b.String()
}

func manyScopes() string {
	var b strings.Builder
	for i := range 3 {
		fmt.Fprintf(&b, "  w%d: {command: x, each: 1..100000, outputs: ['drafts/w%d/{scope}']}\n", i, i)
	}
	return b.String()
}

func manyWorkers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  w%d: {command: x, outputs: [artifacts/w%d]}\n", i, i)
	}
	return b.String()
}

func TestAllMistakesAreToldAtOnceByLine(t *testing.T) {
	text := strings.NewReplacer("uses: apply", "uses: aply", "name: small", "name: Small", "{{issue.Message}}", "{{isue}}").Replace(good)
	_, err := Parse([]byte(text))
	var all Mistakes
	if !errors.As(err, &all) || len(all) != 3 || all[0].Line != 1 || all[1].Line != 20 || all[2].Line != 25 {
		t.Fatalf("mistakes %+v", err)
	}
}

func TestManyMistakesAreCounted(t *testing.T) {
	text := "name: a\n"
	for i := range 200 {
		text += fmt.Sprintf("k%d: 1\n", i)
	}
	_, err := Parse([]byte(text))
	if err == nil || !strings.HasSuffix(err.Error(), "; and 152 more") {
		t.Errorf("%v", err)
	}
}

func TestEscapeCodesOfAFileDoNotReachTheScreen(t *testing.T) {
	for _, text := range []string{
		"name: \"\\e[31m\"\n", "\"\\e[31m\": 1\n", "name: \"\u202e\"\n", "name: a\nworkers: {w: {uses: \"\\e]0;x\"}}\n",
		"name: a\nworkers: {w: {command: x, inputs: [\"artifacts/\\e[2J\"]}}\n", "name: a\nworkers: {w: {prompt: \"{{\\e[2J}}\"}}\n",
		"name: a\nworkers: {w: {prompt: \"{{.\\e[2J}}\"}}\n", "name: a\nschemas: {s: {properties: {\"\\e[2J\": {type: x}}}}\n",
		"name: a\nschemas: {s: {pattern: \"\\e(\"}}\n",
	} {
		_, err := Parse([]byte(text))
		if err == nil || strings.ContainsAny(err.Error(), "\x1b\u202e") {
			t.Errorf("%q: %q", text, err)
		}
	}
}
