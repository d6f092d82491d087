package postgres_test

import (
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/store/postgres"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

// A fork and an append take two round trips to the server: the beginning with the lock and the
// ids, and the rows with the commit.
func TestAForkTakesTwoRoundTrips(t *testing.T) {
	network := pgtest.Through(t, pgtest.URL(t))
	s := testkit.Must(postgres.Open(t.Context(), network.URL, postgres.Options{Cwd: "/"}))(t)
	defer s.Close()
	zero := testkit.Must(s.Zero(t.Context()))(t)
	said := testkit.Must(history.Say(history.User, "hello"))(t)
	for name, do := range map[string]func() error{
		"fork": func() error {
			_, err := s.Fork(t.Context(), registry.Fork{Parent: zero.ID, Children: []registry.Child{{ID: id.NewAgent()}}})
			return err
		},
		"append": func() error {
			_, err := s.Append(t.Context(), zero.ID, agent.Passing(), said)
			return err
		},
	} {
		least := 100
		for range 5 { // the first prepare their statements; a ping of an idle connection may come between
			before := network.Asked()
			testkit.OK(t, do())
			least = min(least, network.Asked()-before)
		}
		if least > 2 {
			t.Errorf("%s takes %d round trips", name, least)
		}
	}
}
