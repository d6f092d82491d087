package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

func TestWhatMayBeTriedAgain(t *testing.T) {
	yes := []fault.Code{fault.Failed, fault.TimedOut, fault.LoopDetected, fault.OutputInvalid, fault.Killed, fault.Locked, fault.Leased, fault.StorageUnreachable,
		fault.ProviderRateLimit, fault.ProviderOverloaded, fault.ProviderUnreachable, fault.ProviderProtocol, fault.StreamCut, fault.Interrupted}
	for _, row := range fault.Table() {
		err := fmt.Errorf("draft: %w", fault.New(row.Code, "x"))
		if got, want := Retryable(err), slices.Contains(yes, row.Code); got != want {
			t.Errorf("%s: %v, want %v", row.Code, got, want)
		}
		if Retryable(Final(err)) || fault.CodeOf(Final(err)) != row.Code {
			t.Errorf("%s: final, and yet tried again, or not itself any more", row.Code)
		}
	}
	if Retryable(nil) || Final(nil) != nil {
		t.Error("nothing failed, and something is said of it")
	}
	if !Retryable(errors.New("odd")) {
		t.Error("an error without a code is FAILED")
	}
	overloaded := fault.New(fault.ProviderBadRequest, "ask: %w", &llm.Failure{Status: 409, Again: true})
	if !Retryable(overloaded) {
		t.Error("the vendor says that it may be repeated")
	}
	if !errors.Is(Final(context.Canceled), context.Canceled) {
		t.Error("the cause is lost")
	}
}
