package public

import (
	"context"
	"reflect"
	"testing"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/state"
)

// set gives each field a value of its own, below pointers too; every nth stays as it is.
func set(v reflect.Value, n *int, none int) {
	if *n++; *n%none == 0 || !v.CanSet() {
		return
	}
	switch at, isTime := v.Addr().Interface().(*time.Time); {
	case isTime:
		*at = time.UnixMicro(1_763_000_000_000_000 + 999_937*int64(*n)*int64(none)).UTC()
	case v.Type() == reflect.TypeFor[agent.Limit]():
		v.Set(reflect.ValueOf(agent.AtMost(int64(*n))))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			set(v.Field(i), n, none)
		}
	case v.Kind() == reflect.Array:
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		set(v.Elem(), n, none)
	case v.Kind() == reflect.String:
		v.SetString([]string{"plain", "two words", "a \"quote\" \\ back", "</é>\n\x7f", "\xff"}[*n%5] + string(rune('a'+*n)))
	case v.Kind() == reflect.Bool:
		v.SetBool(*n%2 == 0)
	default:
		v.SetInt(int64(*n))
	}
}

// held is a workspace in which one agent is held.
type held struct{ agent.Agent }

func (h held) Leased(context.Context) ([]agent.Agent, time.Time, error) {
	return []agent.Agent{h.Agent}, h.Lease.Until.Add(-time.Second), nil
}

func (h held) Endings(context.Context, bool, ...id.Agent) (map[id.Agent]state.Ending, error) {
	return map[id.Agent]state.Ending{h.ID: {Kind: history.Interrupted, Meta: []byte(`{"reason":"so \"it\" was"}`)}}, nil
}

// A field that is new to Agent and not to AppendNow is missing here.
func TestAListedAgentHasTheFormOfEncodingJSON(t *testing.T) {
	for none := 2; none < 40; none++ {
		var a agent.Agent
		n := 0
		set(reflect.ValueOf(&a).Elem(), &n, none)
		var driven *Driven
		if none%3 == 0 {
			driven, a.Provider = &Driven{}, agent.DriverVendor
			set(reflect.ValueOf(driven).Elem(), &n, none)
		}
		from := state.Sources{Store: held{a}, Gone: func(string) bool { return none%2 == 0 }}
		if none%5 == 0 {
			from.Here = func() map[id.Agent]state.State {
				return map[id.Agent]state.State{a.ID: {Word: state.Working, Detail: "runs <it>", Commands: "one, two"}}
			}
		}
		now, err := from.Look(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		if none%7 == 0 {
			now = state.Now{}
		}
		shape := FormatNow(a, now)
		shape.Driven = driven
		want, err := plainJSON(shape)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := AppendNow(nil, &a, &now, driven); err != nil || string(got) != string(want) {
			t.Errorf("%s\n%s %v", got, want, err)
		}
	}
}

func TestStampsAreThoseOfTime(t *testing.T) {
	for _, at := range []time.Time{time.UnixMicro(0), time.UnixMicro(-1), time.UnixMicro(1_763_000_000_000_001), time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
		time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1, 2, 3, 4, 5, 6, 7000, time.UTC), time.Date(7, 2, 29, 4, 5, 6, 7000, time.FixedZone("", 5400))} {
		if got, want := Stamp(at), at.UTC().Format(stampForm); got != want {
			t.Errorf("%s, time says %s", got, want)
		}
	}
	if got := Stamp(time.Time{}); got != "" {
		t.Errorf("no moment is %q", got)
	}
}
