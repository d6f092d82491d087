package bench

import "encoding/json"

// tasksTask is one piece of work.
type tasksTask struct {
	name   string
	shows  string                // what happens in it
	make   func(*world)          // puts the files there
	prompt string                // what is asked
	faults faults                // what goes wrong on the way
	play   []move                // what a scripted model does
	run    func(*world)          // runs it; nil: one exec
	solved func(*world) []string // what is wrong; none: it is solved
}

// move is an answer of a scripted model, to the first request that it fits.
type move struct {
	when   string // stands in what is new in the request; empty: anything
	say    string
	calls  []call
	repeat bool // it is not used up
	hang   bool // it never ends
}

// call is a call of a tool.
type call struct {
	name string
	args map[string]any
}

func (c call) json() string {
	out, err := json.Marshal(c.args)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func bash(command string, more ...any) call {
	args := map[string]any{"command": command}
	for i := 0; i+1 < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	return call{"bash", args}
}

func write(path, content string) call {
	return call{"write", map[string]any{"path": path, "content": content}}
}
func read(path string) call { return call{"read", map[string]any{"path": path}} }
