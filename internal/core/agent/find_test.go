package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
)

// people is a Directory in memory.
type people []Agent

func (p people) Agent(_ context.Context, a id.Agent) (Agent, error) {
	for _, o := range p {
		if o.ID == a {
			return o, nil
		}
	}
	return Agent{}, fault.New(fault.NotFound, "no agent %q", a)
}

func (p people) Zero(context.Context) (Agent, error) { return p[0], nil }

func (p people) Agents(context.Context, Filter) ([]Agent, error) { return p, nil }

func (p people) Named(_ context.Context, name string) (Agent, bool, error) {
	var best Agent
	for _, o := range p {
		if o.Name == name && (o.Status == Running || best.ID == "" || best.Status == Dead && o.EndedAt.After(best.EndedAt)) {
			best = o
		}
	}
	return best, best.ID != "", nil
}

func (p people) Prefixed(_ context.Context, prefix string, limit int) ([]Agent, error) {
	var out []Agent
	for _, o := range p {
		if strings.HasPrefix(string(o.ID), prefix) && len(out) < limit {
			out = append(out, o)
		}
	}
	return out, nil
}

func (p people) Names(context.Context) ([]string, error) {
	var out []string
	for _, o := range p {
		if o.Name != "" && o.Status == Running {
			out = append(out, o.Name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// uuid pads a beginning to a well-formed identity.
func uuid(begin string) id.Agent { return id.Agent(begin + strings.Repeat("A", 22-len(begin))) }

func crowd() people {
	at := func(h int) time.Time { return time.Date(2026, 1, 1, h, 0, 0, 0, time.UTC) }
	dead := func(begin, name string, h int) Agent {
		return Agent{ID: uuid(begin), Name: name, Parent: uuid("zero"), Status: Dead, EndedAt: at(h)}
	}
	live := func(begin, name string) Agent {
		return Agent{ID: uuid(begin), Name: name, Parent: uuid("zero"), Status: Running}
	}
	return people{
		{ID: uuid("zero"), Status: Running},
		dead("old1", "worker", 1), live("live", "worker"), dead("old2", "worker", 3),
		dead("gone1", "ghost", 5), dead("gone2", "ghost", 7), dead("gone3", "ghost", 6),
		live("twin1", "left"), live("twin2", ""),
		live("beef1", "feed"), live("feed2", "x"), // a name that is also the beginning of another's uuid
		live("long1", string(uuid("name"))), // a name as long as a uuid
	}
}

func TestFindInItsOrder(t *testing.T) {
	for _, c := range []struct{ what, ref, want string }{
		{"0 is agent 0", "0", "zero"},
		{"a full uuid", string(uuid("old1")), "old1"},
		{"the living name before any dead one", "worker", "live"},
		{"the newest dead name", "ghost", "gone2"},
		{"a unique prefix of four", "twin1", "twin1"},
		{"a unique prefix of exactly four", "beef", "beef1"},
		{"a name shadows a prefix", "feed", "beef1"},
		{"a longer prefix reaches behind the shadow", "feed2", "feed2"},
		{"all but the last character", string(uuid("twin2"))[:21], "twin2"},
	} {
		t.Run(c.what, func(t *testing.T) {
			a, err := Find(t.Context(), crowd(), c.ref)
			if err != nil || a.ID != uuid(c.want) {
				t.Errorf("%s: %s, %v, want %s", c.ref, a.ID, err, uuid(c.want))
			}
		})
	}
	t.Run("a name as long as a uuid", func(t *testing.T) {
		// Its capitals make this one no name: it stays a uuid that nobody has.
		if _, err := Find(t.Context(), crowd(), string(uuid("name"))); !fault.Is(err, fault.NotFound) {
			t.Error(err)
		}
	})
}

func TestFindRefuses(t *testing.T) {
	for _, c := range []struct {
		what, ref string
		code      fault.Code
		says      string
	}{
		{"an ambiguous prefix lists them", "twin", fault.Ambiguous, string(uuid("twin1")) + " (left), " + string(uuid("twin2")) + ": give more"},
		{"a prefix under four", "twi", fault.InvalidID, "too short"},
		{"the nearest name is suggested", "wroker", fault.NotFound, `did you mean "worker"?`},
		{"also for a short word", "lef", fault.NotFound, `did you mean "left"?`},
		{"the dead are not suggested", "gost", fault.NotFound, "ramet ps --all"},
		{"an unknown prefix", "nobody", fault.NotFound, `no agent "nobody"`},
		{"an unknown uuid", string(uuid("none")), fault.NotFound, "no agent"},
		{"nothing", "", fault.NotFound, `no agent ""`},
		{"something that is not a prefix", "-rf", fault.NotFound, "no agent"},
		{"escape codes", "a\x1b[2Jb", fault.NotFound, "no agent"},
		{"far too long", strings.Repeat("a", 1000), fault.NotFound, "…"},
	} {
		t.Run(c.what, func(t *testing.T) {
			_, err := Find(t.Context(), crowd(), c.ref)
			if !fault.Is(err, c.code) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%.40q: %s: %v", c.ref, fault.CodeOf(err), err)
			}
			if strings.Contains(err.Error(), "\x1b") {
				t.Errorf("escape codes get through: %q", err)
			}
		})
	}
}

func TestAmbiguousListsAFewOnly(t *testing.T) {
	var many people
	for i := range 50 {
		many = append(many, Agent{ID: uuid(fmt.Sprintf("same%02d", i)), Status: Running})
	}
	_, err := Find(t.Context(), many, "same")
	if !fault.Is(err, fault.Ambiguous) || strings.Count(err.Error(), "same") != 1+maxListed || !strings.Contains(err.Error(), ", …") {
		t.Error(err)
	}
}
