package session

import (
	"os"
	"path/filepath"
	"testing"

	"ramet/internal/base/chain"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
)

// Redacting a message drops the contents of the files and links that its calls made, and nothing else.
func TestRedactingAMessageForgetsWhatItsCallsWrote(t *testing.T) {
	w := open(t, nil)
	zero, ctx := found(t, w, "0"), t.Context()
	t.Cleanup(w.Files().EndFileStates)
	keep := func(when history.When) {
		t.Helper()
		draft, changed := w.Files().FileStates(zero, "").Take(ctx).Done(ctx, when)
		if !changed {
			t.Fatal("no state was taken")
		}
		testkit.Must(w.Store.Append(ctx, zero.ID, agent.Claim{}, draft))(t)
	}
	write := func(name, text string) {
		t.Helper()
		testkit.OK(t, os.WriteFile(filepath.Join(zero.Cwd, name), []byte(text), 0o600))
	}
	kept := func(text string) bool {
		_, err := w.Files().Past().Store().Get(ctx, chain.Sum([]byte(text)))
		return err == nil
	}
	write("before", "written before")
	keep(history.OnRequest)
	said := testkit.Must(w.History().Append(ctx, zero, history.User, "write the secret"))(t)
	write("after", "written by a call")
	keep(history.AfterCalls)
	if !kept("written before") || !kept("written by a call") {
		t.Fatal("the contents were not kept")
	}
	testkit.OK(t, w.History().Redact(ctx, zero, said.ID))
	if !kept("written before") || kept("written by a call") {
		t.Errorf("kept: %v, %v", kept("written before"), kept("written by a call"))
	}
}

func TestInstructionsOfAProjectThatIsGoneFail(t *testing.T) {
	w := open(t, nil)
	a := found(t, w, "0")
	w.Place.Project = filepath.Join(a.Cwd, "missing")
	if got, err := w.Project().ShowInstructions(a); err == nil {
		t.Errorf("%+v", got)
	}
}
