package riverqueue

import (
	"encoding/json"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"ramet/internal/base/fault"
	"ramet/internal/runner"
)

// args is a job as River keeps it.
type args struct {
	ID string `json:"id" river:"unique"`
	// Round counts how often the job lost its host. It makes the job another one for River.
	Round int    `json:"round" river:"unique"`
	RunID string `json:"run_id"`
	Queue string `json:"queue"`
}

func (args) Kind() string { return "ramet.item" }

func (a args) job() runner.Enqueued { return runner.Enqueued{ID: a.ID, RunID: a.RunID, Queue: a.Queue} }

// label is the metadata by which rows are found.
type label struct {
	ID    string `json:"ramet_id,omitempty"`
	RunID string `json:"ramet_run,omitempty"`
}

func (l label) json() []byte {
	data, err := json.Marshal(l)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return data
}

// insertParams describes how a job is put into River. One attempt: whether there is another is for
// the log to say.
func insertParams(a args) river.InsertManyParams {
	return river.InsertManyParams{Args: a, InsertOpts: &river.InsertOpts{
		Queue: queueName(a.Queue), MaxAttempts: 1, Metadata: label{a.ID, a.RunID}.json(),
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: rivertype.JobStates()},
	}}
}

// argsOf reads a job out of its row.
func argsOf(row *rivertype.JobRow) (a args, err error) {
	if err := json.Unmarshal(row.EncodedArgs, &a); err != nil {
		return a, fault.New(fault.StorageCorrupt, "row %d of the queue is not readable: %w", row.ID, err)
	}
	return a, nil
}

// givenUp marks a row that River takes for running and that was abandoned.
const givenUp = "given up"

func isAbandoned(row *rivertype.JobRow) bool {
	return row.State == rivertype.JobStateRunning && len(row.Output()) > 0
}

func hasEnded(row *rivertype.JobRow) bool {
	switch row.State {
	case rivertype.JobStateCompleted, rivertype.JobStateCancelled, rivertype.JobStateDiscarded:
		return true
	}
	return false
}

// takenBy reports whether a row is with a client of River.
func takenBy(row *rivertype.JobRow, client string) bool {
	n := len(row.AttemptedBy)
	return row.State == rivertype.JobStateRunning && n > 0 && row.AttemptedBy[n-1] == client
}
