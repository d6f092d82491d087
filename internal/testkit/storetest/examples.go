package storetest

// TreeExample is a drawing and what must be read from it, in every log.
type TreeExample struct {
	Name    string
	Drawing string
	Context map[string]string // agent: the texts of its messages
	Ranges  map[string]string // agent: {agent, start, end}, root first; - is no limit
}

// Examples are those of the sources, and the cases that they leave open.
func Examples() []TreeExample { return append(sources(), corners()...) }

func sources() []TreeExample {
	return []TreeExample{
		{
			Name: "agent-process-model: fork without clear",
			Drawing: `
				root ─── m1 ─── m2 ─── m3 ─── m4 ─── m5
				                       │
				                       └─── m6 ─── m7 (child)`,
			Context: map[string]string{"root": "m1 m2 m3 m4 m5", "child": "m1 m2 m3 m6 m7"},
			Ranges:  map[string]string{"root": "{root, 0, -}", "child": "{root, 0, 3} {child, 0, -}"},
		},
		{
			Name: "agent-process-model: fork with clear in parent",
			Drawing: `
				root ─── m1 ─── clear(m2) ─── m3 ─── m4
				                                     │
				                                     └─── m5 ─── m6 (child)`,
			Context: map[string]string{"root": "m3 m4", "child": "m3 m4 m5 m6"},
			Ranges:  map[string]string{"root": "{root, 2, -}", "child": "{root, 2, 4} {child, 0, -}"},
		},
		{
			Name:    "startup-replay: root agent, single range without limit",
			Drawing: `root ─ m1 ─ m2`,
			Context: map[string]string{"root": "m1 m2"},
			Ranges:  map[string]string{"root": "{root, 0, -}"},
		},
		{
			Name: "startup-replay: child, two ranges, the parent's ends at the fork",
			Drawing: `
				root ─ m1 ─ m2 ─ m4
				            └─ m3 (child)`,
			Context: map[string]string{"child": "m1 m2 m3"},
			Ranges:  map[string]string{"child": "{root, 0, 2} {child, 0, -}"},
		},
		{
			Name: "startup-replay: grandchild, three ranges in correct order",
			Drawing: `
				root ─ m1 ─ m2 ─ m7
				       └─ m3 ─ m4 ─ m8 (child)
				               └─ m5 ─ m6 (grandchild)`,
			Context: map[string]string{"root": "m1 m2 m7", "child": "m1 m3 m4 m8", "grandchild": "m1 m3 m4 m5 m6"},
			Ranges:  map[string]string{"grandchild": "{root, 0, 1} {child, 0, 4} {grandchild, 0, -}"},
		},
		{
			Name: "startup-replay: range building stops at clear event",
			Drawing: `
				root ─ m1 ─ m2
				       └─ m3 ─ clear(m4) ─ m5 (child)
				                           └─ m6 (grandchild)`,
			Context: map[string]string{"child": "m5", "grandchild": "m5 m6"},
			Ranges:  map[string]string{"child": "{child, 4, -}", "grandchild": "{child, 4, 5} {grandchild, 0, -}"},
		},
		{
			Name:    "startup-replay: agent with no history",
			Drawing: `root`,
			Context: map[string]string{"root": ""},
			Ranges:  map[string]string{"root": "{root, 0, -}"},
		},
		{
			Name: "startup-replay: deep ancestry (4+ levels)",
			Drawing: `
				root ─ m1 ─ m11
				       └─ m2 ─ m12 (a)
				          └─ m3 ─ m13 (b)
				             └─ m4 ─ m14 (c)
				                └─ m5 (d)`,
			Context: map[string]string{"d": "m1 m2 m3 m4 m5", "c": "m1 m2 m3 m4 m14", "root": "m1 m11"},
			Ranges:  map[string]string{"d": "{root, 0, 1} {a, 0, 2} {b, 0, 3} {c, 0, 4} {d, 0, -}"},
		},
		{
			Name: "fork-history: the child's post-fork messages are separate",
			Drawing: `
				root ─ m1 ─ m3 ─ m5
				       └─ m2 ─ m4 (child)`,
			Context: map[string]string{"root": "m1 m3 m5", "child": "m1 m2 m4"},
			Ranges:  map[string]string{"child": "{root, 0, 1} {child, 0, -}"},
		},
	}
}
