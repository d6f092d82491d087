package cli

import (
	"iter"

	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/ledger"
	"ramet/internal/operation/public"
)

// tracked is an entry of the ledger as a datum.
type tracked struct {
	ledger.Entry
	gone    string // why it is gone although it is spawned
	outcome ledger.Entry
	short   bool // its text is the id alone
}

func (t tracked) MarshalJSON() ([]byte, error) {
	return public.Marshal(t.Show(t.gone, t.outcome.Status))
}

func (t tracked) Text(w *printer.Writer) {
	if t.short {
		w.Line("%s", t.ID)
		return
	}
	w.Line("%s %s", text.Line(t.ID, 200), t.says())
}

// says is the status, and what else matters about it.
func (t tracked) says() string {
	status := string(t.Status)
	switch {
	case t.gone != "":
		status += " (" + t.gone + ")"
	case t.ResumedBy != "":
		status += " by " + t.ResumedBy
	case t.Reason != "":
		status += " (" + text.Line(t.Reason, 60) + ")"
	}
	return text.Line(status, 200)
}

// trackedList is the datum of list and history.
type trackedList struct{ entries []tracked }

func (l trackedList) List() (string, iter.Seq[any]) {
	return "entries", func(yield func(any) bool) {
		for _, t := range l.entries {
			if !yield(t) {
				return
			}
		}
	}
}

func (l trackedList) Text(w *printer.Writer) {
	if len(l.entries) == 0 {
		w.Line("no sub-agents")
		return
	}
	rows := [][]string{{"ID", "PLAN", "TYPE", "AGE", "TASK", "STATUS"}}
	for _, t := range l.entries {
		age := ""
		if !t.At.IsZero() {
			age = w.Age(t.At)
		}
		rows = append(rows, []string{text.Line(t.ID, 40), text.Line(t.Plan, 10), text.Line(t.Type, 24), age, text.Line(t.Description, 40), t.says()})
	}
	w.Table(rows)
}

// show makes data of entries of one sheet.
func shower(sheet *ledger.Sheet, judge ledger.Judge) func(ledger.Entry) tracked {
	outcome := sheet.Outcomes()
	return func(e ledger.Entry) tracked {
		t := tracked{Entry: e, outcome: outcome(e)}
		if e.Status == ledger.Spawned {
			t.gone, _ = judge(e)
		}
		return t
	}
}

// aloneLedger is the datum of an entry that was just written: nothing goes on for it yet.
func aloneLedger(e ledger.Entry, short bool) tracked {
	return tracked{Entry: e, outcome: e, short: short}
}
