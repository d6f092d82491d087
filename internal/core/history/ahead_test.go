package history

import (
	"errors"
	"iter"
	"testing"
)

// numbers returns as many numbers, and then a failure; ended is set when its loop has ended.
func numbers(n int, ended *bool) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		defer func() { *ended = true }()
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
		yield(0, errors.New("failed"))
	}
}

func TestReadAheadKeepsTheOrderAndTheFailure(t *testing.T) {
	for _, n := range []int{0, 1, aheadBatch - 1, aheadBatch, 10*aheadBatch + 1} {
		ended, next, failed := false, 0, false
		for i, err := range ReadAhead(numbers(n, &ended)) {
			if failed || err == nil && i != next || err != nil && next != n {
				t.Fatalf("of %d: %d (%v) after %d", n, i, err, next)
			}
			if failed = err != nil; !failed {
				next++
			}
		}
		if next != n || !failed || !ended {
			t.Errorf("of %d: %d were read, failed %t, ended %t", n, next, failed, ended)
		}
	}
}

func TestReadAheadEndsWithItsLoop(t *testing.T) {
	ended := false
	for i := range ReadAhead(numbers(1<<62, &ended)) {
		if i == 3*aheadBatch {
			break
		}
	}
	if !ended {
		t.Error("it reads on")
	}
}
