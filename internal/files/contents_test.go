package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func noGit(context.Context, string, string) ([]byte, error) { return nil, errors.New("no git here") }

func keep(t *testing.T, s *Contents, texts ...string) {
	t.Helper()
	b := s.Begin("")
	for _, text := range texts {
		testkit.OK(t, b.Add(chain.Sum([]byte(text)), []byte(text)))
	}
	testkit.Must(b.Commit())(t)
}

func packs(t *testing.T, s *Contents) []string {
	t.Helper()
	found := testkit.Must(filepath.Glob(filepath.Join(s.PackDir(), "*")))(t)
	return found
}

func TestWhatIsKeptIsThereForEverybody(t *testing.T) {
	s := NewContents(t.TempDir(), noGit)
	other := NewContents(s.dir, noGit) // another process
	keep(t, s, "one", "two", "one", strings.Repeat("long ", 10_000))
	keep(t, s, "one") // nothing new, no pack
	if n := len(packs(t, s)); n != 1 {
		t.Errorf("%d packs", n)
	}
	for _, text := range []string{"one", "two", strings.Repeat("long ", 10_000)} {
		got, err := other.Get(t.Context(), chain.Sum([]byte(text)))
		if err != nil || string(got) != text {
			t.Errorf("%.10q: %v", got, err)
		}
	}
	if _, err := other.Get(t.Context(), chain.Sum([]byte("never"))); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	b := s.Begin("")
	testkit.OK(t, b.Add(chain.Sum([]byte("dropped")), []byte("dropped")))
	b.Drop()
	if n := len(packs(t, s)); n != 1 {
		t.Errorf("%d files are left", n)
	}
}

// A pack that is cut or changed anywhere gives no wrong content.
func TestADamagedPackIsNoticed(t *testing.T) {
	texts := []string{"one", "two, which is longer", "three"}
	s := NewContents(t.TempDir(), noGit)
	keep(t, s, texts...)
	path := packs(t, s)[0]
	whole := testkit.Must(os.ReadFile(path))(t)
	try := func(what string, damaged []byte) {
		t.Helper()
		testkit.OK(t, os.WriteFile(path, damaged, 0o600))
		fresh := NewContents(s.dir, noGit)
		for _, text := range texts {
			got, err := fresh.Get(t.Context(), chain.Sum([]byte(text)))
			if err == nil && string(got) != text {
				t.Fatalf("%s: %q", what, got)
			}
			if err != nil && fault.CodeOf(err) == fault.Failed {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
	for n := range whole {
		try("cut", whole[:n])
		flipped := append([]byte(nil), whole...)
		flipped[n] ^= 0x40
		try("flipped", flipped)
	}
}

func TestHalfMadePacksAreSweptWhenTheyAreOld(t *testing.T) {
	s := NewContents(t.TempDir(), noGit)
	keep(t, s, "one")
	half := filepath.Join(s.PackDir(), ".pack-123")
	testkit.OK(t, os.WriteFile(half, []byte("half"), 0o600))
	s.Sweep(time.Now().Add(-time.Hour))
	if _, err := os.Stat(half); err != nil {
		t.Error("somebody may be making it")
	}
	s.Sweep(time.Now().Add(time.Hour))
	if _, err := os.Stat(half); err == nil {
		t.Error("it is left")
	}
}
