package storetest

import ()

func corners() []TreeExample {
	return []TreeExample{
		{
			Name: "Trap 1: fork before the parent's first message inherits nothing, now and later",
			Drawing: `
				root ─ m1 ─ m2
				└─ m3 (child)`,
			Context: map[string]string{"root": "m1 m2", "child": "m3"},
			Ranges:  map[string]string{"child": "{root, 0, 0} {child, 0, -}"},
		},
		{
			Name: "Trap 1: a clear after a fork at 0 is the parent's future too",
			Drawing: `
				root ─ m1 ─ clear(m2) ─ m4
				└─ m3 (child)`,
			Context: map[string]string{"root": "m4", "child": "m3"},
			Ranges:  map[string]string{"child": "{root, 0, 0} {child, 0, -}"},
		},
		{
			Name: "fork of a child that has no own message",
			Drawing: `
				root ─ m1 ─ m2 ─ m3
				            └─ (child) ─ m5
				                 └─ m4 (grandchild)`,
			Context: map[string]string{"child": "m1 m2 m5", "grandchild": "m1 m2 m4"},
			Ranges:  map[string]string{"grandchild": "{root, 0, 2} {child, 0, 0} {grandchild, 0, -}"},
		},
		{
			Name: "clear before the fork point",
			Drawing: `
				root ─ m1 ─ clear(m2) ─ m3 ─ m5
				                        └─ m4 (child)`,
			Context: map[string]string{"child": "m3 m4"},
			Ranges:  map[string]string{"child": "{root, 2, 3} {child, 0, -}"},
		},
		{
			Name: "clear exactly at the fork point: the child starts empty",
			Drawing: `
				root ─ m1 ─ clear(m2) ─ m4
				            └─ m3 (child)`,
			Context: map[string]string{"root": "m4", "child": "m3"},
			Ranges:  map[string]string{"child": "{root, 2, 2} {child, 0, -}"},
		},
		{
			Name: "clear after the fork point is ignored",
			Drawing: `
				root ─ m1 ─ clear(m3) ─ m5
				       └─ m2 ─ m4 (child)`,
			Context: map[string]string{"root": "m5", "child": "m1 m2 m4"},
			Ranges:  map[string]string{"child": "{root, 0, 1} {child, 0, -}"},
		},
		{
			Name: "clear in a middle ancestor",
			Drawing: `
				root ─ m1 ─ m2
				       └─ m3 ─ clear(m4) ─ m5 ─ clear(m8) (child)
				                           └─ m6 ─ m7 (grandchild)`,
			Context: map[string]string{"root": "m1 m2", "child": "", "grandchild": "m5 m6 m7"},
			Ranges:  map[string]string{"child": "{child, 8, -}", "grandchild": "{child, 4, 5} {grandchild, 0, -}"},
		},
		{
			Name: "the most recent of several clears counts",
			Drawing: `
				root ─ m1 ─ clear ─ m3 ─ clear ─ m5 ─ m8
				                                 └─ m6 ─ clear (child)`,
			Context: map[string]string{"root": "m5 m8", "child": ""},
			Ranges:  map[string]string{"root": "{root, 4, -}", "child": "{child, 7, -}"},
		},
		{
			Name: "rewind across a fork point, by the child, to an ancestor's message",
			Drawing: `
				root ─ m1 ─ m2 ─ m3 ─ m7
				                 └─ m4 ─ rewind(m1) ─ m6 (child)`,
			Context: map[string]string{"root": "m1 m2 m3 m7", "child": "m1 m6"},
		},
		{
			Name: "rewind across a fork point, by the child, to an ancestor's mark",
			Drawing: `
				root ─ m1 ─ mark(here) ─ m3 ─ m7
				                         └─ m4 ─ rewind(here) ─ m6 (child)`,
			Context: map[string]string{"root": "m1 m3 m7", "child": "m1 m6"},
		},
		{
			Name: "the same label in parent and child: the child's is newer",
			Drawing: `
				root ─ m1 ─ mark(x) ─ m3 ─ m9 ─ rewind(x) ─ m11
				                      └─ m4 ─ mark(x) ─ m6 ─ rewind(x) ─ m8 (child)`,
			Context: map[string]string{"root": "m1 m11", "child": "m1 m3 m4 m8"},
		},
		{
			Name: "a parent's rewind after the fork does not touch the child",
			Drawing: `
				root ─ m1 ─ m2 ─ m3 ─ rewind(m1) ─ m6
				                 └─ m5 (child)`,
			Context: map[string]string{"root": "m1 m6", "child": "m1 m2 m3 m5"},
		},
		{
			Name: "a parent's rewind before the fork is inherited",
			Drawing: `
				root ─ m1 ─ m2 ─ m3 ─ rewind(m1) ─ m5
				                                   └─ m6 (child)`,
			Context: map[string]string{"child": "m1 m5 m6"},
		},
		{
			Name: "a fork at a rewind",
			Drawing: `
				root ─ m1 ─ m2 ─ rewind(m1) ─ m5
				                 └─ m4 (child)`,
			Context: map[string]string{"root": "m1 m5", "child": "m1 m4"},
		},
		{
			Name:    "rewind without a label goes to the newest mark, and marks stay usable",
			Drawing: `root ─ m1 ─ mark(a) ─ m3 ─ mark ─ m5 ─ rewind ─ m7 ─ rewind(a) ─ m9 ─ rewind ─ m11`,
			Context: map[string]string{"root": "m1 m3 m11"},
		},
		{
			Name:    "rewind to something that was rewound before",
			Drawing: `root ─ m1 ─ m2 ─ m3 ─ rewind(m1) ─ m5 ─ rewind(m3) ─ m7`,
			Context: map[string]string{"root": "m1 m2 m3 m7"},
		},
		{
			Name:    "rewind to a rewind gives the context just after it",
			Drawing: `root ─ m1 ─ m2 ─ rewind(m1) ─ m4 ─ rewind(m3) ─ m6`,
			Context: map[string]string{"root": "m1 m6"},
		},
		{
			Name:    "rewind to a message written after a rewind",
			Drawing: `root ─ m1 ─ m2 ─ rewind(m1) ─ m4 ─ m5 ─ rewind(m4) ─ m7`,
			Context: map[string]string{"root": "m1 m4 m7"},
		},
		{
			Name:    "rewind to a message between two rewinds",
			Drawing: `root ─ m1 ─ m2 ─ rewind(m1) ─ m4 ─ m5 ─ rewind(m4) ─ m7 ─ rewind(m5) ─ m9`,
			Context: map[string]string{"root": "m1 m4 m5 m9"},
		},
		{
			Name:    "compact before a hole that a rewind left",
			Drawing: `root ─ m1 ─ m2 ─ m3 ─ m4 ─ rewind(m3) ─ m6 ─ compact(m1..m2) ─ m8`,
			Context: map[string]string{"root": "[m1..m2] m3 m6 m8"},
		},
		{
			Name:    "compact between two summaries and two holes",
			Drawing: `root ─ m1 ─ m2 ─ m3 ─ rewind(m2) ─ m5 ─ m6 ─ rewind(m5) ─ m8 ─ compact(m1..m1) ─ compact(m8..m8) ─ compact(m2..m5) ─ m12`,
			Context: map[string]string{"root": "[m1..m1] [m2..m5] [m8..m8] m12"},
		},
		{
			Name:    "rewind to the clear itself: the empty context behind it",
			Drawing: `root ─ m1 ─ clear(m2) ─ m3 ─ rewind(m2) ─ m5`,
			Context: map[string]string{"root": "m5"},
		},
		{
			Name:    "compact replaces a stretch by its summary",
			Drawing: `root ─ m1 ─ m2 ─ m3 ─ m4 ─ compact(m2..m3) ─ m6`,
			Context: map[string]string{"root": "m1 [m2..m3] m4 m6"},
		},
		{
			Name:    "compact of all, and a compact over an earlier summary",
			Drawing: `root ─ m1 ─ m2 ─ compact(m1..m2) ─ m4 ─ m5 ─ compact(m1..m4) ─ m7`,
			Context: map[string]string{"root": "[m1..m4] m5 m7"},
		},
		{
			Name:    "compact undone by a rewind behind it",
			Drawing: `root ─ m1 ─ m2 ─ m3 ─ compact(m1..m2) ─ m5 ─ rewind(m3) ─ m7`,
			Context: map[string]string{"root": "m1 m2 m3 m7"},
		},
		{
			Name:    "compact kept by a rewind to it",
			Drawing: `root ─ m1 ─ m2 ─ m3 ─ compact(m1..m2) ─ m5 ─ rewind(m4) ─ m7`,
			Context: map[string]string{"root": "[m1..m2] m3 m7"},
		},
		{
			Name: "compact across a fork point, undone in a grandchild only",
			Drawing: `
				root ─ m1 ─ m2 ─ m3
				            └─ m4 ─ compact(m1..m4) ─ m6 (child)
				                                      └─ m7 ─ rewind(m2) ─ m9 (grandchild)`,
			Context: map[string]string{"root": "m1 m2 m3", "child": "[m1..m4] m6", "grandchild": "m1 m2 m9"},
		},
		{
			Name:    "compact over a hole that a rewind left",
			Drawing: `root ─ m1 ─ m2 ─ m3 ─ rewind(m1) ─ m5 ─ compact(m1..m5) ─ m7`,
			Context: map[string]string{"root": "[m1..m5] m7"},
		},
		{
			Name: "dead and killed ancestors count as living ones",
			Drawing: `
				root ─ m1 ─ m2
				       └─ m3 ─ kill (child)
				          └─ m5 ─ kill (grandchild)
				             └─ m7 (greatgrandchild)`,
			Context: map[string]string{"child": "m1 m3", "grandchild": "m1 m3 m5", "greatgrandchild": "m1 m3 m5 m7"},
			Ranges:  map[string]string{"greatgrandchild": "{root, 0, 1} {child, 0, 3} {grandchild, 0, 5} {greatgrandchild, 0, -}"},
		},
		{
			Name: "two children in one fork share one fork point",
			Drawing: `
				root ─ m1 ─ m2 ─ m7
				            ├─ m3 ─ m5 (left)
				            &─ m4 ─ m6 (right)`,
			Context: map[string]string{"root": "m1 m2 m7", "left": "m1 m2 m3 m5", "right": "m1 m2 m4 m6"},
			Ranges:  map[string]string{"left": "{root, 0, 2} {left, 0, -}", "right": "{root, 0, 2} {right, 0, -}"},
		},
		{
			Name: "several children at several points",
			Drawing: `
				root ─ m1 ─ m2 ─ m3
				│      │    └─ m4 (a)
				│      ├─ m5 (b)
				│      └─ m6 (c)
				└─ m7 (d)`,
			Context: map[string]string{"a": "m1 m2 m4", "b": "m1 m5", "c": "m1 m6", "d": "m7"},
		},
		{
			Name:    "kinds that do not reach the model are not in the context",
			Drawing: `root ─ system ─ m2 ─ note ─ usage ─ assistant ─ command ─ tool_result ─ interrupted ─ m9`,
			Context: map[string]string{"root": "m1 m2 m5 m7 m9"},
		},
		{
			Name: "a fork at an entry that does not reach the model",
			Drawing: `
				root ─ m1 ─ note ─ m3
				            └─ m4 (child)`,
			Context: map[string]string{"child": "m1 m4"},
			Ranges:  map[string]string{"child": "{root, 0, 2} {child, 0, -}"},
		},
	}
}

// TreeExample is a drawing and what must be read from it, in every log.
type TreeExample struct {
	Name    string
	Drawing string
	Context map[string]string // agent: the texts of its messages
	Ranges  map[string]string // agent: {agent, start, end}, root first; - is no limit
}

// Examples returns those of the source documents, and the cases that they leave open.
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
