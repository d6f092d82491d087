package shape

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"ramet/internal/testkit"
)

type tone string

type base struct {
	ID   string `json:"id"`
	Kind string `json:"kind,omitempty"`
}

type node struct {
	base
	Kind   int             `json:"kind"` // hides the other
	At     time.Time       `json:"at"`
	Tone   tone            `json:"tone"`
	Up     *node           `json:"up"`
	Below  []node          `json:"below,omitempty"`
	Share  *float64        `json:"share,omitempty"`
	Raw    json.RawMessage `json:"raw"`
	Hidden string          `json:"-"`
}

func nodes() (*Types, *Shape) {
	types := &Types{Prefix: "#/d/", Words: map[reflect.Type][]string{reflect.TypeFor[tone](): {"low", "high"}}}
	return types, types.Of(reflect.TypeFor[node]())
}

// What encoding/json writes of a type has the type's shape, whatever holds itself.
func TestWhatIsWrittenHasTheShapeOfItsType(t *testing.T) {
	_, shape := nodes()
	half := 0.5
	text := testkit.Must(json.Marshal(node{base: base{ID: "a"}, Tone: "low", Up: &node{Tone: "high", Raw: json.RawMessage(`[1]`)}, Below: []node{{Tone: "low"}}, Share: &half}))(t)
	if err := shape.Check(text); err != nil {
		t.Errorf("%s: %v", text, err)
	}
	for wrong, where := range map[string]string{
		`"tone":"low"`: "/tone", `"tone":"high"`: "/up/tone", `"id":"a"`: "/id",
	} {
		name, _, _ := strings.Cut(wrong, ":")
		err := shape.Check([]byte(strings.Replace(string(text), wrong, name+":7", 1)))
		if err == nil || !strings.HasPrefix(err.Error(), where+": must be") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

func TestATypeIsDescribedOnceAndReferredTo(t *testing.T) {
	types, shape := nodes()
	if got := fmt.Sprint(shape.Schema()); got != "map[$ref:#/d/Node]" {
		t.Error(got)
	}
	all := types.Schemas()
	if len(all) != 1 {
		t.Errorf("%d descriptions: %v", len(all), all)
	}
	one := all["Node"].(map[string]any)
	if got := fmt.Sprint(one["required"]); got != "[id kind at tone up raw]" {
		t.Error(got)
	}
	if got := fmt.Sprint(one["properties"].(map[string]any)["up"]); got != "map[anyOf:[map[$ref:#/d/Node] map[type:null]]]" {
		t.Error(got)
	}
	if got := fmt.Sprint(Names(reflect.TypeFor[*node]())); got != "[id kind at tone up below share raw]" {
		t.Error(got)
	}
}
