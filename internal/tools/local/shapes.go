package local

import (
	"sync"

	"ramet/internal/base/shape"
)

// What calls must look like, made once for all agents: thousands may be idle in one kernel, each with
// its own tools.
var (
	fetchShape = shape.Object(shape.Must("url", shape.Text(1)))
	globShape  = shape.Object(
		shape.Must("pattern", shape.Text(1)),
		shape.May("path", shape.Text(1)),
		shape.May("exclude", shape.Text(1)).Untold(),
	)
	grepShape = shape.Object(
		shape.Must("pattern", shape.Text(1)),
		shape.May("path", shape.Text(1)),
		shape.May("include", shape.Text(1)),
		shape.May("exclude", shape.Text(1)),
		shape.May("ignore_case", shape.Bool()),
		shape.May("context", shape.Number(0, mostContext)),
		shape.May("mode", shape.Enum("lines", "files", "count")),
		shape.May("multiline", shape.Bool()),
	)
	listShape = shape.Object(
		shape.May("path", shape.Text(1)),
	)
	readShape = shape.Object(
		shape.Must("path", shape.Text(1)),
		shape.May("offset", shape.Integer(1)),
		shape.May("limit", shape.Integer(1)),
	)
	writeShape = shape.Object(
		shape.Must("path", shape.Text(1)),
		shape.Must("content", shape.Text(0)),
	)
	editShape = shape.Object(
		shape.Must("path", shape.Text(1)),
		shape.May("old_string", shape.Text(1)),
		shape.May("new_string", shape.Text(0)),
		shape.May("replace_all", shape.Bool()),
		shape.May("edits", shape.List(shape.Object(
			shape.Must("old_string", shape.Text(1)), shape.Must("new_string", shape.Text(0)), shape.May("replace_all", shape.Bool()).Untold()))),
	)
)

// commands are the shapes of those tools that depend on options: how many seconds a call may wait at most,
// and whether commands may stay in the background.
type commands struct {
	most       float64
	background bool
}

type commandShapes struct{ bash, job *shape.Shape }

var known struct {
	sync.Mutex
	shapes map[commands]commandShapes
}

func (l *Local) commandShapes() commandShapes {
	of := commands{l.o.Limits.MaxTimeout.Seconds(), l.o.Jobs != nil}
	known.Lock()
	defer known.Unlock()
	s, ok := known.shapes[of]
	if !ok {
		if known.shapes == nil {
			known.shapes = map[commands]commandShapes{}
		}
		s = of.shapes()
		known.shapes[of] = s
	}
	return s
}

func (c commands) shapes() commandShapes {
	fields := []shape.Field{
		shape.Must("command", shape.Text(1)),
		shape.May("timeout", shape.Number(1, c.most)),
		shape.May("outside", shape.Text(1)),
	}
	if c.background {
		fields = append(fields, shape.May("background", shape.Bool().With("leave it running, for job")))
	}
	return commandShapes{shape.Object(fields...), shape.Object(
		shape.Must("id", shape.Integer(1)),
		shape.May("wait", shape.Number(0, c.most)),
		shape.May("until", shape.Text(1)),
		shape.May("stop", shape.Bool()),
	)}
}
