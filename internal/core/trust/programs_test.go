package trust

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"ramet/internal/testkit"
)

// A program that a link of the project finds elsewhere can be accepted, and counts with the path that
// the link leads to. Instructions and settings behind such a link are refused as ever.
func TestAcceptALinkOfAProgram(t *testing.T) {
	outside, project := t.TempDir(), t.TempDir()
	link, folder := filepath.Join(project, "python"), filepath.Join(project, "env")
	good, evil := filepath.Join(outside, "python3"), filepath.Join(outside, "evil")
	testkit.OK(t, errors.Join(os.WriteFile(good, []byte("x"), 0o700), os.WriteFile(evil, []byte("x"), 0o700),
		os.Symlink(good, link), os.Symlink(outside, folder), os.Symlink("/nowhere", filepath.Join(project, "broken"))))
	names := []string{"python", "env/python3"}
	gate := Gate{Home: t.TempDir(), Project: project, Sources: []Source{Programs(Servers, "runs", append(names, "broken")...)}}
	if first, err := gate.UnacceptedProgram(project, names); err != nil || first != "python" {
		t.Errorf("before: %q %v", first, err)
	}
	review := testkit.Must(gate.Review())(t)
	for _, i := range review.Items {
		if i.Link != good && i.Path != "broken" || (i.Refused != "") != (i.Path == "broken") {
			t.Errorf("%+v", i)
		}
	}
	testkit.OK(t, gate.Accept(t.Context(), review))
	if first, err := gate.UnacceptedProgram(project, names); err != nil || first != "" {
		t.Errorf("after: %q %v", first, err)
	}
	if first, err := gate.UnacceptedProgram(project, []string{"broken"}); err != nil || first != "broken" {
		t.Errorf("a link to nothing: %q %v", first, err)
	}
	for file, want := range map[string]bool{good: true, evil: false} {
		if ok, err := gate.AcceptsLink("python", file); err != nil || ok != want {
			t.Errorf("%s: %v %v", file, ok, err)
		}
	}
	if _, first, err := gate.Unaccepted(project, []string{"python"}); err != nil || first != "python" {
		t.Errorf("as a setting: %q %v", first, err)
	}
	for _, target := range []string{evil, "/nowhere"} {
		testkit.OK(t, errors.Join(os.Remove(link), os.Symlink(target, link)))
		if first, err := gate.UnacceptedProgram(project, names); err != nil || first != "python" {
			t.Errorf("to %s: %q %v", target, first, err)
		}
	}
}
