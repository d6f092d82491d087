package facts

import (
	"bytes"
	"encoding/json"
)

// node is a JSON value that knows where it stands.
type node struct {
	value    any // string, json.Number, bool or nil; nothing for objects and lists
	members  []member
	list     []*node
	from, to int // offsets
}

type member struct {
	key string
	at  int // offset of the end of the key
	*node
}

// parseJSON reads a document; nil where it is not JSON or nested beyond reason.
func parseJSON(data []byte) *node {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return jsonValue(d, 0)
}

func jsonValue(d *json.Decoder, depth int) *node {
	tok, err := d.Token()
	if err != nil || depth > 64 {
		return nil
	}
	n := &node{to: int(d.InputOffset())}
	n.from = n.to - 1
	switch tok := tok.(type) {
	case json.Delim:
		for d.More() {
			var m member
			if tok == '{' {
				key, err := d.Token()
				if err != nil {
					return nil
				}
				m.key, _ = key.(string)
				m.at = int(d.InputOffset())
			}
			if m.node = jsonValue(d, depth+1); m.node == nil {
				return nil
			}
			if tok == '{' {
				n.members = append(n.members, m)
			} else {
				n.list = append(n.list, m.node)
			}
		}
		if _, err := d.Token(); err != nil {
			return nil
		}
		n.to = int(d.InputOffset())
	default:
		n.value = tok
	}
	return n
}

// get follows keys; nil where one is missing. Of a key that is there twice the last counts,
// as for those who run it.
func (n *node) get(keys ...string) *node {
	for _, key := range keys {
		var found *node
		if n != nil {
			for _, m := range n.members {
				if m.key == key {
					found = m.node
				}
			}
		}
		n = found
	}
	return n
}

// text is the string, or nothing.
func (n *node) text() string {
	if n == nil {
		return ""
	}
	s, _ := n.value.(string)
	return s
}
