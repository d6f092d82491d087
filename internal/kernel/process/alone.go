package process

import (
	"context"
	"encoding/json"
	"iter"
	"sync"
	"sync/atomic"

	"ramet/internal/base/shape"
	"ramet/internal/core/toolinfo"
	"ramet/internal/turn/tool"
)

var childrenSpec = sync.OnceValue(func() tool.Spec {
	return tool.Describe("children", tool.Spec{Args: shape.Object()})
})

// Alone is the box of an agent that works on a task of its own, of which it alone knows: it is
// told of what it needs for that, and of one tool by which it is told of the rest.
func Alone(box tool.Box) tool.Box {
	return append(box[:len(box):len(box)], &children{})
}

// children is the tool that lets an agent know of its others.
type children struct{ open atomic.Bool }

type childrenMemo struct {
	Open bool `json:"children"`
}

func (*children) Spec() tool.Spec { return childrenSpec() }

// Covers implements tool.Cover.
func (c *children) Covers(name string) bool {
	if c.open.Load() {
		return name == childrenSpec().Name
	}
	info := toolinfo.Find(name)
	return info != nil && !info.Alone
}

// Recall implements tool.Memory.
func (c *children) Recall(memos iter.Seq[json.RawMessage]) {
	open := false
	for raw := range memos {
		var m childrenMemo
		open = open || json.Unmarshal(raw, &m) == nil && m.Open
	}
	c.open.Store(open)
}

func (c *children) Run(context.Context, tool.Call) (tool.Answer, error) {
	c.open.Store(true)
	memo, err := json.Marshal(childrenMemo{true})
	return tool.Answer{Text: "You have all tools from now on. A child is you, continued: fork where parts take more than a few steps each; " +
		"two agents must not write one file in one folder. Then wait, look at what they did, and merge it.", Memo: string(memo)}, err
}
