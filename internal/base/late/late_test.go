package late

import (
	"slices"
	"sync"
	"testing"
)

var (
	number = Regexp(`^[0-9]+$`)
	wrong  = Regexp(`(`)
	animal = Words("cat dog")
)

func TestItIsBuiltOnceAndUsedByMany(t *testing.T) {
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			first := number.Get()
			if first != number.Get() || !first.MatchString("12") || !slices.Equal(animal.Get(), []string{"cat", "dog"}) {
				t.Error(number.Get(), animal.Get())
			}
		})
	}
	all.Wait()
}

func TestWhatCannotBeBuiltPanicsWhereItIsUsed(t *testing.T) {
	for range 2 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("it was built")
				}
			}()
			wrong.Get().MatchString("x")
		}()
	}
}
