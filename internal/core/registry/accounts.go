package registry

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
)

// Accounts are what an agent that another program drives has spent, by who says so.
type Accounts struct {
	Wire     *SpentBy // it went through ramet's gateway; nil: nothing did
	Reported *SpentBy // the program said so; nil: it said nothing
	Imported *SpentBy // before it was imported, as its file tells; nil: that tells nothing
}

// AccountsOf reads what an agent's own entries tell of calls of models by other programs.
func AccountsOf(ctx context.Context, log history.Log, a id.Agent) (out Accounts, err error) {
	for e, err := range log.QueryRange(ctx, history.Range{Agent: a}, history.Selection{Told: true}) {
		if err != nil {
			return out, err
		}
		m, err := e.Decode()
		if err != nil {
			return out, err
		}
		if e.Kind == history.Usage && (m.Call != nil || m.Brought()) {
			out.add(m)
		}
	}
	return out, nil
}

func (s *Accounts) add(m history.Meta) {
	if m.Wired() {
		s.Wire = s.Wire.plus(m.Call.Tokens(), m.Call.Cost)
	}
	switch d := m.Driver; {
	case d == nil || d.Used == nil:
	case m.Brought():
		s.Imported = s.Imported.plus(d.Used.Tokens(), d.Used.Cost)
	default:
		s.Reported = s.Reported.plus(d.Used.Tokens(), d.Used.Cost)
	}
}
