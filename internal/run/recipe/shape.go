package recipe

import (
	"sync"

	"ramet/internal/base/shape"
	"ramet/internal/model/llm"
	"ramet/internal/run"
)

// Shape is the form of a recipe for editors, once YAML is read as JSON. It checks less than
// Parse, which also looks at what the parts have to do with each other, and refuses nothing
// that Parse takes.
var Shape = sync.OnceValue(func() *shape.Shape {
	text, count, yes := shape.Text(1), shape.Integer(0), shape.Bool()
	texts := shape.List(text)
	scalar := shape.Either(shape.Text(0), shape.Number(-maxFloat, maxFloat), yes, shape.Null())
	duration := shape.Text(1).With("A duration such as 90s, 5m or 1h30m.")
	with := shape.Map(scalar).With("Values for a built-in, or variables of a command; {name} is a parameter, {scope} the item's scope.")
	path := text.With("A path below work, artifacts, drafts or reports; {name} is a parameter, {scope} the item's scope.")
	worker := shape.Object(
		shape.May("uses", shape.Enum(builtIns()...).With("A built-in. Give one of uses, prompt and command.")),
		shape.May("prompt", text.With("The task of an agent, with the placeholders scope, param, input, failure, section and issue.")),
		shape.May("command", text.With("For sh -c.")),
		shape.May("with", with),
		shape.May("each", shape.Either(text, shape.List(scalar), shape.Object(shape.Must("from", path))).
			With("What it has items for: sections, issue, a list of names, a range such as 1..100, or a file with a JSON list. Left out: one item.")),
		shape.May("inputs", shape.List(path)),
		shape.May("outputs", shape.List(shape.Either(path, shape.Object(
			shape.Must("path", path),
			shape.May("schema", text.With("The form that it must have: json, markdown, text, a form that is built in, or one of schemas.")),
			shape.May("patch", yes.With("What it changed in its worktree.")),
			shape.May("answer", yes.With("Its last answer, or what its command printed.")))))),
		shape.May("tools", shape.List(shape.Enum(tools()...))),
		shape.May("agent", text.With("A definition of agents, else of .agents/agents or .claude/agents: its instructions and its tools.")),
		shape.May("driver", text.With("The program that drives its agents, as `ramet drivers` lists them; left out: ramet itself.")),
		shape.May("model", text.With("vendor/name, of a driver the program's own word; left out: that of its agent, else the configured one.")),
		shape.May("effort", shape.Enum(llm.Efforts()...).With("How hard the model thinks; left out: as configured.")),
		shape.May("worktree", path.With("One of the inputs, a git bundle: it works in a worktree that begins there.")),
		shape.May("patches", shape.List(path).With("Some of the inputs, applied to the worktree first.")),
		shape.May("expect", shape.Enum("changes", "any").With("Of a patch: changes, or any, so that nothing may be changed.")),
		shape.May("effect", shape.Enum("local", "external")),
		shape.May("key", text.With("Of an external effect: the same whenever the effect is.")),
		shape.May("lookup", text.With("A command that says whether the effect happened: exit 0 yes, 1 no.")),
		shape.May("timeout", duration),
		shape.May("attempts", count),
		shape.May("queue", text),
	)
	gate := shape.Object(
		shape.May("uses", shape.Enum(gates()...).With("A built-in. Give one of uses and command.")),
		shape.May("command", text.With("For sh -c; it only looks.")),
		shape.May("with", with),
		shape.May("inputs", shape.List(path).With("Files of the run that the command finds below $RAMET_INPUTS.")),
		shape.May("severity", shape.Enum(severities...).With("Of what a command finds.")),
		shape.May("timeout", duration),
	)
	var states []shape.Field
	for _, s := range working {
		states = append(states, shape.May(string(s), texts))
	}
	return shape.Object(
		shape.Must("name", shape.Match(`[a-z][a-z0-9-]{0,39}`)),
		shape.May("description", text),
		shape.May("brief", text.With("What every agent of the run knows.")),
		shape.May("parameters", shape.Map(shape.Either(shape.Null(), shape.Object(
			shape.May("default", scalar), shape.May("required", yes), shape.May("help", text)))).With("What --set gives values to.")),
		shape.May("sections", shape.Map(shape.Object(
			shape.May("title", text), shape.May("brief", text))).With("Parts of the product that are drafted by themselves.")),
		shape.May("schemas", shape.Map(shape.Open()).With("Forms of outputs: type, properties, required, additionalProperties, items, enum, minItems, minLength, pattern.")),
		shape.May("agents", shape.Map(shape.Object(
			shape.May("from", text.With("Where it was defined; left out: here.")),
			shape.Must("prompt", text.With("Its instructions.")),
			shape.May("tools", shape.List(text).With("All that its workers may use, such as read or bash(git *); left out: what they name.")),
			shape.May("driver", text), shape.May("model", text), shape.May("effort", shape.Enum(llm.Efforts()...)),
			shape.May("tokens", shape.Integer(1)), shape.May("cost_usd", shape.Number(0, maxFloat)))).With("Agents that workers can be.")),
		shape.Must("workers", shape.Map(worker)),
		shape.Must("states", shape.Object(states...).With("The workers of each state.")),
		shape.May("gates", shape.Map(gate).With("The checks of "+string(run.Validating)+".")),
		shape.May("limits", shape.Object(
			shape.May("parallel", shape.Integer(1)), shape.May("attempts", shape.Integer(1)), shape.May("fix_attempts", shape.Integer(1)),
			shape.May("fix_rounds", shape.Integer(1)),
			shape.May("runtime", duration), shape.May("calls", count), shape.May("tokens", count),
			shape.May("cost_usd", shape.Number(0, maxFloat)), shape.May("files", count), shape.May("lines_per_file", count))),
	)
})

// maxFloat stands for any number.
const maxFloat = 1e300
