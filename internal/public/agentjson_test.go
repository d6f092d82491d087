package public

import (
	"reflect"
	"testing"
)

// set gives each field of a shape a value of its own, below pointers too; every nth stays nil.
func set(v reflect.Value, n *int, none int) {
	switch *n++; v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			set(v.Field(i), n, none)
		}
	case reflect.Pointer:
		if *n%none != 0 {
			v.Set(reflect.New(v.Type().Elem()))
			set(v.Elem(), n, none)
		}
	case reflect.String:
		v.SetString(string(rune('a'+*n)) + "\n</é>")
	case reflect.Bool:
		v.SetBool(*n%2 == 0)
	default:
		v.SetInt(int64(*n))
	}
}

// A field that is new to Agent and not to AppendTo is missing here.
func TestAListedAgentHasTheFormOfEncodingJSON(t *testing.T) {
	for none := 2; none < 12; none++ {
		var a Agent
		n := 0
		set(reflect.ValueOf(&a).Elem(), &n, none)
		want, err := plainJSON(a)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := a.AppendTo(nil); err != nil || string(got) != string(want) {
			t.Errorf("%s\n%s %v", got, want, err)
		}
	}
}
